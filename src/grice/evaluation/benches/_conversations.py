"""Rows on whole conversations: a metric, floors and released scores against people's ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.errors import InputError
from grice.evaluation.measures import measured
from grice.evaluation.rows import Row
from grice.stats import compare_correlations, correlation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.evaluation.rows import Kind
    from grice.evaluation.workshop import Workshop

__all__ = ["Aspect", "rows"]

MEASURES = ("spearman", "pearson")
METRIC = "coherence"
FLOORS = ("mean_user_words", "mean_adjacent_cosine", "mean_cosine_to_user", "turn_count")


class Aspect(NamedTuple):
    """A human aspect: what rows call it, its name in the set, and DEAM's printed Spearman."""

    called: str
    name: str
    printed: float


def rows(shop: Workshop, name: str, aspects: Sequence[Aspect]) -> Iterator[Row]:
    """Yield ours, the floors and DEAM's released scores, over all and within each system."""
    columns: dict[str, Sequence[float | None]] = {METRIC: shop.metric_values(METRIC, name)}
    for floor in FLOORS:
        columns[floor] = shop.metric_values(floor, name)
    columns["DEAM"] = shop.released_values("deam", name)
    for aspect in aspects:
        for measure in MEASURES:
            yield from _over_all(shop, name, aspect, measure, columns)
        yield from _above(shop, name, aspect, columns)
        yield from _within(shop, name, aspect, columns)


def _over_all(
    shop: Workshop,
    name: str,
    aspect: Aspect,
    measure: str,
    columns: Mapping[str, Sequence[float | None]],
) -> Iterator[Row]:
    rated = shop.rated(name)
    printed = aspect.printed if measure == "spearman" else None
    for column, values in columns.items():
        if all(value is None for value in values):
            continue
        yield Row(
            row=f"{column} {aspect.called}",
            measure=measure,
            found=measured(measure, values, rated, aspect.name),
            kind=_kind(column),
            published=None if column in FLOORS else printed,
            beside="DEAM" if column == METRIC and printed is not None else "",
            signature=_signature(shop, column, name),
        )


def _above(
    shop: Workshop, name: str, aspect: Aspect, columns: Mapping[str, Sequence[float | None]]
) -> Iterator[Row]:
    """Yield how far ours is above each floor and DEAM on the same conversations."""
    human = shop.rated(name).human(aspect.name)
    for other, values in columns.items():
        if other == METRIC or all(value is None for value in values):
            continue
        # The other one is the baseline, so that the difference is ours less its.
        both = {METRIC: columns[METRIC], other: values}
        compared = compare_correlations(
            both, human, kind="spearman", baseline=other, interval="percentile"
        )
        (one,) = compared.comparisons
        yield Row(
            row=f"{METRIC} less {other} {aspect.called}", measure="difference of spearman",
            found=one.difference, kind="ours", why=f"{one.test}, p {one.p_value:.3f}",
            signature=_signature(shop, METRIC, name),
        )  # fmt: skip


def _within(
    shop: Workshop, name: str, aspect: Aspect, columns: Mapping[str, Sequence[float | None]]
) -> Iterator[Row]:
    """Yield figures within each system: most of the whole is telling people from chatbots."""
    rated = shop.rated(name)
    human = rated.human(aspect.name)
    systems = sorted({item.system for item in rated.items if item.system})
    for system in systems:
        kept = [i for i, item in enumerate(rated.items) if item.system == system]
        for column in (METRIC, "mean_user_words", "DEAM"):
            try:
                found = correlation(
                    [columns[column][i] for i in kept], [human[i] for i in kept], kind="spearman"
                )
            except InputError:
                continue  # a column or ratings that do not differ within the system
            yield Row(
                row=f"{column} {aspect.called}", measure="spearman", found=found,
                kind=_kind(column), on=f"{system} alone", signature=_signature(shop, column, name),
            )  # fmt: skip


def _kind(column: str) -> Kind:
    return "ours" if column == METRIC else "floor" if column in FLOORS else "printed"


def _signature(shop: Workshop, column: str, name: str) -> str:
    if column == "DEAM":
        return f"released:deam|on:{name}"
    return f"{shop.grader(column)[1][column]}|on:{name}"
