"""From few labels and many metric values: a mean rating, and a map to the human scale."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from msgspec.structs import replace

from grice.errors import InputError
from grice.stats.estimate import Bounds, Estimate, Moments, clamp, mean_estimate, scipy_module
from grice.stats.inputs import (
    Floats,
    Groups,
    Values,
    check_bounds,
    check_level,
    columns_of,
    complete_items,
    group_codes,
    joined,
)


class PoweredMean(msgspec.Struct, frozen=True):
    """A mean rating estimated with the help of a metric.

    Attributes:
        weight: How much a step of the metric moved the mean, 0 if not at all (``lambda`` in the
            papers).
        worth: The number of labels that alone would give an interval of this width.
    """

    mean: Estimate
    weight: float
    worth: float


def prediction_powered_mean(
    labels: Values,
    predicted: Values,
    unlabelled: Values,
    *,
    groups: Groups | None = None,
    unlabelled_groups: Groups | None = None,
    bounds: Bounds | None = None,
    level: float = 0.95,
) -> PoweredMean:
    """Return the mean rating of all items from the ratings of a few and a metric on all.

    The mean of the metric on the unlabelled items, corrected by its mean error on the labelled
    ones (Angelopoulos et al. 2023), with the weight that makes the interval shortest (PPI++,
    Angelopoulos, Duchi and Zrnic 2023). The estimate is valid for any metric; a poor one gets a
    small weight. The labelled items must be a random sample of all. The interval is that of
    :func:`~grice.stats.mean` with the error of the jackknife, for the weight depends on the labels.

    Args:
        labels: Ratings of the labelled items.
        predicted: The metric on the same items, on any scale.
        unlabelled: The metric on the other items.
        groups: Conversation of each labelled item.
        unlabelled_groups: Conversation of each other item; a conversation may have both.
        bounds: The lowest and the highest possible rating: mean and interval lie within them, as
            in :func:`~grice.stats.mean`.
        level: Confidence level.

    Raises:
        InputError: If there are fewer than three labels (or conversations with labels), no
            unlabelled item, only one of the two groups, or a label beyond the bounds.
    """
    check_level(level)
    y, f = columns_of(labels=labels, predicted=predicted)
    (other,) = columns_of(unlabelled=unlabelled)
    n, both = len(y), len(y) + len(other)
    joint = np.arange(both)
    if groups is not None and unlabelled_groups is not None:
        joint = group_codes([*groups, *unlabelled_groups], both)
        group_codes(groups, n)  # refuses another number
    elif groups is not unlabelled_groups:
        raise InputError("give both groups and unlabelled_groups, or neither")
    check_bounds(y, bounds)
    complete, held = ~(np.isnan(y) | np.isnan(f)), ~np.isnan(other)
    codes, other_codes = joint[:n][complete], joint[n:][held]
    y, f, other = y[complete], f[complete], other[held]
    units = len(np.unique(codes))
    if units < 3 or not len(other):
        raise InputError(
            f"{units} labelled {'items' if groups is None else 'conversations'} and {len(other)} "
            "unlabelled items; at least three and one are needed"
        )
    total = int(max(codes.max(), other_codes.max())) + 1
    # Contribution of each conversation to the error of the three means; they add up.
    share_y = np.bincount(codes, y - y.mean(), total) / len(y)
    share_f = np.bincount(codes, f - f.mean(), total) / len(f)
    share_other = np.bincount(other_codes, other - other.mean(), total) / len(other)
    # The weight of least variance: the regression of the labels' error on the gap's.
    gap = share_f - share_other
    square = float(gap @ gap)
    weight = float(share_y @ gap) / square if square > 0 else 0.0
    value = float(y.mean() + weight * (other.mean() - f.mean()))
    value = value if bounds is None else clamp(value, *bounds)
    # How far the means move without each conversation, to first order: the farther the larger it
    # is and, with the metric, the more the weight depends on it (nine tenths at most).
    sizes = np.bincount(codes, minlength=total) / len(y)
    alone = share_y / (1 - sizes)
    sizes += gap**2 / square if square > 0 else 0.0
    moved = (units - 1) * (share_y - weight * gap) / (1 - np.minimum(sizes, 0.9))
    squares, cubes = float((moved**2).sum()), float((moved**3).sum())
    sums = (squares, squares, 0, squares, cubes, 0, squares, 0, units, units, units)
    what = f"prediction-powered mean with {len(other)} unlabelled items"
    clusters, unit = (None, "labels") if groups is None else (units, "labelled conversations")
    powered = mean_estimate(
        Moments(units, units, *sums), level, origin=value, bounds=bounds, what=what, unit=unit
    )
    worth = len(y) * float(alone @ alone) * (units - 1) ** 2 / squares if squares > 0 else math.inf
    return PoweredMean(replace(powered, n=len(y), groups=clusters), weight, worth)


class HumanScale(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rising map from a metric to the human scale.

    Attributes:
        knots: Metric values, rising.
        ratings: Expected rating at each knot, never falling; straight lines between them.
        radius: Half the width of the band; None if the calibration items are too few for this
            level, and then the band is the whole scale, ``low`` to ``high``.
        level: Share of new items whose rating the band holds.
        n_fit: Items that shaped the map.
        n_calibration: Items that set the width of the band.
        groups: Conversations among the calibration items, if they were taken into account.
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
        """Return the expected rating at a metric value, and its prediction band."""
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
        human: The ratings of the same items, within ``scale``.
        scale: Lowest and highest possible rating.
        groups: Conversation of each item.
        level: Share of new items the band shall hold.
        seed: Seed of the split.

    Raises:
        InputError: If fewer than four items (conversations) have both values, or a rating lies
            outside the scale.
    """
    check_level(level)
    (x, y), conversations = complete_items({"metric": metric, "human": human}, groups)
    codes = np.arange(len(x)) if conversations is None else conversations
    units = int(codes.max(initial=-1)) + 1
    if units < 4:
        unit = "items" if groups is None else "conversations"
        raise InputError(f"{units} {unit} with both values; at least four are needed")
    check_bounds(y, scale)
    shaping = np.random.default_rng(seed).permutation(units) < units // 2
    shapes = shaping[codes]
    knots, ratings = _rising(x[shapes], y[shapes])
    misses = np.abs(y[~shapes] - np.interp(x[~shapes], knots, ratings))
    # Each conversation weighs the same, shared among its items; one more, unseen conversation is
    # taken to lie outside any radius.
    calibrating = joined(codes[~shapes])
    sizes = np.bincount(calibrating)
    weight = 1 / (sizes[calibrating] * (len(sizes) + 1))
    order = np.argsort(misses, kind="stable")
    enough = int(np.searchsorted(np.cumsum(weight[order]), level - 1e-9))
    radius = float(misses[order[enough]]) if enough < len(misses) else None
    curve, (low, high) = (tuple(map(float, knots)), tuple(map(float, ratings))), map(float, scale)
    counts = int(shapes.sum()), int((~shapes).sum())
    held = None if groups is None else int(units - shaping.sum())
    return HumanScale(*curve, radius, level, low, high, *counts, held, seed)


def _rising(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the isotonic map as knots, without those that lie within a flat stretch."""
    knots, codes, counts = np.unique(x, return_inverse=True, return_counts=True)
    means = np.bincount(codes, y) / counts
    fit = scipy_module("optimize").isotonic_regression(means, weights=counts.astype(float))
    ratings = np.asarray(fit.x, np.float64)
    inner = np.ones(len(knots), bool)
    inner[1:-1] = (ratings[1:-1] != ratings[:-2]) | (ratings[1:-1] != ratings[2:])
    return knots[inner], ratings[inner]
