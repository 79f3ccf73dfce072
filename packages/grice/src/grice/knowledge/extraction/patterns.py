"""Triples read by patterns: two neighbouring events and the word that joins them.

A baseline in the manner of the ASER extractor that ACCENT (Ghazarian et al., Findings of ACL 2023)
compares its own with: events come from patterns, relations from how they are joined, and persons
are named by fixed rules. ASER finds events in parses and has a network per relation; here a tagger
finds the events and connectives tell the relation.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from grice.knowledge.extraction.protocol import (
    KINDS,
    ExtractedTriple,
    Extraction,
    Place,
    TripleExtractor,
    check_kinds,
)
from grice.models.protocols import SpanTagger
from grice.models.registry import NoSettings, encoder_reference, model_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.knowledge.extraction.protocol import Exchange, Kind
    from grice.models.bundle import Bundle
    from grice.models.protocols import TaggedSpan
    from grice.models.registry import Opener

JOINS = (
    (r"because|since|cause|cuz", "isAfter", False),
    (r"after", "isAfter", False),
    (r"before|and then|then", "isAfter", True),
    (r"so that|in order to", "xIntent", False),
    (r"so|therefore|thus", "xEffect", False),
    (r"but|although|though|however", "HinderedBy", False),
    (r"if|when|once", "xNeed", False),
    (r"while|by", "HasSubEvent", False),
)
"""Words between two events, the relation they tell, and whether the second event is the head."""
JOIN = re.compile(rf"\b(?:{'|'.join(f'({words})' for words, _, _ in JOINS)})\b", re.IGNORECASE)
"""One group for each of :data:`JOINS`."""
FEELS = re.compile(r"^Person[XY] (?:feels?|be|is|am|are) \w+$")
WANTS = re.compile(r"^Person[XY] (?:wants?|would like) ")
CONFIDENCE = 0.5
"""Of every triple: a pattern is there or not."""

_SWAPPED = {"PersonX": "PersonY", "PersonY": "PersonX"}
_SELF = {"i": "PersonX", "me": "PersonX", "my": "PersonX's", "you": "PersonY", "your": "PersonY's"}
_WORD = re.compile(r"\b(?:i|me|my|you|your)\b", re.IGNORECASE)
_BE = re.compile(r"(?<=\w)['’](?:m|re)\b")


class Joined(NamedTuple):
    """Two events as they were said, with their places."""

    head: str
    relation: str
    tail: str
    places: tuple[Place, Place]

    @property
    def kind(self) -> Kind:
        """Whether the reply says both."""
        return "single" if self.places[0].turn == self.places[1].turn else "pair"


class PatternExtractor:
    """A :class:`~grice.knowledge.extraction.protocol.TripleExtractor` by connectives."""

    def __init__(self, tagger: SpanTagger) -> None:
        self.identity = f"patterns({tagger.identity})"
        self._tagger = tagger

    def extract(
        self,
        exchanges: Sequence[Exchange],
        *,
        kinds: Sequence[Kind] = KINDS,
        least: float | None = None,
    ) -> list[Extraction]:
        """Return what each reply holds, at most one triple per relation; see the protocol.

        Every triple has the confidence 0.5, so that a larger ``least`` leaves none.
        """
        check_kinds(kinds)
        texts = list(
            dict.fromkeys(
                text for exchange in exchanges for text in (exchange.reply, exchange.previous)
            )
        )
        spans = dict(zip(texts, self._tagger.tag(texts), strict=True))
        extractions = []
        for exchange in exchanges:
            reply, before = spans[exchange.reply], spans[exchange.previous]
            joined = [*_within(exchange.reply, reply), *_across(exchange, before, reply)]
            triples = {
                each.relation: each
                for each in map(_triple, reversed(joined))
                if each.kind in kinds and (least is None or least <= CONFIDENCE)
            }
            ordered = tuple(reversed(triples.values()))
            reason = "" if ordered else "no two events are joined by a word that relates them"
            extractions.append(Extraction(ordered, len(reply) + len(before), len(reply), reason))
        return extractions


def persons(head: str, tail: str, kind: Kind) -> tuple[str, str]:
    """Return head and tail with their persons named, by the rules of ACCENT's ASER baseline.

    Whoever the tail calls I, or else you, is PersonX. In a pair the two turns have different
    speakers, so that I and you change places in the head.

    >>> persons("I missed my bus", "you had to wait", "single")
    ("PersonY missed PersonY's bus", 'PersonX had to wait')
    >>> persons("you look tired", "I'm tired", "pair")
    ('PersonX look tired', 'PersonX be tired')
    """
    spoken = {word.lower() for word in _WORD.findall(tail)}
    first = bool(spoken & {"i", "me", "my"}) or not spoken & {"you", "your"}
    return _named(head, first == (kind == "single")), _named(tail, first)


def _named(text: str, first: bool) -> str:  # noqa: FBT001 - who PersonX is, not a mode
    def name(match: re.Match[str]) -> str:
        # Letters of other alphabets match without regard to case, too: a dotless i, a long s.
        given = _SELF.get(match[0].lower(), match[0])
        return given if first else _swap(given)

    return _WORD.sub(name, _BE.sub(" be", text))


def _swap(text: str) -> str:
    return re.sub("Person[XY]", lambda match: _SWAPPED[match[0]], text)


def _within(text: str, spans: Sequence[TaggedSpan]) -> Iterator[Joined]:
    for first, other in pairwise(spans):
        word = JOIN.search(text[first.end : other.start])
        if word:
            yield _joined(word, text, first, text, other, "reply")


def _across(
    exchange: Exchange, before: Sequence[TaggedSpan], reply: Sequence[TaggedSpan]
) -> Iterator[Joined]:
    if before and reply:
        word = JOIN.match(exchange.reply[: reply[0].start].strip())
        if word:
            yield _joined(word, exchange.previous, before[-1], exchange.reply, reply[0], "previous")


def _joined(
    word: re.Match[str],
    text: str,
    first_span: TaggedSpan,
    other_text: str,
    other: TaggedSpan,
    turn: Literal["reply", "previous"],
) -> Joined:
    _, relation, turned = JOINS[(word.lastindex or 1) - 1]
    first = text[first_span.start : first_span.end], Place(turn, first_span.start, first_span.end)
    second = other_text[other.start : other.end], Place("reply", other.start, other.end)
    head, tail = (second, first) if turned else (first, second)
    return Joined(head[0], relation, tail[0], (head[1], tail[1]))


def _triple(joined: Joined) -> ExtractedTriple:
    head, tail = persons(joined.head, joined.tail, joined.kind)
    relation = joined.relation
    if relation == "xEffect":
        relation = "xReact" if FEELS.match(tail) else "xWant" if WANTS.match(tail) else relation
        if head.startswith("PersonY") and tail.startswith("PersonX"):
            # The tail is about somebody else than the head, who is PersonX in ATOMIC.
            relation, head, tail = f"o{relation[1:]}", _swap(head), _swap(tail)
    return ExtractedTriple(
        head=head,
        relation=relation,
        tail=tail,
        confidence=CONFIDENCE,
        kind=joined.kind,
        head_place=joined.places[0],
        tail_place=joined.places[1],
    )


@model_kind(
    "pattern-extractor", answers="triples of a reply", protocol=TripleExtractor, settings=NoSettings
)
def pattern_extractor(bundle: Bundle, _: NoSettings, opener: Opener) -> PatternExtractor:
    """Open the patterns, with the tagger whose events they read."""
    tagger = opener.part(bundle, encoder_reference(bundle.card), SpanTagger, "events")
    return PatternExtractor(tagger)
