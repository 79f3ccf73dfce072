"""Triples of events by a language model: which relation makes which event likelier.

The events are those that a tagger finds, so that a triple can only hold what was said, and points
at it. Every pair of them is verbalised under each relation it can stand in; the pair whose tail
gains most from its head is the triple of the relation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import numpy as np

from grice.errors import BundleError
from grice.knowledge.extraction.candidates import allowed, are_whole, candidates, worded
from grice.knowledge.extraction.cues import mentions_in, not_english
from grice.knowledge.extraction.protocol import (
    KINDS,
    RELATIONS,
    ExtractedTriple,
    Extraction,
    TripleExtractor,
    check_kinds,
)
from grice.knowledge.protocols import KnowledgeBase, TailProbabilities
from grice.models.protocols import SpanTagger
from grice.models.registry import Settings, model_kind
from grice.numeric import sigmoid
from grice.records import Triple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.knowledge.extraction.candidates import Candidate
    from grice.knowledge.extraction.clauses import EventMention
    from grice.knowledge.extraction.protocol import Exchange, Kind
    from grice.models.bundle import Bundle
    from grice.models.registry import Opener


class LikelihoodSettings(Settings, frozen=True):
    """Of a bundle of kind ``likelihood-extractor``.

    Attributes:
        parts: Knowledge that has probabilities of tails, and a tagger of events.
        weight: What a nat of gain is worth in log odds.
        bias: What is added.
        least: The confidence from which a triple is given.
        pairs: Most pairs of events looked at in a reply, the surest ones.
    """

    parts: Annotated[tuple[str, ...], msgspec.Meta(min_length=2, max_length=2)]
    weight: float
    bias: float
    least: float
    pairs: Annotated[int, msgspec.Meta(ge=1)] = 3


class _Cell(NamedTuple):
    """A pair of events under a relation."""

    pair: Candidate
    relation: str
    triple: Triple


class LikelihoodExtractor:
    """A :class:`~grice.knowledge.extraction.protocol.TripleExtractor` by likelihood."""

    def __init__(
        self,
        knowledge: TailProbabilities,
        tagger: SpanTagger,
        settings: LikelihoodSettings,
        identity: str,
    ) -> None:
        self.identity = identity
        self._knowledge = knowledge
        self._tagger = tagger
        self._settings = settings

    def extract(
        self,
        exchanges: Sequence[Exchange],
        *,
        kinds: Sequence[Kind] = KINDS,
        least: float | None = None,
    ) -> list[Extraction]:
        """Return what each reply holds, at most one triple per relation; see the protocol."""
        check_kinds(kinds)
        bound = self._settings.least if least is None else least
        mentioned = mentions_in(exchanges, self._tagger, kinds)
        cells = [list(self._cells(mentions, kinds)) for mentions, _ in mentioned]
        confidences = self._confidences([cell.triple for each in cells for cell in each])
        return [
            _extraction(exchange, mentions, cut, _best(each, confidences, bound))
            for exchange, (mentions, cut), each in zip(exchanges, mentioned, cells, strict=True)
        ]

    def _cells(self, mentions: Sequence[EventMention], kinds: Sequence[Kind]) -> Iterator[_Cell]:
        pairs = sorted(
            candidates(mentions, kinds),
            key=lambda pair: -(pair.head.confidence + pair.tail.confidence),
        )[: self._settings.pairs]
        for pair, fits, whole in zip(pairs, allowed(pairs), are_whole(pairs), strict=True):
            for place in np.flatnonzero(fits & whole):
                relation = RELATIONS[place]
                head, tail = worded(pair, relation)
                yield _Cell(pair, relation, Triple(head, relation, tail))

    def _confidences(self, triples: Sequence[Triple]) -> dict[Triple, float]:
        distinct = list(dict.fromkeys(triples))
        gains = [
            0.0 if likelihood is None else likelihood.given - likelihood.usual
            for likelihood in self._knowledge.likelihoods(distinct)
        ]
        odds = self._settings.weight * np.array(gains, np.float32) + self._settings.bias
        return dict(zip(distinct, map(float, sigmoid(odds)), strict=True))


def _best(
    cells: Sequence[_Cell], confidences: Mapping[Triple, float], least: float
) -> list[ExtractedTriple]:
    """Return the most confident triple of each relation, the first of equals."""
    best: dict[str, _Cell] = {}
    for cell in cells:
        held = best.setdefault(cell.relation, cell)
        if confidences[cell.triple] > confidences[held.triple]:
            best[cell.relation] = cell
    triples = [
        ExtractedTriple(
            head=cell.triple.head,
            relation=cell.relation,
            tail=cell.triple.tail,
            confidence=confidences[cell.triple],
            kind=cell.pair.kind,
            head_place=cell.pair.head.place,
            tail_place=cell.pair.tail.place,
        )
        for cell in best.values()
        if confidences[cell.triple] >= least
    ]
    return sorted(triples, key=lambda triple: -triple.confidence)


def _extraction(
    exchange: Exchange,
    mentions: Sequence[EventMention],
    cut: bool,  # noqa: FBT001
    triples: Sequence[ExtractedTriple],
) -> Extraction:
    own = sum(item.own for item in mentions)
    foreign = None if own else not_english(exchange.reply)
    reason = ""
    if foreign is not None:
        reason = f"the reply {foreign}"
    elif not triples:
        reason = "no two events are related" if own else "no event was found in the reply"
    flags = ("truncated",) if cut else ()
    return Extraction(tuple(triples), len(mentions), own, reason, flags)


@model_kind(
    "likelihood-extractor",
    answers="triples of a reply",
    protocol=TripleExtractor,
    settings=LikelihoodSettings,
)
def likelihood_extractor(
    bundle: Bundle, settings: LikelihoodSettings, opener: Opener
) -> LikelihoodExtractor:
    """Open the knowledge and the tagger."""
    below, events = settings.parts
    knowledge = opener.part(bundle, below, KnowledgeBase, "knowledge")
    if not isinstance(knowledge, TailProbabilities):
        raise BundleError(f"{bundle.folder}: {below} below it has no probabilities of tails")
    tagger = opener.part(bundle, events, SpanTagger, "events")
    identity = f"{bundle.identity}/{knowledge.identity}/{tagger.identity}"
    return LikelihoodExtractor(knowledge, tagger, settings, identity)
