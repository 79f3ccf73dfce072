"""Flaws in how a reply follows the turns before it: repeated, asked again, refused without need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.data import Span
from grice.detectors.conversation import Flaw, plain
from grice.detectors.rules import Rule

if TYPE_CHECKING:
    from grice.detectors.conversation import Reply

FEWEST_WORDS = 5
STOCK = re.compile(
    r"\b(?:anything else|welcome|thanks?|thank you|good ?bye|bye|have an? \w+|hello|how (?:can|"
    r"may) i|"
    r"nice (?:talking|to)|take care|no problem|glad|my pleasure|great day|how are you|sorry|"
    r"apolog\w+|please (?:hold|wait)|one moment|is there anything|did you mean|confirm|correct\?)",
    re.IGNORECASE,
)
"""Formulas that may be said twice."""
AGAIN = re.compile(
    r"\b(?:again|repeat|what did you (?:say|ask)|say that|pardon|sorry\?|remind me|once more|"
    r"another|more|one more|same|what was|come again|didn['’]?t (?:hear|catch))\b|^\W*(?:what|"
    r"huh)\W*$",
    re.IGNORECASE,
)
GIVEN: dict[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    name: (re.compile(asked, re.IGNORECASE), re.compile(given, re.IGNORECASE))
    for name, asked, given in (
        ("name", r"\b(?:your (?:full |first |last )?name|name (?:for|of) the (?:booking|"
                 r"reservation))\b",
         r"\bmy (?:full |first )?name(?: is|['’]?s|:) \w+|\bname is [A-Z]\w+|\bunder the name \w+"),
        ("e-mail address", r"\byour e-?mail(?: address)?\b", r"\S{1,64}@\S{1,60}\.\w{2,}"),
        ("phone number", r"\byour (?:phone|mobile|telephone|contact) number\b",
         r"\b(?:phone|number|mobile|call me)\b[^.!?]{0,20}\+?\d[\d ()-]{7,}"),
        ("order number", r"\b(?:your|the) (?:order|ticket|booking|reference|tracking) (?:number|"
                         r"id|no)\b",
         r"\b(?:order|ticket|booking|reference|tracking)(?: (?:number|id|no\.?|is|"
         r"#))* ?#?[A-Z]{0,4}-?\d{3,}"),
        ("age", r"\bhow old (?:are you|is (?:he|she|your \w+))|\b(?:your|his|her) age\b",
         r"\b(?:is|am|i['’]m|he['’]s|she['’]s|aged?) (?:only )?\d{1,2}(?: years| yrs|,|\.| and\b|"
         r"$)"),
        ("budget", r"\b(?:your|the) (?:budget|price range)\b|\bhow much (?:do|would) you (?:want|"
                   r"like) to spend",
         r"\bbudget (?:is|of|:)[^.!?]{0,15}\d|\b(?:under|below|up to|at most|"
         r"max(?:imum)?) [$€£]?\d{2,}"),
        ("number of people", r"\bhow many (?:people|guests|persons|seats|adults)\b|"
                             r"\bfor how many\b",
         r"\b(?:for|party of|table for) (?:two|three|four|five|six|seven|eight|"
         r"\d{1,2})\b(?! ?(?:am|pm|o|:|eur|dol|night|day|hour|week))"),
        ("date", r"\b(?:what|which) (?:date|day)\b(?!.{0,40}(?:return|back|check.?out|until|end))",
         r"\b(?:jan(?:uary)?|feb(?:ruary)?|march|apr(?:il)?|june?|july?|aug(?:ust)?|"
         r"sept?(?:ember)?|"
         r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?) \d{1,2}\b|\b\d{1,2}(?:st|nd|rd|th)?(?: of)? "
         r"(?:january|february|march|april|may|june|july|august|september|october|november|"
         r"december)\b"),
        ("temperature", r"\b(?:your|his|her|the) (?:temperature|fever)\b", r"\b(?:3[5-9]|"
            r"4[0-2])[.,]\d\b"),
        ("week of pregnancy", r"\bhow many weeks (?:pregnant|"
                              r"along)\b", r"\b\d{1,2} weeks (?:pregnant|along)\b"),
    )
}  # fmt: skip
"""Data that a user gives: how a reply asks for it, and how a turn gives it."""
OTHER_ONE = re.compile(
    r"\b(?:other|another|new|different|second|next|correct|right|confirm|else|again|instead|change|"
    r"friend|passenger|guest)\b",
    re.IGNORECASE,
)
"""Words of a question for other data of the same kind."""
REFUSAL = re.compile(
    r"\A\W{0,5}(?:i['’]m sorry|i am sorry|sorry|i apologi[sz]e|unfortunately)?[,.]?(?: but)?\s?"
    r"i(?:['’]m| am)? (?:can['’]?t|cannot|can not|not able to|unable to|won['’]?t)"
    r"(?: be able to)? (?:help(?: you)?(?: with (?:that|this)(?: request)?)?|"
    r"assist(?: you)?(?: with "
    r"(?:that|this)(?: request)?)?|answer (?:that|this|your question)|provide (?:that|this|medical)"
    r"[\w ]{0,30}|do that|discuss (?:that|this)[\w ]{0,20}|respond to that)\W{0,3}\Z",
    re.IGNORECASE,
)
"""A whole reply that only refuses and gives no reason."""
SENSITIVE = re.compile(
    r"\b(?:kill|suicid\w+|murder|bomb|weapons?|guns?|shoot|drugs?|cocaine|meth|hack\w*|steal|porn|"
    r"sex\w*|naked|nude|rape|racis\w+|nazi|jews?|muslims?|blacks?|gays?|illegal|pirat\w+|crack|"
    r"password|passwort|ssn|social security|other (?:customer|user|person|people)\w*|someone else|"
    r"his|her|pills?|dos(?:e|age)|medic\w+|prescri\w+|diagnos\w+|pregnan\w+|die|dying|overdose|"
    r"cheat|exam answers|legal advice|invest|bet|poison|explosive|fuck\w*|shit|bitch|slur|insult|"
    r"hate|violence|terror\w*|fake|forge\w*|blackmail|stalk\w*|spy)\b",
    re.IGNORECASE,
)
"""Requests that may well be refused."""


def repeated_in(reply: Reply) -> Flaw | None:
    """Find a reply that its speaker gave before, word for word, to another turn."""
    words = reply.text.count(" ") + 1
    if words < FEWEST_WORDS:
        return None
    first = reply.background.verbatim.get((reply.speaker, plain(reply.text)))
    if first is None or first >= reply.turn or (STOCK.search(reply.text) and words < 25):
        return None
    last, before = reply.last_of_other, reply.other_before(first)
    if last is None or last < first:
        return None
    if "?" in reply.text and first != reply.own_before(last):
        return None  # a question about another thing
    said = reply.talk.turns[last].text
    if AGAIN.search(said):
        return None
    if before is not None and plain(reply.talk.turns[before].text) == plain(said):
        return None
    earlier = Span(first, 0, len(reply.talk.turns[first].text))
    return Flaw(f"repeats turn {first} word for word", ((0, len(reply.text)),), (earlier,))


def asks_again_in(reply: Reply) -> Flaw | None:
    """Find a question for data that the user gave before."""
    if "?" not in reply.text and "please" not in reply.text.lower():
        return None
    for name, (asked, given) in GIVEN.items():
        match = asked.search(reply.prose)
        if match and not OTHER_ONE.search(reply.text) and (place := _given_in(reply, given)):
            return Flaw(f"asks for the {name} that the user gave", (match.span(),), (place,))
    return None


def _given_in(reply: Reply, given: re.Pattern[str]) -> Span | None:
    first = reply.background.first(given, given.search)
    turns = [turn for speaker, turn in first.items() if speaker != reply.speaker]
    if not turns or min(turns) >= reply.turn:
        return None
    match = given.search(reply.talk.turns[min(turns)].text)
    return Span(min(turns), *match.span()) if match else None


def refusal_in(reply: Reply) -> Flaw | None:
    """Find a reply that refuses a harmless request without a reason."""
    match = REFUSAL.match(reply.text.strip())
    last = reply.last_of_other
    if not match or last is None:
        return None
    said = reply.talk.turns[last].text
    if SENSITIVE.search(said) or len(said.split()) < 3:
        return None
    return Flaw("refuses a harmless request without a reason", ((0, len(reply.text)),))


RULES = (
    Rule("D301", "verbatim-repetition", "repeats itself word for word", repeated_in),
    Rule("D302", "asks-again", "asks for what the user gave", asks_again_in),
    Rule("D303", "needless-refusal", "needless refusal", refusal_in),
)
