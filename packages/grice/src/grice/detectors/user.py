"""Signs in the user's next turn that a reply did not help.

The patterns of ``data/said.txt`` are stricter than those of the metric ``user_frustration``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.data import Span
from grice.detectors.conversation import Flaw, beginnings
from grice.detectors.rules import Rule
from grice.text.wordlists import pattern_of

if TYPE_CHECKING:
    from grice.detectors.conversation import Reply

ASKS = re.compile(r"\?|\b(?:confirm|let me know|tell me)\b", re.IGNORECASE)
OBJECTING = beginnings(
    "said asked told gave wrote answer mentioned explained typed already time times ask never "
    "not reply replies response wanted wrong incorrect nonsense useless help sense sequitur "
    "with random generic irrelevant unhelpful mean rude harsh insulting outrageous subject "
    "topic off english say repeating contradicting confusing mistaken stop keep read "
    "listening understand get hear deaf blind insane drunk kidding fooling talking going "
    "telling why follow excuse wtf hell heck fuck respectful use question again sure seriously "
    "right true funny helping forgot forgotten ignored or come insert word hello helll there "
    "pointless hopeless ridiculous waste nothing"
)
PEOPLE = beginnings(
    "human person agent representative operator supervisor manager service support care staff "
    "nurse someone somebody anyone anybody"
)
"""Every match contains one of these; a text without them is skipped."""
BREAK = re.compile(r"[.!?…]+(?=\s|\Z)|\n")
LONG = 200  # characters of a turn; longer ones match by chance


def complains_after(reply: Reply) -> Flaw | None:
    """Find a user who objects to the reply in the next turn."""
    message = "the user objects"
    found = _after(reply, "objects", OBJECTING, message) or _shouts(reply)
    if found or ASKS.search(reply.text):
        return found
    return _after(reply, "corrects", beginnings("no nope"), message)


def asks_for_person_after(reply: Reply) -> Flaw | None:
    """Find a user who asks for a person in the next turn."""
    return _after(reply, "asks for a person", PEOPLE, "the user asks for a person")


def _after(reply: Reply, pattern: str, signs: frozenset[str], message: str) -> Flaw | None:
    turn = reply.next_of_user
    if turn is None or len(text := reply.talk.turns[turn].text) > LONG:
        return None
    if not reply.background.may_have(turn, signs):
        return None
    match = pattern_of(pattern).search(text)
    return Flaw(message, (), (Span(turn, *_sentence(text, *match.span())),)) if match else None


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of the sentence around a place."""
    before = BREAK.split(text[:start])[-1]
    after = BREAK.search(text, max(start, end - 1))
    return start - len(before.lstrip()), after.end() if after else len(text.rstrip())


def _shouts(reply: Reply) -> Flaw | None:
    """Find a turn in capitals of a user who does not write so otherwise."""
    turn = reply.next_of_user
    if turn is None or not _in_capitals(text := reply.talk.turns[turn].text):
        return None
    earlier = [t for i, name, t in reply.background.texts if name != reply.speaker and i < turn]
    if any(map(_in_capitals, earlier)) or not any(any(map(str.islower, t)) for t in earlier):
        return None
    return Flaw("the user shouts", (), (Span(turn, 0, len(text)),))


def _in_capitals(text: str) -> bool:
    words = [word for word in text.split() if word.strip(".,!?").isalpha()]
    return len(text) < LONG and text.isupper() and len(words) > 2


RULES = (
    Rule("U501", "user-objects", "the user objects", complains_after, severity="note"),
    Rule("U503", "asks-for-person", "the user asks for a person", asks_for_person_after,
         severity="note"),
)  # fmt: skip
