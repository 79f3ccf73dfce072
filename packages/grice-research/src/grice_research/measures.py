"""The measures by which a column of scores is judged, by the name that tables give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from grice.errors import InputError
from grice.stats import (
    compare_correlations,
    correlation,
    correlation_within,
    leave_one_annotator_out,
    mean,
    system_level,
)
from grice.stats.estimate import Estimate
from grice.stats.resample import estimate, resample

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.evaluation.datasets import Rated
    from grice.stats.inputs import Floats

    Values: TypeAlias = Sequence[float | None]
    Measure: TypeAlias = Callable[[Values, Rated, str], Estimate]


def measured(measure: str, values: Values, rated: Rated, aspect: str) -> Estimate:
    """Return a measure of a column against the mean ratings of an aspect."""
    if measure not in MEASURES:
        raise InputError(f"{measure} cannot be computed from one score per item")
    return MEASURES[measure](values, rated, aspect)


def paired_difference(
    kind: Literal["pearson", "spearman"], first: Values, second: Values, rated: Rated, aspect: str
) -> Estimate:
    """Return the correlation of one column with the ratings less that of another.

    Both on the items where both have a value; items of one group are drawn together.
    """
    # The baseline stands second in a comparison, so that the difference is first less second.
    compared = compare_correlations(
        {"first": first, "second": second},
        rated.human(aspect),
        kind=kind,
        groups=_groups(rated),
        baseline="second",
    )
    return compared.comparisons[0].difference


def _groups(rated: Rated) -> list[str] | None:
    return [item.group for item in rated.items] if rated.grouped else None


def _pearson(values: Values, rated: Rated, aspect: str) -> Estimate:
    return correlation(values, rated.human(aspect), kind="pearson", groups=_groups(rated))


def _spearman(values: Values, rated: Rated, aspect: str) -> Estimate:
    return correlation(values, rated.human(aspect), kind="spearman", groups=_groups(rated))


def _within_pearson(values: Values, rated: Rated, aspect: str) -> Estimate:
    contexts = [item.group for item in rated.items]
    return correlation_within(values, rated.human(aspect), contexts, kind="pearson")


def _within_spearman(values: Values, rated: Rated, aspect: str) -> Estimate:
    contexts = [item.group for item in rated.items]
    return correlation_within(values, rated.human(aspect), contexts, kind="spearman")


def _systems(values: Values, rated: Rated, aspect: str) -> tuple[list[float | None], ...]:
    places = [i for i, item in enumerate(rated.items) if item.system is not None]
    human = rated.human(aspect)
    return [values[i] for i in places], [human[i] for i in places]


def _names(rated: Rated) -> list[str]:
    return [item.system for item in rated.items if item.system is not None]


def _system_pearson(values: Values, rated: Rated, aspect: str) -> Estimate:
    mine, human = _systems(values, rated, aspect)
    return system_level(mine, human, _names(rated), kind="pearson").correlation


def _system_spearman(values: Values, rated: Rated, aspect: str) -> Estimate:
    mine, human = _systems(values, rated, aspect)
    return system_level(mine, human, _names(rated), kind="spearman").correlation


def _cosine(values: Values, rated: Rated, aspect: str) -> Estimate:
    """Return the cosine of scores and ratings, ratings scaled to 0..1 over the set, not centred.

    The measure of RUBER's tables (Ghazarian et al., NeuralGen 2019). It rewards a high mean.
    """
    pairs = np.asarray(
        [
            (value, human)
            for value, human in zip(values, rated.human(aspect), strict=True)
            if value is not None and human is not None
        ],
        np.float64,
    )
    if len(pairs) < 2 or np.ptp(pairs[:, 1]) == 0:
        raise InputError("a cosine needs two items and ratings that differ")
    # An order of their own: the interval does not depend on how items were listed.
    pairs = pairs[np.lexsort(pairs.T)]
    x = pairs[:, 0]
    y = (pairs[:, 1] - pairs[:, 1].min()) / np.ptp(pairs[:, 1])
    moments = np.stack([x * y, x * x, y * y], axis=1)

    def statistic(weights: Floats) -> Floats:
        product, own, other = (weights @ moments).T
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(product / np.sqrt(own * other))[:, None]

    return estimate(resample(statistic, len(x)), what="cosine, ratings scaled to 0..1")


MEASURES: dict[str, Measure] = {
    "pearson": _pearson,
    "spearman": _spearman,
    "within pearson": _within_pearson,
    "within spearman": _within_spearman,
    "system pearson": _system_pearson,
    "system spearman": _system_spearman,
    "cosine": _cosine,
}
"""Measure by name; ``within`` is the mean over contexts, ``system`` that of system means."""


PEOPLE = ("judges", "one judge", "ratings", "reply words")
"""Sources of figures that need no metric."""


def of_people(source: str, measure: str, rated: Rated, aspect: str) -> Estimate:
    """Return a figure about ratings or rated texts alone."""
    if source == "ratings":
        return mean(rated.human(aspect))
    if source == "reply words":
        return mean([float(len(item.conversation.turns[-1].text.split())) for item in rated.items])
    if source == "one judge":
        return leave_one_annotator_out([item.ratings[aspect] for item in rated.items])
    first, joined, second = aspect.partition(" and ")
    if joined:
        return _single_ratings(rated, first, second)
    if "against the others" not in measure:
        raise InputError(f"{measure}: not computed from the ratings of judges")
    return leave_one_annotator_out([item.ratings[aspect] for item in rated.items], pool="pairs")


def _single_ratings(rated: Rated, first: str, second: str) -> Estimate:
    """Return the correlation of the ratings that one judge gave to one item on two aspects."""
    pairs = [
        (a, b, item.group)
        for item in rated.items
        for a, b in zip(item.ratings[first], item.ratings[second], strict=True)
    ]
    ratings, others, groups = zip(*pairs, strict=True)
    return correlation(ratings, others, kind="spearman", groups=groups)
