"""Explicit links: two stretches side by side, and the word between them.

"I stayed in because it rained": *it rained* causes *stayed in*. A rule is the words between two
neighbouring stretches of one turn, what both must be, and which relation they show.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice_tasks.cider.span_candidates import Joined, SpanCandidate

BETWEEN = 25
"""Most characters between two stretches that a connective links."""
AHEAD = 4
"""Stretches behind the first that are looked at: those within one another stand side by side."""


class ExplicitLink(NamedTuple):
    """A link by its connective: numbers of head and tail among the stretches."""

    head: int
    relation: str
    tail: int


class Nouns(NamedTuple):
    """Kinds of nouns, by those that knowledge has most often; each in lower case.

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
    _rule(
        rf"(?:just |mainly |only )?(?:because|cause|'cause|cuz|due to the fact that) {_SUBJECT}",
        "ee",
        "Causes",
        swapped=True,
    ),
    _rule(r"so that (?:i|we|you|they|he|she|it) (?:can |could )?", "ee", "MotivatedByGoal"),
    _rule(
        rf"(?:and )?(?:so|that's why|that is why|which is why|therefore) {_SUBJECT}", "ee", "Causes"
    ),
    _rule(r"to|in order to", "ee", "MotivatedByGoal"),
    _rule(r"(?:used |made )?to|used for", "ue", "UsedFor"),
    _rule(
        rf"(?:only )?if {_SUBJECT}|unless {_SUBJECT}|as long as {_SUBJECT}", "ee", "HasPrerequisite"
    ),
    _rule(rf"(?:and then|before|and after that) {_SUBJECT}", "ee", "Before"),
    _rule(rf"(?:right |just )?after {_SUBJECT}", "ee", "Before", swapped=True),
    _rule(rf"while {_SUBJECT}|at the same time as", "ee", "Simutaneous"),
    _rule(rf"(?:when|whenever) {_SUBJECT}", "ee", "HappensIn"),
    _rule(rf"(?:in|on|during|at|last|next|this) {_ARTICLE}", "em", "HappensIn"),
    _rule(rf"(?:at|in|inside|on) {_ARTICLE}", "lp", "AtLocation"),
    _rule(r"(?:is|was|are|were) (?:an?|one of the) (?:kind of )?", "tt", "IsA"),
    _rule(rf"but {_SUBJECT}", "wn", "ObstructedBy"),
)
"""Kinds of both in the order of the text: event, thing, moment, wish, denial, place, what is
located, what is used."""

GOALS = frozenset({"MotivatedByGoal", "UsedFor"})

RELATIONS = frozenset(rule.relation for rule in _RULES) | {"CausesDesire"}
"""Relations that connectives express."""

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


def explicit_links(
    joined: Joined, candidates: Sequence[SpanCandidate], nouns: Nouns
) -> Iterator[ExplicitLink]:
    """Yield the links that connectives say, in the order of the text."""
    for i, first in enumerate(candidates):
        for j in range(i + 1, min(i + 1 + 2 * AHEAD, len(candidates))):
            second = candidates[j]
            gap = second.place[0] - first.place[1]
            if gap < 1:
                continue
            if gap > BETWEEN or joined.turn(first.place) != joined.turn(second.place):
                break
            reading = _read(joined.text, first, second, nouns)
            if reading is not None:
                relation, swapped = reading
                yield ExplicitLink(j, relation, i) if swapped else ExplicitLink(i, relation, j)


def _read(
    text: str, first: SpanCandidate, second: SpanCandidate, nouns: Nouns
) -> tuple[str, bool] | None:
    between = text[first.place[1] : second.place[0]] + " "
    if re.search(r"[.?!]", between):
        return None
    head, tail = text[slice(*first.place)], text[slice(*second.place)]
    for rule in _RULES:
        if not rule.between.match(between):
            continue
        if not (_is(rule.kinds[0], first, head, nouns) and _is(rule.kinds[1], second, tail, nouns)):
            continue
        if rule.relation in GOALS and not _says_purpose(text[: first.place[1]], head, tail):
            continue
        if rule.relation == "IsA" and not _says_kind(text, first, second):
            continue
        if rule.relation in ("IsA", "UsedFor") and _BEHIND.search(text[: first.place[0]]):
            continue  # "the emperor of Japan is a scientist" says nothing of Japan
        if rule.relation == "Causes" and not rule.swapped and _GOAL.search(tail):
            return "CausesDesire", False
        return rule.relation, rule.swapped
    return None


