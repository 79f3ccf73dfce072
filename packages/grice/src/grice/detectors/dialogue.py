"""A reply that repeats an earlier one of its speaker."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.data import Span
from grice.detectors.conversation import READ, Flaw, plain
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
    r"huh)\W*$|^\W*sorry\b[^.!?\n]{0,20}\?",
    re.IGNORECASE,
)
ASKS_TO_REPEAT = re.compile(
    r"(?<!not )(?<!n['’]t )\brepeat\b|\bsay (?:that|it|this) again\b|\bcome again\b|\bpardon\b|"
    r"\bremind me\b|\b(?:once|one) more\W*(?:please\W*)?\Z|\bone more time\b|"
    r"n['’]?t (?:hear|catch) (?:that|you|it)\b|\bwhat did you (?:say|ask)\b",
    re.IGNORECASE,
)


def repeats_on_request(reply: Reply) -> bool:
    """Return whether the turn before the reply asks to hear something again."""
    last = reply.last_of_other
    return last is not None and bool(ASKS_TO_REPEAT.search(reply.talk.turns[last].text[:READ]))


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


RULES = (Rule("D301", "verbatim-repetition", "repeats itself word for word", repeated_in),)
