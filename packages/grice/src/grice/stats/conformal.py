"""From a metric to the human scale: a rising map with bands that hold for new items."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from grice.errors import InputError
from grice.stats.estimate import Estimate, scipy_module
from grice.stats.inputs import Floats, Groups, Integers, Values, check_level, complete_items, joined


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
