"""Commonsense on triples read by connectives: a baseline for the extractor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grice.metrics.commonsense as whole
from grice.metrics.declaration import Example, metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.lookup import Shelf
    from grice.knowledge.plausibility import TripleHead
    from grice.knowledge.protocols import KnowledgeBase
    from grice.records import Judgement, Response
    from grice.runtime.protocols import Encoder, PairClassifier, SpanTagger

__all__ = ["commonsense_patterns"]

MODELS = {"tagger": "bundle:events"} | {
    name: reference for name, reference in whole.MODELS.items() if name != "extractor"
}


@metric(
    "commonsense_patterns",
    version="1",
    summary="Are events joined by because, so or but plausibly related? (a baseline)",
    judges="response",
    models=MODELS,
    source=(
        "A baseline: an extractor in the manner of ASER, as ACCENT (Ghazarian et al., Findings of "
        "ACL 2023) compares its own with."
    ),
    example=Example(["What do you do?", "I was fired because I made a mistake at work."], 0.0, 1.0),
)
def commonsense_patterns(
    responses: Sequence[Response],
    *,
    tagger: SpanTagger,
    plausibility: TripleHead,
    knowledge: KnowledgeBase | Shelf,
    encoder: Encoder,
    embedder: Encoder,
    relevance: PairClassifier,
    share: float = 0.0,
) -> list[Judgement]:
    """Return the mean plausibility of the triples that connectives tell.

    Args:
        share: Share of the reply's fit in the score, as in ``commonsense``; 0 leaves the triples
            alone.
    """
    from grice.knowledge.patterns import PatternExtractor

    judged: list[Judgement] = whole.commonsense.function(  # type: ignore[assignment]
        responses,
        extractor=PatternExtractor(tagger),
        plausibility=plausibility,
        knowledge=knowledge,
        encoder=encoder,
        embedder=embedder,
        relevance=relevance,
        share=share,
    )
    return judged
