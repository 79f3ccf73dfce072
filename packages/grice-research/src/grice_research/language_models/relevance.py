"""Relevance and commonsense context: ratings of event commonsense, DECO and ConTurE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.metrics.likelihood import likelihood
from grice.scoring.loaded import load_metric
from grice.stats import compare_correlations, correlation
from grice_research.language_models.samples import SHIPS, Place, sampled_replies
from grice_research.replies import read_replies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext
    from grice_research.language_models.samples import Candidate, Size
    from grice_research.replies import Replies
    from grice_research.rows import Row

__all__ = ["rows"]

SETS = {"deco_test": "relevance, DECO test", "conture_events": "relevance, ConTurE subset"}
COUNTS: dict[Size, int] = {"medium": 100, "large": 40}
METRICS = {
    SHIPS: "relevance",
    "ships: commonsense": "commonsense",
    "cosine with the turn before": "cosine_last_turn",
    "log length": "log_length",
}
NEUTRAL = 0.5


def rows(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    """Yield correlations of the metric ``likelihood`` and of what ships with people's ratings."""
    for name, on in SETS.items():
        whole = read_replies(context, name)
        chosen = sampled_replies(whole, COUNTS[candidate.size])
        replies = whole.only(chosen)
        columns = {candidate.row: _likelihoods(context, replies, candidate.base)}
        for row, metric in METRICS.items():
            values = context.metric_values(metric, name)
            columns[row] = [_stated(values[place]) for place in chosen]
        gap = compare_correlations(
            {row: columns[row] for row in (candidate.row, SHIPS)},
            replies.human,
            kind="spearman",
            baseline=SHIPS,
        )
        estimates = {
            row: correlation(values, replies.human, kind="spearman", interval="bca")
            for row, values in columns.items()
        }
        place = Place(candidate.on(on), context.models(), candidate, candidate.base)
        yield from place.rows("spearman", estimates, gap.comparisons[0].difference)


def _likelihoods(context: BenchContext, replies: Replies, model: str) -> list[float]:
    loaded = load_metric(likelihood, context.models(), {"model": model})
    return [_stated(judgement.value) for judgement in loaded.judge(replies.responses)]


def _stated(value: float | None) -> float:
    return NEUTRAL if value is None else value
