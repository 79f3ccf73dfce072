"""Links of a reply as triples of events, which the commonsense metric judges.

A link has one of CIDER's relations and stands between stretches of text. Its relation becomes one
of ATOMIC's by the shipped mapping (``knowledge/mappings/cider-atomic2020.toml``), and its stretches
become events with their people named, as every extractor words them. Whose event the tail is
decides between the relations of PersonX and of others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.knowledge.extraction.candidates import Candidate, allowed, are_whole, worded
from grice.knowledge.extraction.clauses import CHARACTERS, event_mentions
from grice.knowledge.extraction.cues import not_english
from grice.knowledge.extraction.protocol import (
    KINDS,
    RELATIONS,
    ExtractedTriple,
    Extraction,
    TripleExtractor,
    check_kinds,
)
from grice.knowledge.mapping import find_mapping
from grice.knowledge.schema import load_schema
from grice.models.protocols import TaggedSpan
from grice.models.registry import NoSettings, dependencies_of, model_kind
from grice.records import Conversation, Span, Turn
from grice_tasks.cider.find import Wanted, read_all
from grice_tasks.cider.models import TripletModels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Literal

    from grice.knowledge.extraction.clauses import EventMention
    from grice.knowledge.extraction.protocol import Exchange, Kind
    from grice.models.bundle import Bundle
    from grice.models.registry import Opener
    from grice.text.people import Speaker
    from grice_tasks.cider.find import Found, Link

PREVIOUS, REPLY = range(2)
"""Turns of an exchange."""

BY_PERSON = {
    "Causes": ("xReact", "oReact", "xEffect", "oEffect"),
    "xWant": ("xWant", "oWant"),
}
"""Relations that ATOMIC parts by whose event the tail is: the first that the events allow."""

_SUBJECT = re.compile(r"\b(?:I|we|you|he|she|it|they|that|there)\s+$", re.IGNORECASE)


class LinkExtractor:
    """A :class:`~grice.knowledge.extraction.protocol.TripleExtractor` by links."""

    def __init__(self, models: TripletModels, identity: str) -> None:
        self.identity = f"links({identity})"
        self._models = models

    def extract(
        self,
        exchanges: Sequence[Exchange],
        *,
        kinds: Sequence[Kind] = KINDS,
        least: float | None = None,
    ) -> list[Extraction]:
        """Return what each reply holds, at most one triple per relation; see the protocol.

        The confidence is the link's: an order, no probability. Links of things, and of relations
        that ATOMIC's events do not have, give no triple.
        """
        check_kinds(kinds)
        talks = [_conversation(exchange, kinds) for exchange in exchanges]
        read = read_all(talks, self._models, Wanted(least=least))
        return [
            _extraction(exchange, talk, links, kinds)
            for exchange, talk, links in zip(exchanges, talks, read, strict=True)
        ]


def _conversation(exchange: Exchange, kinds: Sequence[Kind]) -> Conversation:
    """Return a reply behind the turn before it; what cannot be read is empty."""
    before = exchange.previous if "pair" in kinds else ""
    texts = [
        text[:CHARACTERS] if not_english(text) is None else "" for text in (before, exchange.reply)
    ]
    return Conversation("", tuple(Turn("", text) for text in texts))


def _extraction(
    exchange: Exchange, talk: Conversation, linked: Found, kinds: Sequence[Kind]
) -> Extraction:
    unread = not_english(exchange.reply)
    if unread is not None:
        return Extraction(reason=f"the reply {unread}")
    triples: dict[str, ExtractedTriple] = {}
    for link in sorted(linked.links, key=lambda read: -read.confidence):
        triple = _triple(link, talk, exchange)
        if triple is not None and triple.kind in kinds:
            triples.setdefault(triple.relation, triple)
    own = sum(event.turn == REPLY for event in linked.events)
    cut = any(len(text) > CHARACTERS for text in (exchange.reply, exchange.previous))
    return Extraction(
        tuple(triples.values()),
        len(linked.events),
        own,
        "" if triples else "no two events are linked" if own else "no event was found in the reply",
        ("truncated",) if cut else (),
    )


def _triple(link: Link, talk: Conversation, exchange: Exchange) -> ExtractedTriple | None:
    """Return a link as a triple of events; None if it is none, or not of the reply."""
    if REPLY not in (link.head_span.turn, link.tail_span.turn):
        return None
    mentions = {
        turn: list(_events_of_link(link, turn, talk, exchange)) for turn in (PREVIOUS, REPLY)
    }
    head, tail = (_nearest(mentions[span.turn], span) for span in (link.head_span, link.tail_span))
    if head is None or tail is None or head is tail:
        return None
    for relation, swapped in _relations(link.relation):
        candidate = Candidate(tail, head) if swapped else Candidate(head, tail)
        column = RELATIONS.index(relation)
        if allowed([candidate])[0, column]:
            texts = worded(candidate, relation)
            return ExtractedTriple(
                head=texts[0],
                relation=relation,
                tail=texts[1],
                confidence=link.confidence,
                kind=candidate.kind,
                head_place=candidate.head.place,
                tail_place=candidate.tail.place,
                whole=bool(are_whole([candidate])[0, column]),
            )
    return None


def _relations(relation: str) -> Iterator[tuple[str, bool]]:
    """Yield the relations of events that say what a link's does, and whether its sides change."""
    mapping = find_mapping("cider", "atomic2020")
    name = None if mapping is None else mapping.mapped.get(relation)
    if name is None:
        return
    inverse = load_schema("atomic2020")[name].inverse
    for asked in BY_PERSON.get(name, (name,)):
        if asked in RELATIONS:
            yield asked, False
        elif inverse in RELATIONS:
            yield str(inverse), True


def _events_of_link(
    link: Link, turn: int, talk: Conversation, exchange: Exchange
) -> Iterator[EventMention]:
    """Yield the events of a turn that a link stands between, each with its subject."""
    text = talk.turns[turn].text
    spans = {span for span in (link.head_span, link.tail_span) if span.turn == turn}
    tagged = []
    for span in sorted(spans, key=lambda place: place.start):
        subject = _SUBJECT.search(text[: span.start])
        start = subject.start() if subject else span.start
        tagged.append(TaggedSpan(start, span.end, "event", link.confidence))
    name: Literal["reply", "previous"] = "reply" if turn == REPLY else "previous"
    said_by: Speaker = "responder" if turn == REPLY or exchange.same_speaker else "previous"
    yield from event_mentions(text, tagged, turn=name, said_by=said_by)


def _nearest(mentions: Sequence[EventMention], span: Span) -> EventMention | None:
    """Return the event that has most of a stretch; None if none has any of it."""

    def shared(mention: EventMention) -> int:
        return min(mention.place.end, span.end) - max(mention.place.start, span.start)

    best = max(mentions, key=shared, default=None)
    return best if best is not None and shared(best) > 0 else None


@model_kind(
    "link-extractor", answers="triples of a reply", protocol=TripleExtractor, settings=NoSettings
)
def link_extractor(bundle: Bundle, _: NoSettings, opener: Opener) -> LinkExtractor:
    """Open the heads below."""
    (below,) = dependencies_of(bundle.card)
    models = opener.part(bundle, below, TripletModels, "links")
    return LinkExtractor(models, opener.fingerprint(below))
