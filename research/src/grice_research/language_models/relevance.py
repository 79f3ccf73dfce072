"""Relevance and commonsense context: ratings of event commonsense, DECO and ConTurE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.stats import compare_correlations, correlation
from grice_research.language_models.samples import LANGUAGE_MODEL, SHIPS, Place
from grice_research.replies import read_replies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext
    from grice_research.rows import Row

__all__ = ["rows"]

MODEL = "model:medium"
SETS = {"deco_test": "relevance, DECO test", "conture_events": "relevance, ConTurE subset"}
METRICS = {
    LANGUAGE_MODEL: "likelihood",
    SHIPS: "relevance",
    "ships: commonsense": "commonsense",
    "cosine with the turn before": "cosine_last_turn",
    "log length": "log_length",
}
NEUTRAL = 0.5


def rows(context: BenchContext) -> Iterator[Row]:
    """Yield correlations of the metric ``likelihood`` and of what ships with people's ratings."""
    for name, on in SETS.items():
        human = read_replies(context, name).human
        columns = {
            row: [
                NEUTRAL if value is None else value for value in context.metric_values(metric, name)
            ]
            for row, metric in METRICS.items()
        }
        gap = compare_correlations(
            {row: columns[row] for row in (LANGUAGE_MODEL, SHIPS)},
            human,
            kind="spearman",
            baseline=SHIPS,
        )
        estimates = {
            row: correlation(values, human, kind="spearman", interval="bca")
            for row, values in columns.items()
        }
        place = Place(on, context.models(), MODEL)
        yield from place.rows("spearman", estimates, gap.comparisons[0].difference)
