"""Extraction of event triples from replies: DECO test, every relation asked of every reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.knowledge.extraction.protocol import RELATIONS, TripleExtractor
from grice_research.accent import exchange_of
from grice_research.benches.deco_extraction import COPYING, baselines, cells_of, read_triples
from grice_research.extraction import extraction_differences, extraction_measures
from grice_research.language_models.samples import SHIPS, Place, sampled_replies
from grice_research.replies import read_replies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext
    from grice_research.language_models.samples import Candidate, Size
    from grice_research.rows import Row

__all__ = ["rows"]

SHIPPED = "bundle:extraction"
COUNTS: dict[Size, int] = {"medium": 100, "large": 20}
ON = "extraction, DECO test"


def rows(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    """Yield precision, recall, F1 and BLEU-2."""
    bundle = candidate.bundle("extraction")
    whole = read_replies(context, "deco_test")
    replies = whole.only(sampled_replies(whole, COUNTS[candidate.size]))
    exchanges = [exchange_of(response) for response in replies.responses]
    models = context.models()
    read = {
        name: read_triples(models.open(reference, TripleExtractor), exchanges)
        for name, reference in {candidate.row: bundle, SHIPS: SHIPPED}.items()
    }
    copied = baselines(exchanges)
    read |= {name: copied[name] for name in ("always yes, copying", COPYING)}
    cells = {name: cells_of(triples, replies) for name, triples in read.items()}
    gaps = extraction_differences(cells[candidate.row], cells[SHIPS], RELATIONS)
    measures_of = {name: extraction_measures(each, RELATIONS) for name, each in cells.items()}
    place = Place(candidate.on(ON), models, candidate, bundle)
    for measure, gap in gaps.items():
        values = {name: measures[measure] for name, measures in measures_of.items()}
        yield from place.rows(measure, values, gap)
