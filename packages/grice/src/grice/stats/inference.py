"""From few labels and many metric values: a mean rating, and a map to the human scale."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from grice.errors import InputError
from grice.stats.clusters import Bounds, bounded_interval
from grice.stats.estimate import Estimate, clamp, few_units, scipy_module
from grice.stats.inputs import (
    Floats,
    Groups,
    Integers,
    Values,
    check_bounds,
    check_level,
    columns_of,
    complete_items,
    group_codes,
    joined,
)


class PoweredMean(msgspec.Struct, frozen=True):
    """A mean rating helped by a metric.

    Attributes:
        mean: The estimate with its interval.
        labels_only: What the labels alone give.
        weight: How much a step of the metric moved the mean: 0 if it was not used, 1 if it was
            taken as a rating (``lambda`` in the papers).
        worth: The number of labels that alone would give an interval of this width.
    """

    mean: Estimate
    labels_only: Estimate
    weight: float
    worth: float


def prediction_powered_mean(
    labels: Values,
    predicted: Values,
    unlabelled: Values,
    *,
    groups: Groups | None = None,
    unlabelled_groups: Groups | None = None,
    weight: float | None = None,
    bounds: Bounds | None = None,
    level: float = 0.95,
) -> PoweredMean:
    """Return the mean rating of all items from the ratings of a few and a metric on all.

    The mean of the metric on the unlabelled items, corrected by its mean error on the labelled
    ones (Angelopoulos et al. 2023), with the weight that makes the interval shortest (PPI++,
    Angelopoulos, Duchi and Zrnic 2023). Right for any metric, however poor: a poor one is used
    little. The labelled items must be a random sample of all.

    Args:
        labels: Ratings of the labelled items.
        predicted: The metric on the same items, on any scale.
        unlabelled: The metric on the other items.
        groups: Conversation of each labelled item.
        unlabelled_groups: Conversation of each other item; a conversation may have both.
        weight: A fixed weight, such as 1 for the method without tuning; None for the best.
        bounds: The lowest and the highest possible rating: mean and interval lie within them.
            Where Student's interval would not, it is Wilson's for as many independent ratings as
            would vary like this mean.
        level: Confidence level.

    Raises:
        InputError: If there are fewer than three labels (or conversations with labels; two with
            a fixed weight), no unlabelled item, only one of the two groups, or a label beyond the
            bounds.
    """
    check_level(level)
    y, f = columns_of(labels=labels, predicted=predicted)
    (other,) = columns_of(unlabelled=unlabelled)
    codes, other_codes = _codes(groups, unlabelled_groups, len(y), len(other))
    check_bounds(y, bounds)
    complete = ~(np.isnan(y) | np.isnan(f))
    y, f, codes = y[complete], f[complete], codes[complete]
    held = ~np.isnan(other)
    other, other_codes = other[held], other_codes[held]
    units = len(np.unique(codes))
    # The weight is fitted to the labels and takes one degree of freedom.
    freedom = units - (1 if weight is not None else 2)
    if freedom < 1 or not len(other):
        raise InputError(
            f"{units} labelled {'items' if groups is None else 'conversations'} and {len(other)} "
            "unlabelled items; at least three (two with a fixed weight) and one are needed"
        )
    total = int(max(codes.max(), other_codes.max())) + 1
    # Contribution of each conversation to the error of the three means; they add up.
    share_y = np.bincount(codes, y - y.mean(), total) / len(y)
    share_f = np.bincount(codes, f - f.mean(), total) / len(f)
    share_other = np.bincount(other_codes, other - other.mean(), total) / len(other)
    # The weight of least variance: the regression of the labels' error on the gap's.
    gap = share_f - share_other
    square = float(gap @ gap)
    best = float(share_y @ gap) / square if square > 0 else 0.0
    used = best if weight is None else float(weight)
    value = float(y.mean() + used * (other.mean() - f.mean()))
    error = _error(share_y - used * gap, units, freedom)
    alone = _error(share_y, units, units - 1)
    clusters = None if groups is None else units
    note = few_units(units, "labels" if groups is None else "labelled conversations")

    def estimate(value: float, error: float, freedom: int, what: str) -> Estimate:
        quantile = float(scipy_module("special").stdtrit(freedom, 0.5 + level / 2))
        low, high = value - quantile * error, value + quantile * error
        if bounds is not None:
            what += f", Wilson's interval where Student's leaves {bounds[0]:g} to {bounds[1]:g}"
            # Ratings that all lie at a bound show no spread, which is not to say there is none.
            if low < bounds[0] or high > bounds[1] or value in bounds:
                value = clamp(value, *bounds)
                low, high = bounded_interval(value, error**2, quantile, units, level, bounds)
        return Estimate(value, low, high, level, len(y), what, clusters, note)

    powered = f"prediction-powered mean with {len(other)} unlabelled items"
    return PoweredMean(
        estimate(value, error, freedom, powered),
        estimate(float(y.mean()), alone, units - 1, "mean of the labels, Student's t"),
        used,
        len(y) * (alone / error) ** 2 if error > 0 else math.inf,
    )


def _codes(
    groups: Groups | None, unlabelled_groups: Groups | None, n: int, others: int
) -> tuple[Integers, Integers]:
    if groups is None and unlabelled_groups is None:
        return np.arange(n), np.arange(n, n + others)
    if groups is None or unlabelled_groups is None:
        raise InputError("give both groups and unlabelled_groups, or neither")
    first, second = list(groups), list(unlabelled_groups)
    if (len(first), len(second)) != (n, others):
        raise InputError(
            f"one conversation per item is needed: {n} labelled and {others} unlabelled items, "
            f"{len(first)} and {len(second)} conversations"
        )
    codes = group_codes([*first, *second], n + others)
    return codes[:n], codes[n:]


def _error(shares: Floats, units: int, freedom: int) -> float:
    return math.sqrt(units / freedom * float(shares @ shares))


class HumanScale(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rising map from a metric to the human scale.

    Attributes:
        knots: Metric values, rising.
        ratings: Expected rating at each knot, never falling; straight lines between them, and
            the end values beyond.
        radius: Half the width of the band; None if the calibration items are too few for this
            level, and then the band is the whole scale.
        level: Share of new items whose rating the band holds.
        low: Lower end of the human scale.
        high: Upper end of the human scale.
        n_fit: Items that shaped the map.
        n_calibration: Items that set the width of the band.
        groups: Conversations among the calibration items, if they were taken into account.
        seed: Seed of the split.
    """

    knots: tuple[float, ...]
    ratings: tuple[float, ...]
    radius: float | None
    level: float
    low: float
    high: float
    n_fit: int
    n_calibration: int
    groups: int | None
    seed: int

    def at(self, value: float) -> Estimate:
        """Return the rating expected at a metric value, and the band a person's will lie in."""
        rating = float(np.interp(value, self.knots, self.ratings))
        radius = math.inf if self.radius is None else self.radius
        low, high = max(self.low, rating - radius), min(self.high, rating + radius)
        n, groups = self.n_calibration, self.groups
        return Estimate(rating, low, high, self.level, n, "split conformal band", groups)


