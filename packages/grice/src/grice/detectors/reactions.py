"""Signs of a flaw around a reply: what the user says next, and whether the bot takes it back.

The signs are weak alone: ``grice check --rank`` weighs them beside scores. The rules on
the user's next turn (:mod:`grice.detectors.user`) are stricter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.data import Span
from grice.text.content import content_words
from grice.text.wordlists import pattern_of

if TYPE_CHECKING:
    from grice.detectors.conversation import Reply

READ = 200  # characters of a turn that are looked at
OBJECTED, CONFUSED = "objects", "is confused"
REMINDED, DENIED = "recalls what was said", "disagrees"
TAKEN_BACK, APOLOGISES = "taken back", "apologises"
SIGNS = {
    OBJECTED: ("strict objection", "strict request for a person", "strict end"),
    CONFUSED: ("is confused",),
    REMINDED: ("recalls what was said",),
    DENIED: ("disagrees",),
}
"""Patterns of what the user says next."""
ADMITS = "admits"
YOU_SAID, I_SAID, ASKED = TOLD = "the bot said otherwise", "the user said it", "the user asked"
"""Patterns of a user who says next what a reply is in conflict with, or passes over."""


class Sign(NamedTuple):
    """A sign of a flaw, or against one, with the words of another turn that show it."""

    name: str
    message: str = ""
    span: Span | None = None


def signs_of(reply: Reply) -> list[Sign]:
    """Return the signs around a reply."""
    turns, after = reply.talk.turns, reply.next_of_user
    found = []
    if pattern_of(ADMITS).search(reply.text[:READ]):
        found.append(Sign(APOLOGISES))
    if after is None:
        return found
    text = turns[after].text
    whole = Span(after, 0, len(text))
    for name, patterns in SIGNS.items():
        if any(pattern_of(each).search(text[:READ]) for each in patterns):
            found.append(Sign(name, f"the user {name} in turn {after}", whole))
    own = reply.own_after(after)
    if own is not None and (match := pattern_of(ADMITS).search(turns[own].text[:READ])):
        found.append(Sign(TAKEN_BACK, f"is taken back in turn {own}", Span(own, *match.span())))
    return found


def told_of(reply: Reply) -> str | None:
    """Return what the user says next that a reply is in conflict with, or passes over.

    A user who only says words of earlier turns again, which the reply has not, said it.
    """
    turns, after = reply.talk.turns, reply.next_of_user
    if after is None:
        return None
    for name in TOLD:
        if pattern_of(name).search(turns[after].text[:READ]):
            return name
    words, own = (_content(turns[turn].text) for turn in (after, reply.turn))
    asked = reply.last_of_other
    if asked is None or not words or words & own:
        return None
    if "?" not in reply.text and words <= _content(turns[asked].text):
        return ASKED
    said, user = reply.background.said, turns[after].speaker
    before = (said.get(word, {}).get(user, reply.turn) < reply.turn for word in words)
    return I_SAID if all(before) else None


def takes_up(reply: Reply) -> bool:
    """Return whether a reply has a content word of another speaker's earlier turn."""
    said = reply.background.said
    firsts = (first for word in _content(reply.text) for first in said.get(word, {}).items())
    return any(speaker != reply.speaker and turn < reply.turn for speaker, turn in firsts)


def _content(text: str) -> set[str]:
    return {word.text for word in content_words(text[:READ])}
