"""Areas under the ROC curve of several scores for one label, and their paired differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.errors import InputError
from grice.stats.estimate import Estimate
from grice.stats.inputs import Floats, Groups, Integers, Values, columns_of, group_codes
from grice.stats.resample import ResamplingKind, differences, estimate, resample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class RocAreas(NamedTuple):
    """Areas of scores on the same items.

    Attributes:
        areas: Area by score, 0 to 1; 0.5 is chance.
        differences: Area of the first less that of the second, by pair of scores.
    """

    areas: dict[str, Estimate]
    differences: dict[tuple[str, str], Estimate]


def roc_areas(
    scores: Mapping[str, Values],
    labels: Values,
    *,
    groups: Groups | None = None,
    strata: Sequence[str] | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    interval: ResamplingKind = "jackknife",
    seed: int = 0,
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
    drawn = resample(statistic, len(truth), groups=codes, kind=interval, seed=seed)
    names = list(scores)
    places = [(names.index(first), names.index(second)) for first, second in pairs]
    gaps = differences(drawn, places) if places else drawn
    what = "area under the ROC curve"
    return RocAreas(
        {name: estimate(drawn, i, what=what, bounded="share") for i, name in enumerate(names)},
        {pair: estimate(gaps, i, what=f"difference of {what}") for i, pair in enumerate(pairs)},
    )


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
    """Return the function from weights of items to areas."""
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
