"""Tails of ATOMIC-2020's test queries, written after examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.knowledge.protocols import KnowledgeBase
from grice_research.benches.atomic2020 import (
    asked_tails,
    frequent_tails,
    read_queries,
    tail_likeness,
)
from grice_research.language_models.samples import SHIPS, Place, sampled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext
    from grice_research.language_models.samples import Candidate, Size
    from grice_research.rows import Row

__all__ = ["rows"]

SHIPPED = "bundle:comet"
COUNTS: dict[Size, int] = {"medium": 80, "large": 30}
ON = "tails, ATOMIC-2020 test queries, sample"
PRINTED = "COMET-BART, greedy"
MEASURES = ("bleu2", "rouge_l", "exact_match")


def rows(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    """Yield likeness of the best tail to those of people."""
    model = candidate.bundle("knowledge")
    queries = read_queries(context.folder)
    asked = sampled(queries, COUNTS[candidate.size], lambda query: repr(query[:2]))
    models = context.models()
    tails = {
        name: asked_tails(models.open(reference, KnowledgeBase), asked, 1)
        for name, reference in {candidate.row: model, SHIPS: SHIPPED}.items()
    }
    tails["most frequent tail of the relation"] = frequent_tails(context.folder, asked)
    tails[PRINTED] = [list(query.greedy) for query in asked]
    likeness = {name: tail_likeness(asked, given) for name, given in tails.items()}
    place = Place(candidate.on(ON), models, candidate, model)
    for measure in MEASURES:
        estimates = {name: values[measure] for name, values in likeness.items()}
        yield from place.rows(measure, estimates, printed=PRINTED)
