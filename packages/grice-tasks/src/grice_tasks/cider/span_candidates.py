"""Span candidates: stretches of a conversation that a link may join, events and things."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from grice.models.embedded import Hidden
from grice.text.lexicon import look_up
from grice.text.wordlists import (
    ADVERBS,
    AUXILIARIES,
    BE,
    DEGREES,
    DETERMINERS,
    INDEFINITE,
    NOT_VERBS,
    PREPOSITIONS,
    QUESTIONS,
    THINGS,
)
from grice_tasks.tokens import SPAN_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.models.protocols import TaggedSpan
    from grice.records import Conversation
    from grice_tasks.cider.reading import TextReading
    from grice_tasks.cider.records import Place

LEAST = 0.35
"""How sure the tagger is at least of an event."""

LONGEST_EVENT = 14
"""Words of an event that is linked; a longer one holds several."""

LONG_WORD = 6
"""Letters of an event of one word."""

MOST = 5
"""Words of a thing; a longer run is a list or no English."""

_MARKS = " .,!?;:"
_JOINS = re.compile(
    r"\s+(?:after|and|as|because|before|but|cause|cuz|if|or|since|so|that|then|unless|until|when|"
    r"whenever|while)$",
    re.IGNORECASE,
)
"""Words of the next event that a tagger includes: "brushed my teeth before"."""
_SAY_NOTHING = """
thing things something anything nothing everything one ones way lot lots kind sort bit time times
today tonight yesterday tomorrow hi hello hey ok okay yes yeah no oh well thanks bye sir please
right sure stuff guy guys people day days year years wow mr mrs lol haha ha ouch plus hmm omg btw
happens happened something
"""
_NAMES_NOTHING = """
i you he she we they me him her us them not to and or but if so that's thats its it's i'm don't dont
didn't didnt can't theyve youve weve ive although though think know see say guess
get got go like just do one two first all
"""
_EMPTY = frozenset(_SAY_NOTHING.split())
_LIGHT = (
    _EMPTY
    | ADVERBS
    | AUXILIARIES
    | BE
    | DEGREES
    | DETERMINERS
    | INDEFINITE
    | PREPOSITIONS
    | QUESTIONS
    | THINGS
    | frozenset(_NAMES_NOTHING.split())
)
"""Words that name neither what happens nor who or what it happens to."""
_ASKS = re.compile(
    r"(?:do|does|did|are|is|was|were|have|has|can|could|would|will)\s+(?:i|you|we|"
    r"they|he|she|it|that|this|there|the)\b|(?:what|how|why|who|where)\b",
    re.IGNORECASE,
)


class Joined(NamedTuple):
    """A conversation as one text.

    Attributes:
        text: Turns in order with one blank between them, without speakers.
        starts: Where each turn begins in it.
    """

    text: str
    starts: tuple[int, ...]

    def turn(self, place: Place) -> int:
        """Return the turn that a stretch begins in."""
        return bisect_right(self.starts, place[0]) - 1


class SpanCandidate(NamedTuple):
    """A stretch of a conversation, and whether it is an event; else it is a thing."""

    place: Place
    event: bool


def join_turns(conversation: Conversation) -> Joined:
    """Return a conversation as one text with the places of its turns."""
    starts, at = [], 0
    for turn in conversation.turns:
        starts.append(at)
        at += len(turn.text) + 1
    return Joined(" ".join(turn.text for turn in conversation.turns), tuple(starts))


def slices(reading: TextReading, joined: Joined) -> list[tuple[str, Hidden]]:
    """Return text and token states of each turn, out of those of the conversation."""
    bounds = [*joined.starts, len(joined.text) + 1]
    turns = []
    for start, end in pairwise(bounds):
        first, last = reading.tokens((start, end - 1))
        places = zip(reading.starts[first:last], reading.ends[first:last], strict=True)
        offsets = [(int(a) - start, int(b) - start) for a, b in places]
        turns.append((joined.text[start : end - 1], Hidden(reading.states[first:last], offsets)))
    return turns


def find_candidates(
    joined: Joined, tag: Callable[[Sequence[str]], Sequence[tuple[TaggedSpan, ...]]]
) -> list[SpanCandidate]:
    """Return the span candidates of a conversation, in order, events before the things in them."""
    bounds = [*joined.starts, len(joined.text) + 1]
    turns = [joined.text[start : end - 1] for start, end in pairwise(bounds)]
    is_event: dict[Place, bool] = {}
    for start, text, events in zip(joined.starts, turns, tag(turns), strict=True):
        for span in events:
            place = _trimmed(text, span.start, span.end)
            # A short word, such as "like", says too little to be linked; "overslept" does not.
            words = text[slice(*place)]
            if span.confidence >= LEAST and (" " in words or len(words) >= LONG_WORD):
                is_event[start + place[0], start + place[1]] = True
        for a, b in things(text):
            is_event.setdefault((start + a, start + b), False)
    order = sorted(is_event, key=lambda place: (place[0], -place[1]))
    return [SpanCandidate(place, is_event[place]) for place in order]


def informative(text: str, candidate: SpanCandidate) -> bool:
    """Return whether a stretch says enough to be linked: an event that is no question, a thing.

    >>> informative("was it", SpanCandidate((0, 6), True))
    False
    """
    span = text[slice(*candidate.place)]
    words = [word for word in re.findall(r"[\w'’-]+", span.lower()) if word not in _LIGHT]
    if not candidate.event:
        return bool(words)
    return bool(words) and len(span.split()) <= LONGEST_EVENT and not _ASKS.match(span)


def _trimmed(text: str, start: int, end: int) -> Place:
    """Drop what is no part of an event: "I missed the bus because" is "missed the bus"."""
    span = text[start:end]
    subject = re.match(r"(?:(?:I|we|you|he|she|it|they|that|there)\s+)?", span, re.IGNORECASE)
    skipped = subject.end() if subject else 0
    trimmed = _JOINS.sub("", span[skipped:].rstrip(_MARKS)).rstrip(_MARKS)
    return start + skipped, start + skipped + len(trimmed)


def things(text: str) -> list[Place]:
    """Return the noun phrases of a text without their articles.

    >>> text = "The big red car is in my garage"
    >>> [text[a:b] for a, b in things(text)]
    ['big red car', 'garage']
    """
    phrases: list[Place] = []
    run: list[re.Match[str]] = []
    after = ""
    for match in [*SPAN_TOKENS.finditer(text), None]:
        if match is not None and _belongs(match[0], after, opened=bool(run)):
            run.append(match)
            after = match[0].lower()
            continue
        after = "" if match is None else match[0].lower()
        while run and not _ends(run[-1][0]):
            run.pop()
        if run and len(run) <= MOST and not (len(run) == 1 and run[0][0].lower() in _EMPTY):
            phrases.append((run[0].start(), run[-1].end()))
        run = []
    return phrases


def _belongs(word: str, after: str, *, opened: bool) -> bool:
    """Return whether a word is part of a noun phrase, by itself or by the word before it."""
    lower = word.lower()
    if lower in DETERMINERS or lower in PREPOSITIONS or lower in ADVERBS or lower in NOT_VERBS:
        return False
    if not word[0].isalpha() or "'" in word or len(word) < 3:
        return False
    readings = look_up(lower).readings
    if "v" in readings:
        # "party" and "go" are both nouns and verbs: the word before decides. Behind a noun, what
        # ends like a verb is one: "my dog barks".
        inflected = lower.endswith(("s", "ed", "ing")) and "a" not in look_up(after).readings
        open_noun = after in DETERMINERS or (opened and not inflected)
        return ("n" in readings or "a" in readings) and open_noun
    return "n" in readings or "a" in readings or (not readings and word[0].isupper())


def _ends(word: str) -> bool:
    readings = look_up(word.lower()).readings
    return "n" in readings or not readings
