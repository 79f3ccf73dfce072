"""Signs in the user's next turn that a reply did not help.

The patterns are strict forms of those of ``user_frustration``, and stand beside them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.data import Span
from grice.detectors.conversation import Flaw
from grice.detectors.rules import Rule
from grice.metrics.user_frustration import ASKS_FOR_PERSON, GAVE_UP, OBJECTS
from grice.text.content import content_words

if TYPE_CHECKING:
    from grice.detectors.conversation import Reply

REQUEST = re.compile(r"\b(?:please|need|want|like to|can you|could you|how|where|why)\b", re.I)
SAME, FEWEST_WORDS = 0.7, 3
"""Share of content words that two repeated requests have in common, and their number."""
LONG = 200  # characters of a turn; longer ones match by chance


def complains_after(reply: Reply) -> Flaw | None:
    """Find a user who objects to the reply in the next turn."""
    return _after(reply, OBJECTS, "the user objects") or _shouts(reply)


def asks_for_person_after(reply: Reply) -> Flaw | None:
    """Find a user who asks for a person in the next turn."""
    return _after(reply, ASKS_FOR_PERSON, "the user asks for a person")


def gives_up_after(reply: Reply) -> Flaw | None:
    """Find a user who gives up, or asks whether anyone is there."""
    return _after(reply, GAVE_UP, "the user gives up")


def rephrases_after(reply: Reply) -> Flaw | None:
    """Find a user who asks for the same as before the reply, in about the same words."""
    after, before = reply.next_of_user, reply.last_of_other
    if after is None or before is None:
        return None
    texts = [reply.talk.turns[turn].text for turn in (before, after)]
    if not all("?" in text or REQUEST.search(text) for text in texts):
        return None
    first, second = ({word.text for word in content_words(text.lower()[:LONG])} for text in texts)
    places = (Span(after, 0, len(texts[1])), Span(before, 0, len(texts[0])))
    if first and first == second:
        return Flaw("the user asks for the same again", (), places)
    if min(len(first), len(second)) < FEWEST_WORDS or len(texts[1]) > LONG:
        return None
    if len(first & second) < SAME * len(first | second):
        return None
    return Flaw("the user asks for the same again", (), places)


def _after(reply: Reply, pattern: re.Pattern[str], message: str) -> Flaw | None:
    turn = reply.next_of_user
    if turn is None or len(text := reply.talk.turns[turn].text) > LONG:
        return None
    match = pattern.search(text)
    return Flaw(message, (), (Span(turn, *match.span()),)) if match else None


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
    Rule("U502", "user-asks-again", "the user asks again", rephrases_after, severity="note"),
    Rule("U503", "asks-for-person", "the user asks for a person", asks_for_person_after,
         severity="note"),
    Rule("U504", "user-gives-up", "the user gives up", gives_up_after, severity="note"),
)  # fmt: skip
