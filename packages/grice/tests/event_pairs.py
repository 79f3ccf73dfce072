"""Triples read by pairing the events that a tagger finds: one network says how two are related.

ACCENT (Ghazarian et al., Findings of ACL 2023) has a fine-tuned T5 write its triples, one relation
after the other; here every pair of events is asked once which of the relations it stands in.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from grice.knowledge.events import MAX_EVENTS, Place
from grice.knowledge.extraction import (
    ABOUT_ANYONE,
    KINDS,
    MAX_CHARACTERS,
    ExtractedTriple,
    Extraction,
)
from grice.text.events import Event, read_events, triple_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.extraction import Exchange, TripleKind
    from grice.models.protocols import SpanTagger, TaggedSpan

__all__ = ["EventPairs", "Typing"]

BELIEVED = 0.1
"""Probability from which a relation between two events is believed."""

NO_EVENT = "no event was found"
NOT_RELATED = "no two events are related"


class Typing(Protocol):
    """Says how two events may be related; see :class:`grice.knowledge.plausibility.TripleHead`."""

    identity: str
    typed: tuple[str, ...]

    def relations(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, float]]:
        """Return for each head and tail the probability of every relation and of none."""
        ...


class EventMention(NamedTuple):
    """An event and where it was said."""

    event: Event
    place: Place

    @property
    def own(self) -> bool:
        """Whether the reply says it."""
        return self.place.turn == "reply"


class Candidate(NamedTuple):
    """A head and a tail in ATOMIC's wording, with their places."""

    head: str
    tail: str
    head_place: Place
    tail_place: Place

    @property
    def kind(self) -> TripleKind:
        """Whether the reply says both."""
        return "single" if self.head_place.turn == self.tail_place.turn else "pair"


class EventPairs:
    """A :class:`~grice.knowledge.extraction.TripleExtractor` out of a tagger and a typing.

    Each relation is read at most once, at its most probable pair, and each pair of places at
    most once, under its most probable relation.

    Args:
        tagger: Finds events.
        typing: Says how two events may be related.
    """

    def __init__(self, tagger: SpanTagger, typing: Typing) -> None:
        self.identity = f"pairs({tagger.identity}, {typing.identity})"
        self._tagger = tagger
        self._typing = typing

    def extract(
        self,
        exchanges: Sequence[Exchange],
        *,
        kinds: Sequence[TripleKind] = KINDS,
        least: float | None = None,
    ) -> list[Extraction]:
        """Return what each reply holds; see the protocol."""
        mentions, cut = self._mentions(exchanges, with_previous="pair" in kinds)
        candidates = [
            [candidate for candidate in _candidates(events) if candidate.kind in kinds]
            for events in mentions
        ]
        pairs = list(dict.fromkeys((c.head, c.tail) for each in candidates for c in each))
        probabilities = dict(zip(pairs, self._typing.relations(pairs), strict=True))
        threshold = BELIEVED if least is None else least
        extractions = []
        for each, events, shortened in zip(candidates, mentions, cut, strict=True):
            triples = _chosen(each, probabilities, self._typing.typed, threshold)
            reason = "" if triples else NOT_RELATED if events else NO_EVENT
            flags = ("truncated",) if shortened else ()
            own = sum(event.own for event in events)
            extractions.append(Extraction(tuple(triples), len(events), own, reason, flags))
        return extractions

    def _mentions(
        self, exchanges: Sequence[Exchange], *, with_previous: bool
    ) -> tuple[list[list[EventMention]], list[bool]]:
        """Return the events of each reply and the turn before, and whether some were left out."""
        read = [
            [exchange.reply, exchange.previous]
            if with_previous and exchange.previous
            else [exchange.reply]
            for exchange in exchanges
        ]
        texts = list(dict.fromkeys(text for each in read for text in each))
        tagged = self._tagger.tag([text[:MAX_CHARACTERS] for text in texts])
        spans = dict(zip(texts, tagged, strict=True))
        mentions = []
        for exchange, (reply, *previous) in zip(exchanges, read, strict=True):
            events = _events(reply, spans[reply], "reply", "responder")
            by: Literal["responder", "previous"] = (
                "responder" if exchange.same_speaker else "previous"
            )
            for turn in previous:
                events += _events(turn, spans[turn], "previous", by)
            mentions.append(events)
        cut = [
            any(len(t) > MAX_CHARACTERS or len(spans[t]) > MAX_EVENTS for t in each)
            for each in read
        ]
        return mentions, cut


def _events(
    text: str,
    spans: tuple[TaggedSpan, ...],
    turn: Literal["reply", "previous"],
    said_by: Literal["responder", "previous"],
) -> list[EventMention]:
    surest = sorted(sorted(spans, key=lambda span: -span.confidence)[:MAX_EVENTS])
    places = [(span.start, span.end) for span in surest]
    events = read_events(text[:MAX_CHARACTERS], places, said_by=said_by)
    return [
        EventMention(event, Place(turn, start, end))
        for event, (start, end) in zip(events, places, strict=True)
        if event.words
    ]


def _candidates(events: Sequence[EventMention]) -> list[Candidate]:
    """Return all ordered pairs of different events of which the reply says at least one."""
    candidates = []
    for head, tail in permutations(events, 2):
        if head.own or tail.own:
            texts = triple_texts(head.event, tail.event)
            if all(texts) and texts[0] != texts[1]:
                candidates.append(Candidate(*texts, head.place, tail.place))
    return candidates


def _chosen(
    candidates: Sequence[Candidate],
    probabilities: dict[tuple[str, str], dict[str, float]],
    relations: tuple[str, ...],
    threshold: float,
) -> list[ExtractedTriple]:
    """Return at most one triple per relation and per pair of events, the most probable first."""
    ranked = sorted(
        (
            (probabilities[candidate.head, candidate.tail][relation], candidate, relation)
            for candidate in candidates
            for relation in relations
            if _fits(relation, candidate.tail)
        ),
        key=lambda entry: -entry[0],
    )
    triples: list[ExtractedTriple] = []
    used: set[str | frozenset[Place]] = set()
    for probability, candidate, relation in ranked:
        places = frozenset((candidate.head_place, candidate.tail_place))
        if probability < threshold:
            break
        if relation not in used and places not in used:
            used |= {relation, places}
            triples.append(
                ExtractedTriple(
                    head=candidate.head,
                    relation=relation,
                    tail=candidate.tail,
                    confidence=probability,
                    kind=candidate.kind,
                    head_place=candidate.head_place,
                    tail_place=candidate.tail_place,
                )
            )
    return triples


def _fits(relation: str, tail: str) -> bool:
    if relation in ABOUT_ANYONE:
        return True
    return tail.startswith("PersonY" if relation.startswith("o") else "PersonX")
