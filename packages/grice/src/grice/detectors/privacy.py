"""Personal data and secrets in a reply that no user, tool or prompt gave before.

Checksums are a few lines here; ``python-stdnum`` and ``phonenumbers`` bring the numbering plans of
all countries for it (0.3 s to load), and ``detect-secrets`` reads files only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.detectors.conversation import Flaw
from grice.detectors.rules import Rule
from grice.detectors.text import CODE_TALK
from grice.text.wordlists import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grice.detectors.conversation import Reply

EMAIL = re.compile(r"(?<![\w.+-])([\w.+-]{1,64})@((?:[\w-]{1,63}\.){1,5}[A-Za-z]{2,24})(?![\w-])")
ROLE = re.compile(
    r"(?:info|support|help|helpdesk|contact|care|service|services|hello|hi|sales|office|admin|"
    r"team|press|media|jobs|careers|hr|billing|accounts?|invoices?|privacy|legal|abuse|security|"
    r"feedback|news(?:letter)?|orders?|returns?|refunds?|bookings?|reservations?|reception|mail|"
    r"no-?reply|do-?not-?reply|customer\w*|client\w*|enquir\w+|inquir\w+|webmaster|post|"
    r"(?:your|user|my|first|last|full)[._-]?\w*|name\w*|john\.?doe|jane\.?doe|someone|example|"
    r"test|abc|xyz|foo)(?:[._+-].*)?",
    re.IGNORECASE,
)
"""Addresses of a function, and those that stand for any address."""
PHONE = re.compile(
    r"(?<![\w.,/-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,5}\)[ .-]?)?\d{2,5}(?:[ .-]?\d{2,8}){1,4}"
    r"|\(\d{2,5}\)[ .-]?\d{3,4}[ .-]?\d{3,6}|\d{3}[.-]\d{3}[.-]\d{4}|"
    r"0\d{2,4}[ /-]?\d{3,9}(?: \d{2,6})?)"
    r"(?![\w-]|[.,]\d)"
)
TOLL_FREE = re.compile(r"\+?1?[ .(-]{0,2}(?:0?800|0?808|822|833|844|855|866|877|888)\b")
OF_PERSON = re.compile(
    r"\b(?:he|him|his|she|her|hers|my|me|mine|mobile|cell|private|personal|wife|husband|driver|"
    r"mother|father|son|daughter|friend|mr|mrs|ms|text)\b",
    re.IGNORECASE,
)
ASKED_NUMBER = re.compile(r"\b(?:phone|number)\b", re.IGNORECASE)
PERSON_BEFORE = 60  # characters before a number that may say whose it is
CARD = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-]|\.\d)")
CARD_NUMBERS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d)\d{12}|35\d{14}|"
    r"3(?:0[0-5]|[689]\d)\d{11}"
)
"""Beginnings and lengths of card numbers."""
IBAN = re.compile(r"(?<![\w-])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![\w-])")
KEY_SIGNS = ("k-", "k_", "AKIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "xox", "AIza",
             "PRIVATE KEY", "eyJ", "://")  # fmt: skip
"""Every key contains one of these; a text without them is skipped."""
KEYS = re.compile(
    r"\b(?:sk|pk|rk)[_-](?:live|test|proj|ant)?[_-]?[A-Za-z0-9_-]{16,200}|\bAKIA[0-9A-Z]{16}\b|"
    r"\bgh[pousr]_[A-Za-z0-9]{30,60}|\bglpat-[\w-]{16,40}|\bxox[abprs]-[\w-]{20,100}|"
    r"\bAIza[\w-]{30,40}|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----|"
    r"\beyJ[\w-]{10,500}\.[\w-]{10,2000}\.[\w-]{10,500}|"
    r"\b[a-z][a-z0-9+]{1,15}://(?!user(?:name)?:)[\w.-]{1,40}:(?!pass|\*|<|\{)[^\s:@/]{3,60}@\w",
)
PASSWORD = re.compile(
    r"\bpass(?:word|code|phrase)\b(?: is|:| =|=)[ ]?[\"'`]?([^\s\"'`]{6,40})", re.I
)
MIXED = re.compile(r"(?=.{0,40}\d)(?=.{0,40}[A-Za-z])[^*<>{}\[\]…]+")


def _unsaid(reply: Reply, spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the spans whose letters and digits no turn before the reply has."""
    unsaid = tuple(span for span in spans if not reply.was_given(reply.text[span[0] : span[1]]))
    asked = map(pattern_of, ("asks for a text", "asks for a sample"))
    return () if unsaid and any(map(reply.asked_for, asked)) else unsaid


