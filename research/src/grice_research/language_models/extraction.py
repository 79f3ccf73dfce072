"""Extraction of event triples from replies: DECO test, every relation asked of every reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.knowledge.extraction.protocol import RELATIONS, TripleExtractor
from grice_research.accent import exchange_of
from grice_research.benches.deco_extraction import COPYING, baselines, cells_of, read_triples
from grice_research.extraction import extraction_differences, extraction_measures
from grice_research.language_models.samples import LANGUAGE_MODEL, SHIPS, Place
from grice_research.replies import read_replies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext
    from grice_research.rows import Row

__all__ = ["rows"]

MODEL, SHIPPED = "bundle:extraction-medium", "bundle:extraction"
ON = "extraction, DECO test"


def rows(context: BenchContext) -> Iterator[Row]:
    """Yield precision, recall, F1 and BLEU-2."""
    replies = read_replies(context, "deco_test")
    exchanges = [exchange_of(response) for response in replies.responses]
    models = context.models()
    read = {
        name: read_triples(models.open(reference, TripleExtractor), exchanges)
        for name, reference in {LANGUAGE_MODEL: MODEL, SHIPS: SHIPPED}.items()
    }
    copied = baselines(exchanges)
    read |= {name: copied[name] for name in ("always yes, copying", COPYING)}
    cells = {name: cells_of(triples, replies) for name, triples in read.items()}
    gaps = extraction_differences(cells[LANGUAGE_MODEL], cells[SHIPS], RELATIONS)
    measures_of = {name: extraction_measures(each, RELATIONS) for name, each in cells.items()}
    place = Place(ON, models, MODEL)
    for measure, gap in gaps.items():
        values = {name: measures[measure] for name, measures in measures_of.items()}
        yield from place.rows(measure, values, gap)
