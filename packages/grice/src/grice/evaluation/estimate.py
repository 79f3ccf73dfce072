"""The mean rating of many conversations from the ratings of a few and a metric on all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from grice.errors import InputError, plural
from grice.evaluation.table import Aligned, Unit, align
from grice.stats import mean
from grice.stats.estimate import Estimate
from grice.stats.inference import prediction_powered_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.stats.clusters import Bounds

UNLIKE = 0.999
"""Confidence level of the warning that the rated items are no random sample."""


class MetricEstimate(msgspec.Struct, frozen=True):
    """The mean rating with the help of one metric, used to the extent ``weight``.

    ``labels_saved`` further labels alone would give an interval of this width; negative if the
    metric is of no help, None if unknown.
    """

    metric: str
    mean: Estimate
    weight: float
    labels_saved: float | None
    signature: str
    says: tuple[str, ...]


class EstimateResult(msgspec.Struct, frozen=True):
    """A mean rating, from the labels alone and with the help of each metric."""

    unit: Unit
    labelled: int
    unlabelled: int
    labels_only: Estimate
    metrics: tuple[MetricEstimate, ...]
    remarks: tuple[str, ...]


def estimate(
    labels: str,
    scores: str,
    *,
    metrics: Sequence[str] = (),
    scale: Bounds | None = None,
    level: float = 0.95,
) -> EstimateResult:
    """Estimate the mean rating of everything that was scored.

    The labelled items must be a random sample of the scored ones. Then the mean is unbiased and
    the interval valid for any metric; a good metric makes it shorter. Every item counts: an
    abstention with its neutral value, a failed score with the mean of the metric.

    Intervals stay within the lowest and highest possible rating, by default 0 to 1 if every rating
    lies there.
    """
    aligned = align(labels, scores, metrics)
    rated = aligned.rated
    others = len(aligned.ratings) - len(rated)
    if not others:
        raise InputError(
            f"every item of {scores} is rated; give scores of more conversations than were rated, "
            "or take the mean of the ratings"
        )
    ratings = aligned.ratings[rated]
    remarks = aligned.remarks
    if scale is None and ratings.min() >= 0 and ratings.max() <= 1:
        scale = (0.0, 1.0)
        remarks += ("the scale is taken to be 0 to 1; state it with --scale LOW HIGH",)
    return EstimateResult(
        aligned.unit,
        len(rated),
        others,
        mean(ratings, groups=aligned.groups(rated), bounds=scale, level=level),
        tuple(_powered(aligned, name, scale, level) for name in aligned.columns),
        remarks,
    )


def _powered(aligned: Aligned, name: str, scale: Bounds | None, level: float) -> MetricEstimate:
    column = aligned.columns[name]
    there = ~np.isnan(column.given)
    # Any filling is unbiased.
    values = np.where(there, column.given, column.given[there].mean() if there.any() else 0.0)
    rated, others = aligned.rated, np.flatnonzero(np.isnan(aligned.ratings))
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
    sides = [
        mean(values[part], groups=aligned.groups(part), level=UNLIKE) for part in (rated, others)
    ]
    halves = [side.high - side.value for side in sides if side.high is not None]
    if len(halves) == 2 and abs(sides[0].value - sides[1].value) > math.hypot(*halves):
        says.append(
            f"the rated items differ from the others in {name} ({sides[0].value:.3f} against "
            f"{sides[1].value:.3f}): they are hardly a random sample, and then the mean is biased"
        )
    if lost := int((~there).sum()):
        says.append(f"{plural(lost, 'item')} on which {name} failed: taken as its mean")
    signature = column.signatures[0]
    return MetricEstimate(name, powered.mean, powered.weight, saved, signature, tuple(says))
