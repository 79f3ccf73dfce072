"""What a score is worth to whoever looks for flawed turns: decisions, and the order of reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.errors import InputError
from grice.stats.estimate import Estimate, scipy_module
from grice.stats.inputs import Floats, columns_of, group_codes
from grice.stats.resample import differences, estimate, resample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice.stats.inputs import Groups, Values

READ = 0.1
"""The share of turns that is read."""


class Lifts(NamedTuple):
    """Lifts of scores on the same items.

    Attributes:
        lifts: By score; 1 is what a random order gives.
        differences: Lift of the first less that of the second, by pair of scores.
    """

    lifts: dict[str, Estimate]
    differences: dict[tuple[str, str], Estimate]


def above_median_elsewhere(values: Values, groups: Groups) -> list[float]:
    """Return 1 for each value above the median of the other half of the groups, otherwise 0.

    No label is read, and no item helps to set its own threshold. The halves are every other group
    in the order of their first items.
    """
    (column,) = columns_of(values=values)
    half = _in_order(groups) % 2
    if len(np.unique(half)) < 2:
        raise InputError("one group alone has no other half to set a threshold on")
    medians = np.array([np.median(column[half != side]) for side in (0, 1)])
    return [float(above) for above in column > medians[half]]


def _in_order(groups: Groups) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    return np.array([numbers[group] for group in groups], np.int64)


def review_lifts(
    scores: Mapping[str, Values],
    labels: Values,
    *,
    groups: Groups,
    pairs: Sequence[tuple[str, str]] = (),
    share: float = READ,
    seed: int = 0,
) -> Lifts:
    """Return the precision among the items of highest score over the share of positive ones.

    Of items with equal scores at the edge, the expectation over their orders counts.
    """
    truth, *columns = columns_of(labels=labels, **scores)
    if not (truth == 1).any():
        raise InputError("labels: none is 1, so that there is nothing to be read")

    def statistic(weights: Floats) -> Floats:
        return np.stack([_lift(column, truth, weights, share) for column in columns], axis=1)

    codes = group_codes(groups, len(truth))
    # Which items are read changes by steps: the bootstrap holds for such, the jackknife does not.
    drawn = resample(statistic, len(truth), groups=codes, kind="percentile", seed=seed)
    names = list(scores)
    places = [(names.index(first), names.index(second)) for first, second in pairs]
    gaps = differences(drawn, places) if places else drawn
    what = f"lift of the first {share:.0%}"
    return Lifts(
        {name: estimate(drawn, i, what=what) for i, name in enumerate(names)},
        {pair: estimate(gaps, i, what=f"difference of {what}") for i, pair in enumerate(pairs)},
    )


def _lift(values: Floats, truth: Floats, weights: Floats, share: float) -> Floats:
    """Return the lift for each row of weights."""
    order = np.argsort(-values, kind="stable")
    ranked = weights[:, order]
    starts = np.flatnonzero(np.append(True, np.diff(values[order]) < 0))
    sizes = np.add.reduceat(ranked, starts, axis=1)
    positives = np.add.reduceat(ranked * truth[order], starts, axis=1)
    total = sizes.sum(axis=1, keepdims=True)
    left = share * total - (np.cumsum(sizes, axis=1) - sizes)
    with np.errstate(invalid="ignore", divide="ignore"):
        read = np.nan_to_num(np.clip(left / sizes, 0, 1))
        precision = (read * positives).sum(axis=1, keepdims=True) / (share * total)
        return np.asarray((precision / (positives.sum(axis=1, keepdims=True) / total))[:, 0])


def lift_at_random(labels: Values, share: float = READ, level: float = 0.95) -> Estimate:
    """Return 1, between the lifts that so many of all random orders stay within."""
    (truth,) = columns_of(labels=labels)
    n, positive = len(truth), int(truth.sum())
    read = round(share * n)
    chance = scipy_module("stats").hypergeom(n, positive, read)
    low, high = (
        chance.ppf(tail) / read / (positive / n) for tail in (0.5 - level / 2, 0.5 + level / 2)
    )
    return Estimate(
        1.0, float(low), float(high), level, n, f"random orders of {n}, the first {read}"
    )
