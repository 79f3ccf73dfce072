"""Rows on whole conversations: metric, baselines and released scores against people's ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from grice.errors import InputError
from grice.stats import compare_correlations, correlation
from grice_research.measures import measured, paired_difference
from grice_research.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.stats.estimate import Estimate
    from grice_research.context import BenchContext
    from grice_research.rows import Kind

__all__ = ["Aspect", "rows"]

MEASURES: tuple[Literal["spearman", "pearson"], ...] = ("spearman", "pearson")
METRIC = "coherence"
BASELINES = ("mean_user_words", "mean_adjacent_cosine", "mean_cosine_to_user", "turn_count")


class Aspect(NamedTuple):
    """A human aspect: what rows call it, its name in the set, and DEAM's printed Spearman."""

    called: str
    name: str
    printed: float


def rows(context: BenchContext, name: str, aspects: Sequence[Aspect]) -> Iterator[Row]:
    """Yield ours, the baselines and DEAM's released scores, over all and within each system."""
    columns: dict[str, Sequence[float | None]] = {METRIC: context.metric_values(METRIC, name)}
    for baseline in BASELINES:
        columns[baseline] = context.metric_values(baseline, name)
    columns["DEAM"] = context.released_values("deam", name)
    for aspect in aspects:
        for measure in MEASURES:
            yield from _over_all(context, name, aspect, measure, columns)
        yield from _above(context, name, aspect, columns)
        yield from _within(context, name, aspect, columns)


def _over_all(
    context: BenchContext,
    name: str,
    aspect: Aspect,
    measure: Literal["pearson", "spearman"],
    columns: Mapping[str, Sequence[float | None]],
) -> Iterator[Row]:
    rated = context.rated(name)
    printed = aspect.printed if measure == "spearman" else None
    for column, values in columns.items():
        if all(value is None for value in values):
            continue
        compared = column == METRIC and printed is not None
        difference = _difference(context, name, aspect, measure, columns) if compared else None
        yield Row(
            row=f"{column} {aspect.called}",
            measure=measure,
            estimate=measured(measure, values, rated, aspect.name),
            kind=_kind(column),
            published=None if column in BASELINES else printed,
            beside="DEAM" if compared else "",
            difference=difference,
            signature=_signature(context, column, name),
        )


def _difference(
    context: BenchContext,
    name: str,
    aspect: Aspect,
    measure: Literal["pearson", "spearman"],
    columns: Mapping[str, Sequence[float | None]],
) -> Estimate:
    """Return how far ours is above DEAM's released scores on the same conversations."""
    ours, theirs = columns[METRIC], columns["DEAM"]
    return paired_difference(measure, ours, theirs, context.rated(name), aspect.name)


def _above(
    context: BenchContext, name: str, aspect: Aspect, columns: Mapping[str, Sequence[float | None]]
) -> Iterator[Row]:
    """Yield how far ours is above each trivial baseline and DEAM on the same conversations."""
    human = context.rated(name).human(aspect.name)
    for other, values in columns.items():
        if other == METRIC or all(value is None for value in values):
            continue
        # The other one is the baseline, so that the difference is ours less its.
        both = {METRIC: columns[METRIC], other: values}
        compared = compare_correlations(
            both, human, kind="spearman", baseline=other, interval="percentile"
        )
        (comparison,) = compared.comparisons
        yield Row(
            row=f"{METRIC} less {other} {aspect.called}",
            measure="difference of spearman",
            estimate=comparison.difference,
            kind="ours",
            why=f"{comparison.test}, p {comparison.p_value:.3f}",
            signature=_signature(context, METRIC, name),
        )


def _within(
    context: BenchContext, name: str, aspect: Aspect, columns: Mapping[str, Sequence[float | None]]
) -> Iterator[Row]:
    """Yield figures within each system: most of the whole is telling people from chatbots."""
    rated = context.rated(name)
    human = rated.human(aspect.name)
    systems = sorted({item.system for item in rated.items if item.system})
    for system in systems:
        places = [i for i, item in enumerate(rated.items) if item.system == system]
        for column in (METRIC, "mean_user_words", "DEAM"):
            try:
                estimate = correlation(
                    [columns[column][i] for i in places],
                    [human[i] for i in places],
                    kind="spearman",
                )
            except InputError:
                continue  # a column or ratings that do not differ within the system
            yield Row(
                row=f"{column} {aspect.called}",
                measure="spearman",
                estimate=estimate,
                kind=_kind(column),
                on=f"{system} alone",
                signature=_signature(context, column, name),
            )


def _kind(column: str) -> Kind:
    return "ours" if column == METRIC else "baseline" if column in BASELINES else "printed"


def _signature(context: BenchContext, column: str, name: str) -> str:
    if column == "DEAM":
        return f"released:deam|on:{name}"
    return f"{context.grader(column)[1][column]}|on:{name}"