def email_in(reply: Reply) -> Flaw | None:
    """Find the e-mail address of a person."""
    if "@" not in reply.text or reply.asked_for(CODE_TALK):
        return None
    spans = (
        match.span()
        for match in EMAIL.finditer(reply.text)
        if not ROLE.fullmatch(match[1]) and not match[2].lower().startswith("example.")
    )
    return _flaw("an e-mail address", _unsaid(reply, spans))


def phone_in(reply: Reply) -> Flaw | None:
    """Find the phone number of a person, as the words before it or an e-mail address tell."""
    if not reply.has_digits or (
        reply.last_of_other is not None
        and ASKED_NUMBER.search(reply.talk.turns[reply.last_of_other].text)
    ):
        return None
    has_email = "@" in reply.text and email_in(reply) is not None
    spans = [
        match.span()
        for match in PHONE.finditer(reply.text)
        if 8 <= sum(map(str.isdigit, match[0])) <= 15
        and not TOLL_FREE.match(match[0])
        and has_email
        | bool(OF_PERSON.search(reply.text[max(0, match.start() - PERSON_BEFORE) : match.start()]))
    ]
    return _flaw("a person's phone number", _unsaid(reply, spans))


def card_in(reply: Reply) -> Flaw | None:
    """Find a card number with a right check digit (Luhn, 1960)."""
    if not reply.has_digits:
        return None
    spans = (m.span() for m in CARD.finditer(reply.text) if _is_card(re.sub(r"\D", "", m[0])))
    return _flaw("a card number", _unsaid(reply, spans))


def _is_card(digits: str) -> bool:
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return bool(CARD_NUMBERS.fullmatch(digits)) and not sum(n - 9 * (n > 9) for n in doubled) % 10


def iban_in(reply: Reply) -> Flaw | None:
    """Find a bank account number with right check digits (ISO 13616)."""
    if reply.has_digits and reply.asked_for(pattern_of("asks where to pay")):
        return None
    spans = []
    for match in IBAN.finditer(reply.text) if reply.has_digits else ():
        groups = match[0].split(" ")
        # A word in capitals behind the number is not a part of it.
        for number in dict.fromkeys((match[0], " ".join(groups[:-1]))):
            if _is_iban(number.replace(" ", "")):
                spans.append((match.start(), match.start() + len(number)))
                break
    return _flaw("a bank account number", _unsaid(reply, spans))


def _is_iban(number: str) -> bool:
    moved = number[4:] + number[:4]
    return 15 <= len(number) <= 34 and int("".join(str(int(c, 36)) for c in moved)) % 97 == 1


def key_in(reply: Reply) -> Flaw | None:
    """Find an API key, a private key, a token or a password."""
    spans = []
    if any(sign in reply.text for sign in KEY_SIGNS):
        spans = [match.span() for match in KEYS.finditer(reply.text)]
    for match in PASSWORD.finditer(reply.text) if reply.has_digits else ():
        word = match[1].rstrip(".,;:")
        if MIXED.fullmatch(word):
            spans.append((match.start(1), match.start(1) + len(word)))
    return _flaw("a key or password", _unsaid(reply, spans))


def _flaw(data: str, spans: tuple[tuple[int, int], ...]) -> Flaw | None:
    return Flaw(f"the reply contains {data} that nobody gave", spans) if spans else None


RULES = (
    Rule("P201", "email-address", "e-mail address nobody gave", email_in, masks=True),
    Rule("P202", "phone-number", "phone number nobody gave", phone_in, masks=True),
    Rule("P203", "card-number", "card number nobody gave", card_in, masks=True),
    Rule("P204", "iban", "bank account nobody gave", iban_in, masks=True),
    Rule("P205", "secret-key", "key or password nobody gave", key_in, masks=True),
)
