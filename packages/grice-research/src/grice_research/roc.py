"""Scores beside one label: areas under the ROC curve, and lifts of an order.

A lift is what a score is worth when the first tenth of its order is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from grice.errors import InputError
from grice.stats.estimate import Estimate, scipy_module
from grice.stats.inputs import Floats, Groups, Integers, Values, columns_of, group_codes
from grice.stats.resample import Bounded, Resampled, differences, estimate, resample


class RocAreas(NamedTuple):
    """Areas of scores on the same items."""

    areas: dict[str, Estimate]
    differences: dict[tuple[str, str], Estimate]


class Lifts(NamedTuple):
    """Lifts of scores on the same items."""

    lifts: dict[str, Estimate]
    differences: dict[tuple[str, str], Estimate]


def _estimates(
    drawn: Resampled,
    names: list[str],
    pairs: Sequence[tuple[str, str]],
    what: str,
    bounded: Bounded = "no",
) -> tuple[dict[str, Estimate], dict[tuple[str, str], Estimate]]:
    places = [(names.index(first), names.index(second)) for first, second in pairs]
    gaps = differences(drawn, places) if places else drawn
    return (
        {name: estimate(drawn, i, what=what, bounded=bounded) for i, name in enumerate(names)},
        {pair: estimate(gaps, i, what=f"difference of {what}") for i, pair in enumerate(pairs)},
    )


def roc_areas(
    scores: Mapping[str, Values],
    labels: Values,
    *,
    groups: Groups | None = None,
    strata: Sequence[str] | None = None,
    pairs: Sequence[tuple[str, str]] = (),
) -> RocAreas:
    """Return how often a positive item has a higher score than a negative one, ties half."""
    truth, *columns = columns_of(labels=labels, **scores)
    if not np.isin(truth, (0, 1)).all():
        raise InputError("labels: 1 or 0 is needed for an area under the curve")
    if np.isnan(np.stack(columns)).any():
        raise InputError("scores: every item needs a value for an area under the curve")
    parts = _parts(truth, strata)
    if not parts:
        raise InputError("an area under the curve needs items of both labels")
    curves = [[(part, _area(column[part], truth[part])) for part in parts] for column in columns]

    def statistic(weights: Floats) -> Floats:
        return np.stack([_mean(curve, weights) for curve in curves], axis=1)

    codes = None if groups is None else group_codes(groups, len(truth))
    drawn = resample(statistic, len(truth), groups=codes)
    what = "area under the ROC curve"
    return RocAreas(*_estimates(drawn, list(scores), pairs, what, bounded="share"))


def _parts(truth: Floats, strata: Sequence[str] | None) -> list[Integers]:
    """Return the items of each stratum that has both labels."""
    codes = np.zeros(len(truth), np.int64) if strata is None else group_codes(strata, len(truth))
    parts = [np.flatnonzero(codes == code).astype(np.int64) for code in np.unique(codes)]
    return [part for part in parts if np.ptp(truth[part]) > 0]


def _mean(curve: list[tuple[Integers, Callable[[Floats], Floats]]], weights: Floats) -> Floats:
    """Return the mean area over parts, each weighted by the items that were drawn of it."""
    each = np.stack([area(weights[:, part]) for part, area in curve], axis=1)
    size = np.stack([weights[:, part].sum(axis=1) for part, _ in curve], axis=1)
    size = np.where(np.isnan(each), 0.0, size)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((np.nan_to_num(each) * size).sum(axis=1) / size.sum(axis=1))


def _area(values: Floats, labels: Floats) -> Callable[[Floats], Floats]:
    order = np.argsort(values, kind="stable")
    labels = labels[order]
    new = np.append(True, np.diff(values[order]) > 0)
    starts: Integers = np.flatnonzero(new).astype(np.int64)

    def areas(weights: Floats) -> Floats:
        ranked = weights[:, order]
        positive = np.add.reduceat(ranked * labels, starts, axis=1)
        negative = np.add.reduceat(ranked * (1 - labels), starts, axis=1)
        below = np.cumsum(negative, axis=1) - negative
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(
                (positive * (below + negative / 2)).sum(axis=1)
                / (positive.sum(axis=1) * negative.sum(axis=1))
            )

    return areas


READ = 0.1  # the share of turns that is read


def review_lifts(
    scores: Mapping[str, Values],
    labels: Values,
    *,
    groups: Groups,
    pairs: Sequence[tuple[str, str]] = (),
    share: float = READ,
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
    drawn = resample(statistic, len(truth), groups=codes, kind="percentile")
    return Lifts(*_estimates(drawn, list(scores), pairs, f"lift of the first {share:.0%}"))


def _lift(values: Floats, truth: Floats, weights: Floats, share: float) -> Floats:
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


def lift_at_random(labels: Values, share: float = READ) -> Estimate:
    """Return 1, between the lifts that 95 % of all random orders stay within."""
    (truth,) = columns_of(labels=labels)
    n, positive = len(truth), int(truth.sum())
    read = round(share * n)
    chance = scipy_module("stats").hypergeom(n, positive, read)
    low, high = (chance.ppf(tail) / read / (positive / n) for tail in (0.025, 0.975))
    return Estimate(
        1.0, float(low), float(high), 0.95, n, f"random orders of {n}, the first {read}"
    )
