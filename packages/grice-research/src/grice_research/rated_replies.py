"""The 600 rated DailyDialog replies: columns of scores over them, as rows of a bench.

Half were written by a generator and half by people, who answer far better: over all of them, who
wrote a reply explains as much as a metric. So every figure is given three times, and the trivial
baselines include an oracle that knows the writer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from grice.errors import InputError
from grice.stats import compare_correlations, partial_correlation, williams_t
from grice.stats.correlations import correlation_value
from grice_research.context import Skipped
from grice_research.measures import measured, paired_difference
from grice_research.published import load_bench
from grice_research.rows import Row
from grice_research.surface import complete

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.evaluation.datasets import Rated
    from grice.stats.estimate import Estimate
    from grice_research.context import BenchContext
    from grice_research.published import Table

    Values = Sequence[float | None]

__all__ = [
    "ASPECT",
    "SETS",
    "baseline_rows",
    "blended",
    "our_rows",
    "printed_rows",
    "test_row",
]

ASPECT = "overall"
SETS = {"generated": "replies_generated", "human-written": "replies_human", "all": "replies_600"}
"""Name of the set in the rated sets, by what its rows are called."""

MEASURES: tuple[Literal["pearson", "spearman"], ...] = ("pearson", "spearman")
PUBLISHED = "predictive_engagement", "table 3.5"


def blended(columns: Sequence[Values]) -> list[float | None]:
    """Return the mean of columns item by item; None where one has no value."""
    means: list[float | None] = []
    for values in zip(*columns, strict=True):
        given = [value for value in values if value is not None]
        means.append(sum(given) / len(given) if len(given) == len(values) else None)
    return means


def printed_rows(
    context: BenchContext, systems: Sequence[str], sets: Sequence[str]
) -> Iterator[Row]:
    """Yield the printed figures of table 3.5, each beside what the released scores give."""
    table = _table()
    columns, rows = table.columns(), table.rows()
    for system in systems:
        for column, cell in zip(columns, rows[system], strict=True):
            label = next(key for key, name in SETS.items() if column.on.startswith(name))
            if cell is None or label not in sets:
                continue
            source = str(table.recomputed[system])
            estimate, signature = context.by_release(source, column.on, column.measure)
            yield Row(
                row=f"{system} {label}",
                measure=column.measure,
                estimate=estimate,
                kind="printed",
                published=cell.value,
                rounding=0.5 * 10**-cell.decimals + 1e-9,
                why="the authors' scores of each reply against the mean of its three ratings",
                signature=signature,
            )


def our_rows(
    context: BenchContext, name: str, metrics: Sequence[str], label: str, *, beside: str = ""
) -> Iterator[Row]:
    """Yield a metric, or the mean of several, on one of the sets: correlations, and given length.

    Args:
        context: Scores the replies.
        name: What the rows are called.
        metrics: Names of the metrics.
        label: A key of :data:`SETS`.
        beside: The printed system whose figures they are set beside.
    """
    rated = context.rated(SETS[label])
    values = blended([context.metric_values(metric, SETS[label]) for metric in metrics])
    signature = "+".join(context.grader(metric)[1][metric] for metric in metrics)
    warned = "; ".join(filter(None, (context.trained(metric, SETS[label]) for metric in metrics)))
    for measure in MEASURES:
        yield Row(
            row=f"{name} {label}",
            measure=measure,
            estimate=measured(measure, values, rated, ASPECT),
            kind="ours",
            published=_published(beside, label, measure) if beside else None,
            beside=f"{beside} {label}" if beside else "",
            difference=_difference(context, values, beside, label, measure) if beside else None,
            why=warned,
            signature=f"{signature}|on:{rated.fingerprint}",
        )
    yield Row(
        row=f"{name} {label}",
        measure="spearman given length",
        estimate=partial_correlation(
            values, rated.human(ASPECT), [_lengths(rated)], kind="spearman"
        ),
        kind="ours",
        why="what is left with the logarithm of the reply's characters held constant",
        signature=f"{signature}|on:{rated.fingerprint}",
    )


def test_row(
    context: BenchContext,
    name: str,
    metrics: Sequence[str],
    label: str,
    *,
    against: str,
    called: str,
) -> Iterator[Row]:
    """Yield how much better a metric correlates than released scores, tested on the same replies.

    Args:
        context: Scores the replies.
        name: What the rows are called.
        metrics: Names of the metrics.
        label: A key of :data:`SETS`.
        against: A released source.
        called: What that is called.
    """
    rated = context.rated(SETS[label])
    human = rated.human(ASPECT)
    ours = blended([context.metric_values(metric, SETS[label]) for metric in metrics])
    theirs = context.released_values(against, SETS[label])
    for measure in MEASURES:
        compared = compare_correlations(
            {name: ours, called: theirs},
            human,
            kind=measure,
            baseline=called,
        ).comparisons[0]
        (a, b, c), _ = complete({"human": human, "ours": ours, "theirs": theirs}, None)
        formula = williams_t(
            correlation_value(b, a, measure),
            correlation_value(c, a, measure),
            correlation_value(b, c, measure),
            len(a),
        )
        yield Row(
            row=f"{name} {label}",
            measure=f"{measure} less that of {called}",
            estimate=compared.difference,
            kind="ours",
            why=(
                f"{compared.verdict}; permutation p {compared.p_value:.4f}, Williams' t "
                f"{formula.statistic:.2f}, p {formula.p_value:.4f}"
            ),
        )


def baseline_rows(context: BenchContext, label: str) -> Iterator[Row]:
    """Yield what knows nothing of dialogue: length, likeness, and who wrote the reply."""
    rated = context.rated(SETS[label])
    columns: dict[str, Values] = {
        "log characters": _lengths(rated),
        "cosine": context.metric_values("cosine_last_turn", SETS[label]),
    }
    writers = [float(item.system == "human") for item in rated.items]
    if len(set(writers)) > 1:
        columns["oracle: who wrote it"] = writers
    for name, values in columns.items():
        for measure in MEASURES:
            yield Row(
                row=f"{name} {label}",
                measure=measure,
                estimate=measured(measure, values, rated, ASPECT),
                kind="baseline",
            )


def _lengths(rated: Rated) -> list[float]:
    return [math.log1p(len(item.conversation.turns[-1].text)) for item in rated.items]


def _difference(
    context: BenchContext,
    values: Values,
    system: str,
    label: str,
    measure: Literal["pearson", "spearman"],
) -> Estimate | None:
    """Return how far a column is above the released scores of a system; None if they are away."""
    try:
        theirs = context.released_values(str(_table().recomputed[system]), SETS[label])
        return paired_difference(measure, values, theirs, context.rated(SETS[label]), ASPECT)
    except InputError:
        return None


def _table() -> Table:
    return next(table for table in load_bench(PUBLISHED[0]).tables if table.id == PUBLISHED[1])


def _published(system: str, label: str, measure: str) -> float:
    table = _table()
    for column, cell in zip(table.columns(), table.rows()[system], strict=True):
        if column.on.startswith(SETS[label]) and column.measure == measure and cell is not None:
            return cell.value
    raise Skipped(f"{PUBLISHED[1]} has no {measure} of {system} on {label}")
