"""The mean rating of many conversations from the ratings of a few and a metric on all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from grice.errors import InputError, plural
from grice.evaluation.datasets import hashed
from grice.evaluation.table import Aligned, Unit, align
from grice.stats.estimate import Estimate
from grice.stats.inference import prediction_powered_mean
from grice.stats.inputs import Floats, Integers
from grice.stats.systems import mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.stats.clusters import Bounds

STRATA = 5
UNLIKE = 0.999
"""Level of the difference from which the rated items are said to be no random sample."""
RULE = (
    "conversations are parted into fifths by the metric; a label is expected to gain "
    "W² s² (1/n - 1/(n+1)) of the variance of the mean, W the fifth's share of the conversations, "
    "n its labelled ones, s the spread of what the metric does not explain. The next label goes "
    "where that is largest, to a conversation drawn at random there. Labels chosen because a "
    "single score looks odd would no longer stand for the rest and would bias the mean."
)


class MetricEstimate(msgspec.Struct, frozen=True):
    """The mean rating with the help of one metric.

    Attributes:
        weight: How far the metric was used; 0 is not at all.
        labels_saved: How many more labels alone would give an interval of this width; negative
            if the metric is of no help. None if it cannot be told.
    """

    metric: str
    mean: Estimate
    weight: float
    labels_saved: float | None
    signature: str
    says: tuple[str, ...]


class Suggestion(msgspec.Struct, frozen=True):
    """A conversation to label next.

    Attributes:
        gain: By how much the variance of the mean is expected to fall.
    """

    conversation: str
    low: float
    high: float
    gain: float


class EstimateResult(msgspec.Struct, frozen=True):
    """A mean rating.

    Attributes:
        by: The metric they are chosen by: the first one.
    """

    unit: Unit
    labelled: int
    unlabelled: int
    labels_only: Estimate
    metrics: tuple[MetricEstimate, ...]
    rule: str
    by: str
    next: tuple[Suggestion, ...]
    remarks: tuple[str, ...]
    seed: int


def estimate(
    labels: str,
    scores: str,
    *,
    metrics: Sequence[str] = (),
    scale: Bounds | None = None,
    suggest: int = 10,
    level: float = 0.95,
    seed: int = 0,
) -> EstimateResult:
    """Estimate the mean rating of everything that was scored.

    The labelled items must be a random sample of the scored ones. Then the mean is unbiased and
    the interval holds whatever the metric is worth; a good metric makes it shorter. Every item
    counts: where a metric abstained with its neutral value, where it failed with its mean.

    Args:
        labels: Ratings; see :func:`grice.evaluation.table.align`.
        scores: Scores of the same items and of many more.
        metrics: Which metrics; by default all that score what was rated.
        scale: Lowest and highest possible rating; intervals stay within. By default 0 to 1 where
            every rating lies there, otherwise none.
        suggest: How many conversations to suggest for labelling next.

    Raises:
        InputError: If fewer than ten items are rated, all alike, one lies outside the scale, or
            no others are scored.
    """
    aligned = align(labels, scores, metrics)
    rated = aligned.rated
    others = np.flatnonzero(np.isnan(aligned.ratings))
    if not len(others):
        raise InputError(
            f"every item of {scores} is rated; give scores of more conversations than were rated, "
            "or take the mean of the ratings"
        )
    ratings = aligned.ratings[rated]
    remarks = aligned.remarks
    if scale is None and ratings.min() >= 0 and ratings.max() <= 1:
        scale = (0.0, 1.0)
        remarks += ("the scale is taken to be 0 to 1; state it with --scale LOW HIGH",)
    powered = [_powered(aligned, name, scale, level) for name in aligned.columns]
    by = next(iter(aligned.columns))
    labels_only = mean(ratings, groups=aligned.groups(rated), bounds=scale, level=level)
    return EstimateResult(
        aligned.unit,
        len(rated),
        len(others),
        labels_only,
        tuple(powered),
        RULE,
        by,
        tuple(_suggested(aligned, by, powered[0].weight, suggest, seed)),
        remarks,
        seed,
    )


def _filled(given: Floats) -> Floats:
    """Return the column with its mean where the metric failed: right for any filling."""
    there = ~np.isnan(given)
    return np.where(there, given, given[there].mean() if there.any() else 0.0)


def _powered(aligned: Aligned, name: str, scale: Bounds | None, level: float) -> MetricEstimate:
    column = aligned.columns[name]
    values = _filled(column.given)
    rated = aligned.rated
    others = np.flatnonzero(np.isnan(aligned.ratings))
    powered = prediction_powered_mean(
        aligned.ratings[rated],
        values[rated],
        values[others],
        groups=aligned.groups(rated),
        unlabelled_groups=aligned.groups(others),
        bounds=scale,
        level=level,
    )
    saved = powered.worth - len(rated) if math.isfinite(powered.worth) else None
    if saved is None:
        says = [f"{name} tells every rating exactly; nothing more can be said"]
    elif saved < 0.5:
        says = [f"{name} saves no labels here: take the labels alone"]
    else:
        says = [f"{name} is worth {saved:.0f} more labels beside the {len(rated)} there are"]
    if warning := _unlike(aligned, name, values, rated, others):
        says.append(warning)
    lost = int(np.isnan(column.given).sum())
    if lost:
        says.append(f"{plural(lost, 'item')} on which {name} failed: taken as its mean")
    return MetricEstimate(name, powered.mean, powered.weight, saved, column.signature, tuple(says))


def _unlike(
    aligned: Aligned, name: str, values: Floats, rated: Integers, others: Integers
) -> str | None:
    """Return a warning if the rated items cannot well be a random sample."""
    sides = [
        mean(values[part], groups=aligned.groups(part), level=UNLIKE) for part in (rated, others)
    ]
    halves = [side.high - side.value for side in sides if side.high is not None]
    gap = sides[0].value - sides[1].value
    if len(halves) < 2 or abs(gap) <= math.hypot(*halves):
        return None
    return (
        f"the rated items differ from the others in {name} ({sides[0].value:.3f} against "
        f"{sides[1].value:.3f}): they are hardly a random sample, and then the mean is biased"
    )


def _suggested(
    aligned: Aligned, name: str, weight: float, most: int, seed: int
) -> list[Suggestion]:
    """Return the next conversations by :data:`RULE`, the largest gain first."""
    values = _filled(aligned.columns[name].given)
    numbers, codes = np.unique(aligned.conversations, return_inverse=True)
    means = np.bincount(codes, values) / np.bincount(codes)
    is_rated = np.bincount(codes[aligned.rated], minlength=len(numbers)) > 0
    ranks = np.empty(len(means), np.int64)
    ranks[np.argsort(means, kind="stable")] = np.arange(len(means))
    strata = ranks * STRATA // len(means)
    left = aligned.ratings[aligned.rated] - weight * values[aligned.rated]
    variance = float(left.var(ddof=1))
    shares = np.bincount(strata, minlength=STRATA) / len(means)
    counts = np.bincount(strata[is_rated], minlength=STRATA).astype(float)
    names = aligned.ids.names()
    waiting = {
        stratum: sorted(
            (int(place) for place in np.flatnonzero((strata == stratum) & ~is_rated)),
            key=lambda place: hashed(names[int(numbers[place])], seed),
            reverse=True,
        )
        for stratum in range(STRATA)
    }

    def fall(n: float) -> float:
        """Return 1/n - 1/(n+1); an empty fifth counts as half a label."""
        return 1 / max(n, 0.5) - 1 / (max(n, 0.5) + 1)

    chosen: list[Suggestion] = []
    while len(chosen) < most and any(waiting.values()):
        gains = {
            stratum: float(shares[stratum] ** 2 * variance * fall(counts[stratum]))
            for stratum in waiting
            if waiting[stratum]
        }
        best = max(gains, key=lambda stratum: (gains[stratum], -stratum))
        place = waiting[best].pop()
        inside = means[strata == best]
        ends = (float(inside.min()), float(inside.max()))
        chosen.append(Suggestion(names[int(numbers[place])], *ends, gains[best]))
        counts[best] += 1
    return chosen
