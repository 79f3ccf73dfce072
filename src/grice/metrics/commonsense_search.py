"""Commonsense on triples found by search: a baseline for the extractor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grice.metrics.commonsense as whole
from grice.metrics.declaration import Example, metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.extraction import TripleExtractor
    from grice.knowledge.lookup import Shelf
    from grice.knowledge.plausibility import TripleHead
    from grice.knowledge.protocols import KnowledgeBase
    from grice.records import Judgement, Response
    from grice.runtime.protocols import Encoder, PairClassifier

__all__ = ["commonsense_search"]

MODELS = whole.MODELS | {"extractor": "bundle:search"}


@metric(
    "commonsense_search",
    version="1",
    summary="Are known triples that hold words of the reply plausible? (a baseline)",
    judges="response",
    models=MODELS,
    source=(
        "A baseline: the search of a knowledge base that ACCENT (Ghazarian et al., Findings of "
        "ACL 2023) compares its extractor with."
    ),
    example=Example(["What do you do?", "I was fired because I made a mistake at work."], 0.0, 1.0),
)
def commonsense_search(
    responses: Sequence[Response],
    *,
    extractor: TripleExtractor,
    plausibility: TripleHead,
    knowledge: KnowledgeBase | Shelf,
    encoder: Encoder,
    embedder: Encoder,
    relevance: PairClassifier,
    share: float = 0.0,
) -> list[Judgement]:
    """Return the mean plausibility of the triples that a search finds.

    Args:
        share: Share of the reply's fit in the score, as in ``commonsense``; 0 leaves the triples
            alone.
    """
    judged: list[Judgement] = whole.commonsense.function(  # type: ignore[assignment]
        responses,
        extractor=extractor,
        plausibility=plausibility,
        knowledge=knowledge,
        encoder=encoder,
        embedder=embedder,
        relevance=relevance,
        share=share,
    )
    return judged