def _says_purpose(before: str, head: str, tail: str) -> bool:
    """Return whether "to" says what for: not what is possible, easy, or whose name follows."""
    if tail[:1].isupper() or _NO_DEED.search(head):
        return False  # "I gave it to Save the Children", "it is cheaper to hire them"
    sentence = re.split(r"[.?!]\s", before)[-1]
    return not (
        _TAKES_INFINITIVE.search(sentence) or _ONLY.search(sentence) or _STRANDED.match(tail)
    )


_TAKES_INFINITIVE = re.compile(
    r"\b(?:able|best|chances?|easy|enough|first|glad|good|happy|hard|last|nice|only|opportunity|"
    r"place|ready|reason|right|sorry|times?|ways?|for (?:(?:a|an|the|my|your|our|their) )?\w+)$",
    re.IGNORECASE,
)
"""Words that an infinitive completes ("time to go"), or the actor ("for writers to join")."""
_NO_DEED = re.compile(
    r"\b(?:be|is|was|were|are|it'?s|(?:allow|ask|expect|tell|want)(?:s|ed)? \w+|told \w+)\b",
    re.IGNORECASE,
)
"""Verbs that state no purposeful act, or an act that somebody else shall do."""
_ONLY = re.compile(r"\b(?:the|his|her|their|its) (?:only|first|last|\w+est)\b", re.IGNORECASE)
"""Of whom "to" says what they did: "the only team in the league to win"."""
_STRANDED = re.compile(
    r"\w+ (?:\w+ )?(?:about|at|for|from|of|on|to|with)(?:$| (?:and|but|or|though)\b)", re.IGNORECASE
)
"""Verbs of an act on the thing before it: "a family to provide for"."""


def _says_kind(text: str, first: SpanCandidate, second: SpanCandidate) -> bool:
    """Return whether a statement calls a whole name or noun a whole noun."""
    head, after = text[slice(*first.place)], text[second.place[1] :]
    part_of_name = head[:1].isupper() and _NAME_BEFORE.search(text[: first.place[0]])
    asked = re.match(r"[^.?!]*\?", after)
    return not part_of_name and not asked and not _GOES_ON.match(after)


_BEHIND = re.compile(
    r"\b(?:at|by|for|from|in|of|on|to|with)\s+(?:(?:a|an|the|my|your|his|her|our|their) )?$",
    re.IGNORECASE,
)
_NAME_BEFORE = re.compile(r"[A-Z]\w*\s+(?:the|of|and|for)\s+$")
_GOES_ON = re.compile(
    r" (?!(?:about|and|as|at|because|but|by|for|from|if|in|like|near|of|on|or|since|so|that|to|too|"
    r"when|where|which|while|who|with)\b)[a-z]"
)
"""A word behind a noun that may go on with it: "a jazz film fan"."""


def _is(kind: str, candidates: SpanCandidate, span: str, nouns: Nouns) -> bool:
    if kind == "e":
        return candidates.event
    if kind == "w":
        return candidates.event and _WISH.search(span) is not None
    if kind == "n":
        return candidates.event and _DENIAL.search(span) is not None
    if candidates.event:
        return False
    if kind == "m":
        return _MOMENT.search(span) is not None
    if _MOMENT.search(span) or span.lower().split()[-1] in ("little", "bit", "lot"):
        return False
    if kind == "p":
        return _named(span, nouns.places) or span[:1].isupper()
    return kind == "t" or _named(span, nouns.located if kind == "l" else nouns.tools)


def _named(phrase: str, nouns: frozenset[str]) -> bool:
    """Return whether the last word of a noun phrase is one of some nouns, in either number."""
    word = phrase.lower().split()[-1]
    forms = {word, word.removesuffix("s"), word.removesuffix("es")}
    if word.endswith("ies"):
        forms.add(word[:-3] + "y")
    return not forms.isdisjoint(nouns)
