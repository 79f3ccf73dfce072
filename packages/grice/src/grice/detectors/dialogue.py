"""A reply that repeats an earlier one of its speaker, or asks for what the user gave."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.data import Span
from grice.detectors.conversation import READ, Flaw, beginnings, plain
from grice.detectors.rules import Rule
from grice.text.wordlists import pattern_of

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
GIVEN = ("name", "e-mail address", "phone number", "order number", "age", "budget", "town", "job")
"""Data that a user gives, and gives once."""
ASKING = beginnings(
    "name mail email phone mobile telephone contact order ticket booking reference tracking old "
    "age budget price spend live living work job profession occupation talking speaking"
)
"""Every question for them contains one of these; a text without them is skipped."""


def repeats_on_request(reply: Reply) -> bool:
    """Return whether the turn before the reply asks to hear something again."""
    last, asks = reply.last_of_other, pattern_of("asks to repeat")
    return last is not None and bool(asks.search(reply.talk.turns[last].text[:READ]))


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
    if pattern_of("asks again, or for more").search(said):
        return None
    if before is not None and plain(reply.talk.turns[before].text) == plain(said):
        return None
    earlier = Span(first, 0, len(reply.talk.turns[first].text))
    return Flaw(f"repeats turn {first} word for word", ((0, len(reply.text)),), (earlier,))


def asks_again_in(reply: Reply) -> Flaw | None:
    """Find a question for data that the user gave before."""
    asks = "?" in reply.text or "please" in reply.text.lower()
    if not asks or not reply.background.may_have(reply.turn, ASKING):
        return None
    if pattern_of("asks for another").search(reply.text):
        return None
    for name in GIVEN:
        match, gives = pattern_of(f"asks for the {name}").search(reply.prose), f"gives the {name}"
        if match and reply.asked_for(pattern := pattern_of(gives)):
            first = reply.background.first(pattern, pattern.search)
            turn = min(turn for speaker, turn in first.items() if speaker != reply.speaker)
            words = pattern.search(reply.talk.turns[turn].text)
            given = (Span(turn, *words.span()),) if words else ()
            return Flaw(f"asks for the {name} that the user gave", (match.span(),), given)
    return None


RULES = (
    Rule("D301", "verbatim-repetition", "repeats itself word for word", repeated_in),
    Rule("D302", "asks-again", "asks for what the user gave", asks_again_in),
)