def fit_human_scale(
    metric: Values,
    human: Values,
    *,
    scale: tuple[float, float],
    groups: Groups | None = None,
    level: float = 0.9,
    seed: int = 0,
) -> HumanScale:
    """Return the map from a metric to the ratings of people, with a band for single items.

    Half of the items (or conversations) shape an isotonic map, the other half set the width of
    the band by split conformal prediction: whatever the distribution, a new item's rating lies
    in the band with probability ``level`` at least, if it comes from the same source. With
    groups the guarantee is for an item of a new conversation (hierarchical conformal
    prediction, Lee, Barber and Willett 2023).

    Args:
        metric: One value per item; higher must mean better.
        human: The ratings of the same items.
        scale: Lowest and highest possible rating.
        groups: Conversation of each item.
        level: Share of new items the band shall hold.
        seed: Seed of the split.

    Raises:
        InputError: If fewer than four items (conversations) have both values, or a rating lies
            outside the scale.
    """
    check_level(level)
    low, high = scale
    (x, y), conversations, _ = complete_items({"metric": metric, "human": human}, groups)
    codes = np.arange(len(x)) if conversations is None else conversations
    units = int(codes.max(initial=-1)) + 1
    if units < 4:
        unit = "items" if groups is None else "conversations"
        raise InputError(f"{units} {unit} with both values; at least four are needed")
    if y.min() < low or y.max() > high:
        outside = y.min() if y.min() < low else y.max()
        raise InputError(f"a rating of {outside:g} lies outside the scale {low:g} to {high:g}")
    shaping = np.random.default_rng(seed).permutation(units) < units // 2
    shapes = shaping[codes]
    knots, ratings = _rising(x[shapes], y[shapes])
    misses = np.abs(y[~shapes] - np.interp(x[~shapes], knots, ratings))
    return HumanScale(
        tuple(map(float, knots)),
        tuple(map(float, ratings)),
        _radius(misses, joined(codes[~shapes]), level),
        level,
        float(low),
        float(high),
        int(shapes.sum()),
        int((~shapes).sum()),
        None if groups is None else int(units - shaping.sum()),
        seed,
    )


def _rising(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the isotonic map as knots, without those that lie within a flat stretch."""
    knots, codes, counts = np.unique(x, return_inverse=True, return_counts=True)
    means = np.bincount(codes, y) / counts
    fit = scipy_module("optimize").isotonic_regression(means, weights=counts.astype(float))
    ratings = np.asarray(fit.x, np.float64)
    inner = np.ones(len(knots), bool)
    inner[1:-1] = (ratings[1:-1] != ratings[:-2]) | (ratings[1:-1] != ratings[2:])
    return knots[inner], ratings[inner]


def _radius(misses: Floats, codes: Integers, level: float) -> float | None:
    """Return the smallest radius that holds enough calibration weight.

    Each conversation weighs the same, shared among its items; one more, unseen conversation is
    taken to lie outside any radius.
    """
    sizes = np.bincount(codes)
    weight = 1 / (sizes[codes] * (len(sizes) + 1))
    order = np.argsort(misses, kind="stable")
    reached = np.cumsum(weight[order])
    enough = int(np.searchsorted(reached, level - 1e-9))
    if enough >= len(misses) or math.isinf(misses[order[enough]]):
        return None
    return float(misses[order[enough]])
