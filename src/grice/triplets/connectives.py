"""Links that a conversation says itself: two stretches side by side, and the word between them.

"I stayed in because it rained": *it rained* causes *stayed in*. A rule is the words between two
neighbouring stretches of one turn, what both must be, and which relation they show.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.triplets.spotting import Joined, Spotted

__all__ = ["RELATIONS", "Nouns", "Said", "said_links"]

BETWEEN = 25
"""Most characters between two stretches that a connective links."""
AHEAD = 4
"""Stretches behind the first that are looked at: those within one another stand side by side."""


class Said(NamedTuple):
    """A link by its connective: numbers of head and tail among the stretches."""

    head: int
    relation: str
    tail: int


class Nouns(NamedTuple):
    """What a noun names, by those that knowledge has most often; each in lower case.

    Attributes:
        places: Where something can be.
        located: What can be somewhere.
        tools: What is used for something.
    """

    places: frozenset[str] = frozenset()
    located: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()


class _Rule(NamedTuple):
    between: re.Pattern[str]
    kinds: str
    relation: str
    swapped: bool


def _rule(between: str, kinds: str, relation: str, *, swapped: bool = False) -> _Rule:
    return _Rule(re.compile(rf"^\W*(?:{between})\W*$", re.IGNORECASE), kinds, relation, swapped)


_ARTICLE = r"(?:the |my |a |an |our |their |his |her )?"
_SUBJECT = r"(?:(?:i|you|we|they|he|she|it|that|this|there|maybe|i think|i guess) ?){0,3}"
_RULES = (
    _rule(rf"(?:just |mainly |only )?(?:because|cause|'cause|cuz|due to the fact that) {_SUBJECT}",
          "ee", "Causes", swapped=True),
    _rule(rf"(?:and )?(?:so|that's why|that is why|which is why|therefore) {_SUBJECT}",
          "ee", "Causes"),
    _rule(r"to|in order to|so that (?:i|we|you|they) (?:can |could )?", "ee", "MotivatedByGoal"),
    _rule(r"(?:used |made )?to|used for", "ue", "UsedFor"),
    _rule(rf"(?:only )?if {_SUBJECT}|unless {_SUBJECT}|as long as {_SUBJECT}", "ee",
          "HasPrerequisite"),
    _rule(rf"(?:and then|before|and after that) {_SUBJECT}", "ee", "Before"),
    _rule(rf"(?:right |just )?after {_SUBJECT}", "ee", "Before", swapped=True),
    _rule(rf"while {_SUBJECT}|at the same time as", "ee", "Simutaneous"),
    _rule(rf"(?:when|whenever) {_SUBJECT}", "ee", "HappensIn"),
    _rule(rf"(?:in|on|during|at|last|next|this) {_ARTICLE}", "em", "HappensIn"),
    _rule(rf"(?:at|in|inside|on) {_ARTICLE}", "lp", "AtLocation"),
    _rule(r"(?:is|was|are|were) (?:an?|one of the) (?:kind of )?", "tt", "IsA"),
    _rule(rf"but {_SUBJECT}", "wn", "ObstructedBy"),
)  # fmt: skip
"""Kinds of both in the order of the text: event, thing, moment, wish, denial, place, what is
located, what is used."""

GOALS = frozenset({"MotivatedByGoal", "UsedFor"})

RELATIONS = frozenset(rule.relation for rule in _RULES) | {"CausesDesire"}
"""What connectives can say."""

_MOMENT = re.compile(
    r"\b(?:\d{4}s?|\d+ ?(?:am|pm)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|weeks?|weekend|"
    r"months?|morning|evening|afternoon|night|noon|winter|summer|spring|autumn|century|era|seasons?|"
    r"christmas|january|february|march|april|june|july|august|september|october|november|december|"
    r"days?|years?|past|future|holidays?|war|games?|match|party|trip|class|interview|election|"
    r"quarter|half|childhood|career|time)$",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"\b(?:want|need|like|love|hope|wish|tried|try|trying|plan|planned|going to|would|wanted)\b",
    re.IGNORECASE,
)
_GOAL = re.compile(
    r"\b(?:want|need|hope|wish|let's|should|plan|going to|would like|have to)\b", re.IGNORECASE
)
_DENIAL = re.compile(r"n't\b|n’t\b|\b(?:not|no|never|cannot|cant|dont|didnt|too)\b", re.IGNORECASE)


def said_links(joined: Joined, spotted: Sequence[Spotted], nouns: Nouns) -> Iterator[Said]:
    """Yield the links that connectives say, in the order of the text.

    Args:
        joined: The conversation.
        spotted: Its stretches, in order, longer ones before those they hold.
        nouns: What nouns name; without any, nothing is located or used.
    """
    for i, first in enumerate(spotted):
        for j in range(i + 1, min(i + 1 + 2 * AHEAD, len(spotted))):
            second = spotted[j]
            gap = second.place[0] - first.place[1]
            if gap < 1:
                continue
            if gap > BETWEEN or joined.turn(first.place) != joined.turn(second.place):
                break
            found = _read(joined.text, first, second, nouns)
            if found is not None:
                relation, swapped = found
                yield Said(j, relation, i) if swapped else Said(i, relation, j)


def _read(text: str, first: Spotted, second: Spotted, nouns: Nouns) -> tuple[str, bool] | None:
    between = text[first.place[1] : second.place[0]] + " "
    if re.search(r"[.?!]", between):
        return None
    head, tail = text[slice(*first.place)], text[slice(*second.place)]
    for rule in _RULES:
        if not rule.between.match(between):
            continue
        if not (_is(rule.kinds[0], first, head, nouns) and _is(rule.kinds[1], second, tail, nouns)):
            continue
        if rule.relation in GOALS and tail[:1].isupper():
            continue  # "I gave it to Save the Children" has a name behind "to"
        if rule.relation == "Causes" and not rule.swapped and _GOAL.search(tail):
            return "CausesDesire", False
        return rule.relation, rule.swapped
    return None


def _is(kind: str, spotted: Spotted, said: str, nouns: Nouns) -> bool:
    if kind == "e":
        return spotted.event
    if kind == "w":
        return spotted.event and _WISH.search(said) is not None
    if kind == "n":
        return spotted.event and _DENIAL.search(said) is not None
    if spotted.event:
        return False
    if kind == "m":
        return _MOMENT.search(said) is not None
    if _MOMENT.search(said) or said.lower().split()[-1] in ("little", "bit", "lot"):
        return False
    if kind == "p":
        return _named(said, nouns.places) or said[:1].isupper()
    return kind == "t" or _named(said, nouns.located if kind == "l" else nouns.tools)


def _named(said: str, nouns: frozenset[str]) -> bool:
    """Return whether the last word of a noun phrase is one of some nouns, in either number."""
    word = said.lower().split()[-1]
    forms = {word, word.removesuffix("s"), word.removesuffix("es")}
    if word.endswith("ies"):
        forms.add(word[:-3] + "y")
    return not forms.isdisjoint(nouns)
