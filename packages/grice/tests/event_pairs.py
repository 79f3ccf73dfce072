"""An extractor for tests: pairs the events of a tagger; a typing says how two are related.

Each relation is read at most once, at its most probable pair, and each pair of places at most once,
under its most probable relation.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

from grice.knowledge.events import MAX_EVENTS, Place
from grice.knowledge.extraction import (
    ABOUT_ANYONE,
    KINDS,
    MAX_CHARACTERS,
    ExtractedTriple,
    Extraction,
)
from grice.text.events import read_events, triple_texts

BELIEVED = 0.1
"""Probability from which a relation between two events is believed."""


class Candidate(NamedTuple):
    head: str
    tail: str
    head_place: Place
    tail_place: Place

    @property
    def kind(self):
        return "single" if self.head_place.turn == self.tail_place.turn else "pair"


class EventPairs:
    def __init__(self, tagger, typing):
        self.identity = f"pairs({tagger.identity}, {typing.identity})"
        self._tagger = tagger
        self._typing = typing

    def extract(self, exchanges, *, kinds=KINDS, least=None):
        return [self._extract(exchange, kinds, least or BELIEVED) for exchange in exchanges]

    def _extract(self, exchange, kinds, threshold):
        by = "responder" if exchange.same_speaker else "previous"
        turns = [(exchange.reply, "reply", "responder")]
        if "pair" in kinds and exchange.previous:
            turns.append((exchange.previous, "previous", by))
        events, is_cut = [], False
        for text, turn, said_by in turns:
            [spans] = self._tagger.tag([text[:MAX_CHARACTERS]])
            surest = sorted(sorted(spans, key=lambda span: -span.confidence)[:MAX_EVENTS])
            is_cut |= len(text) > MAX_CHARACTERS or len(spans) > MAX_EVENTS
            places = [(span.start, span.end) for span in surest]
            read = read_events(text[:MAX_CHARACTERS], places, said_by=said_by)
            events += [
                (event, Place(turn, *place))
                for event, place in zip(read, places, strict=True)
                if event.words
            ]
        triples = self._triples(events, kinds, threshold)
        reason = "no two events are related" if events else "no event was found"
        own = sum(place.turn == "reply" for _, place in events)
        flags = ("truncated",) if is_cut else ()
        return Extraction(tuple(triples), len(events), own, "" if triples else reason, flags)

    def _triples(self, events, kinds, threshold):
        candidates = [
            Candidate(*triple_texts(head, tail), head_place, tail_place)
            for (head, head_place), (tail, tail_place) in permutations(events, 2)
            if "reply" in (head_place.turn, tail_place.turn)
        ]
        candidates = [c for c in candidates if c.head and c.tail and c.head != c.tail]
        candidates = [c for c in candidates if c.kind in kinds]
        pairs = list(dict.fromkeys((c.head, c.tail) for c in candidates))
        probabilities = dict(zip(pairs, self._typing.relations(pairs), strict=True))
        ranked = sorted(
            (
                (probabilities[c.head, c.tail][relation], c, relation)
                for c in candidates
                for relation in self._typing.typed
                if relation in ABOUT_ANYONE
                or c.tail.startswith("PersonY" if relation.startswith("o") else "PersonX")
            ),
            key=lambda entry: -entry[0],
        )
        triples, used = [], set()
        for probability, c, relation in ranked:
            places = frozenset((c.head_place, c.tail_place))
            if probability >= threshold and not used & {relation, places}:
                used |= {relation, places}
                triples.append(
                    ExtractedTriple(
                        head=c.head,
                        relation=relation,
                        tail=c.tail,
                        confidence=probability,
                        kind=c.kind,
                        head_place=c.head_place,
                        tail_place=c.tail_place,
                    )
                )
        return triples
