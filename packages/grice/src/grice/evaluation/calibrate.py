"""Map scores to the scale of human ratings, each with a prediction band, from a few ratings.

A map is fitted per metric, and one for a blend of the metrics if its error is below that of the
best single one. The map is a file that can be applied to further scores.
"""

from __future__ import annotations

import hashlib
import math
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

from grice.errors import InputError, os_reason, plural
from grice.evaluation.table import (
    FAILED,
    NOTHING,
    OK,
    STATUSES,
    TURN_BITS,
    Aligned,
    MetricScores,
    Unit,
    align,
    read_table,
    turn_of,
)
from grice.records import Status
from grice.stats import weighted
from grice.stats.correlations import correlation
from grice.stats.estimate import FEW, Estimate, scipy_module
from grice.stats.inference import HumanScale, fit_human_scale
from grice.stats.inputs import Floats, Integers, joined
from grice.stats.resample import resampled_estimate
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

BLEND = "blend"
"""Metric name of calibrated scores of the blend."""
LEAST = 30
"""Least number of items for a blend."""
PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0)
FOLDS = 5


class Linear(NamedTuple):
    """A linear model: ``intercept + values @ weights``."""

    weights: Floats
    intercept: float

    def at(self, values: Floats) -> Floats:
        """Return the prediction for rows of values."""
        return np.asarray(values @ self.weights + self.intercept, np.float64)


class Blended(NamedTuple):
    """A fitted blend.

    Attributes:
        gain: Fall of the squared error of an unseen item against the best single metric.
        out_of_fold: Prediction for each item by a blend fitted without its conversation's fold.
        single: Index of the best single metric.
    """

    linear: Linear
    gain: Estimate
    out_of_fold: Floats
    single: int


class MetricMap(msgspec.Struct, frozen=True):
    """One metric on the human scale."""

    metric: str
    signature: str
    map: HumanScale
    correlation: Estimate | None
    n: int


class Blend(msgspec.Struct, frozen=True):
    """A weighted sum of metrics on the human scale; ``gain`` as in :class:`Blended`."""

    weights: dict[str, float]
    intercept: float
    map: HumanScale
    gain: Estimate
    single: str
    n: int


class Calibration(msgspec.Struct, frozen=True):
    """A map from scores to ratings, as ``grice calibrate`` writes and applies it."""

    format: Literal["grice-calibration/1"]
    unit: Unit
    maps: tuple[MetricMap, ...]
    blend: Blend | None
    says: tuple[str, ...]


class Calibrated(msgspec.Struct, frozen=True):
    """A score on the human scale.

    Attributes:
        low: Lower end of the band that holds a human rating with probability ``level``.
        score: The value on the scale of the metric.
    """

    conversation: str
    turn: int | None
    metric: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    score: float | None
    status: Status
    signature: str


def calibrate(
    labels: str,
    scores: str,
    *,
    metrics: Sequence[str] = (),
    scale: tuple[float, float] | None = None,
    level: float = 0.9,
    seed: int = 0,
) -> Calibration:
    """Fit maps from metrics to human ratings of the same items.

    By default all metrics that score the rated unit, and a scale from the lowest to the highest
    rating. InputError if there are too few ratings, or all are alike.
    """
    aligned = align(labels, scores, metrics)
    says = list(aligned.remarks)
    if scale is None:
        given = aligned.ratings[aligned.rated]
        scale = (float(given.min()), float(given.max()))
        says.append(
            f"the scale is taken to be {scale[0]:g} to {scale[1]:g}, the lowest and highest "
            "rating given; state it with --scale LOW HIGH if it is wider"
        )
    maps = tuple(_map(aligned, name, scale, level, seed, says) for name in aligned.columns)
    blend = _blend(aligned, scale, level, seed, says)
    return Calibration("grice-calibration/1", aligned.unit, maps, blend, tuple(says))


def _map(
    aligned: Aligned,
    name: str,
    scale: tuple[float, float],
    level: float,
    seed: int,
    says: list[str],
) -> MetricMap:
    column, rated = aligned.columns[name], aligned.rated
    places = rated[~np.isnan(column.values[rated])]
    if len(places) < FEW:
        raise InputError(
            f"{name}: {len(places)} of {len(rated)} rated items have a score with status ok; at "
            f"least {FEW} are needed (choose other metrics with -m)"
        )
    values, ratings = column.values[places], aligned.ratings[places]
    groups = aligned.groups(places)
    if len(places) < len(rated):
        says.append(f"{name}: {len(rated) - len(places)} rated items without a score are left out")
    agreement = None
    if np.ptp(values) > 0 and np.ptp(ratings) > 0:
        agreement = correlation(values, ratings, groups=groups, seed=seed)
        if agreement.side(0) == "below":
            says.append(f"{name}: higher scores go with lower ratings; its map is flat")
    fitted = fit_human_scale(values, ratings, scale=scale, groups=groups, level=level, seed=seed)
    if fitted.radius is None:
        says.append(f"{name}: too few items for a band of {level:.0%}; the band is the whole scale")
    return MetricMap(name, column.signatures[0], fitted, agreement, len(places))


def _blend(
    aligned: Aligned, scale: tuple[float, float], level: float, seed: int, says: list[str]
) -> Blend | None:
    names = list(aligned.columns)
    if len(names) < 2:
        says.append("no blend: there is one metric only")
        return None
    rated = aligned.rated
    table = np.stack([aligned.columns[name].values[rated] for name in names], axis=1)
    kept = ~np.isnan(table).any(axis=1)
    values, ratings = table[kept], aligned.ratings[rated][kept]
    conversations = aligned.items[rated[kept]] >> TURN_BITS
    if len(values) < LEAST or len(np.unique(conversations)) < FEW or np.ptp(ratings) == 0:
        says.append(
            f"no blend: {plural(len(values), 'item')} of "
            f"{plural(len(np.unique(conversations)), 'conversation')} with a rating and every "
            f"score; {LEAST} and {FEW} are needed"
        )
        return None
    fitted = fit_blend(values, ratings, conversations, seed=seed)
    gain, single = fitted.gain, names[fitted.single]
    falls = (
        f"against {single} alone the squared error on unseen conversations falls by "
        f"{with_interval(gain, '+.3f', '.3f')}"
    )
    if gain.side(0) != "above":
        says.append(f"no blend: {falls}, an interval that includes zero")
        return None
    says.append(f"blend: {falls}")
    # The band is fitted on predictions of items that the blend was not fitted to.
    human = fit_human_scale(
        fitted.out_of_fold,
        ratings,
        scale=scale,
        groups=aligned.groups(rated[kept]),
        level=level,
        seed=seed,
    )
    weights = dict(zip(names, map(float, fitted.linear.weights), strict=True))
    return Blend(weights, fitted.linear.intercept, human, gain, single, len(values))


def read_calibration(file: str) -> Calibration:
    """Return the map that ``grice calibrate -o`` wrote."""
    try:
        return msgspec.json.decode(Path(file).read_bytes(), type=Calibration)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {os_reason(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{file}: not a map of grice calibrate ({error}); write one with grice calibrate "
            "LABELS.jsonl OUT.jsonl -o MAP.json"
        ) from None


def apply(
    calibration: Calibration, scores: str, *, across_signatures: bool = False
) -> Iterator[Calibrated]:
    """Yield the scores of a file on the human scale, conversation by conversation."""
    table = read_table(scores)
    fitted = {each.metric: each for each in calibration.maps}
    columns = {name: table.metrics[name] for name in table.metrics if name in fitted}
    if not columns:
        raise InputError(f"{scores}: no scores of {', '.join(fitted)}, which the map is for")
    for name, column in columns.items():
        for signature in column.signatures:
            if not across_signatures and signature != fitted[name].signature:
                raise InputError(
                    f"{scores}: {name} was computed otherwise than for the map\n"
                    f"  map:  {fitted[name].signature}\n  here: {signature}\n"
                    "  fit a new map, or give --across-signatures"
                )
    units = {name: column.per_unit(calibration.unit) for name, column in columns.items()}
    items = np.unique(np.concatenate([column.items for column in units.values()]))
    maps = {name: (fitted[name].map, fitted[name].signature) for name in units}
    placed = {name: column.on(items) for name, column in units.items()}
    blend = calibration.blend
    if blend is not None:
        placed[BLEND] = _blended(blend, placed, items)
        maps[BLEND] = blend.map, BLEND
    fingerprint = hashlib.sha256(msgspec.json.encode(calibration)).hexdigest()[:8]
    names = table.ids.names()
    for place, item in enumerate(items.tolist()):
        for name, column in placed.items():
            status = int(column.statuses[place])
            if status < 0:
                continue
            value = float(column.given[place])
            human, signature = maps[name]
            band = human.at(value) if status == OK else None
            yield Calibrated(
                names[item >> TURN_BITS],
                turn_of(item),
                name,
                band.value if band else None,
                band.low if band else None,
                band.high if band else None,
                human.level,
                None if math.isnan(value) else value,
                STATUSES[status],
                f"{signature}|human:{fingerprint}",
            )


def _blended(blend: Blend, columns: Mapping[str, MetricScores], items: Integers) -> MetricScores:
    """Return the blend of metrics on items; a missing score counts as failed."""
    total, statuses = np.full(len(items), blend.intercept), np.full(len(items), OK, np.int8)
    for name, weight in blend.weights.items():
        part = columns[name] if name in columns else NOTHING.on(items)
        lost = np.where(part.statuses < 0, FAILED, part.statuses).astype(np.int8)
        statuses = np.where(statuses == OK, lost, statuses)
        total += weight * part.given
    return MetricScores(items, np.where(statuses == OK, total, np.nan), statuses, ())


def fit_blend(values: Floats, ratings: Floats, groups: Integers, *, seed: int) -> Blended:
    """Return the blend of the columns and its gain on unseen conversations."""
    together, each = [[*range(values.shape[1])]], [[place] for place in range(values.shape[1])]
    folds = _folds(groups, seed)
    blend, single = np.empty(len(ratings)), np.empty(len(ratings))
    for fold in range(FOLDS):
        kept, out = folds != fold, folds == fold
        inner = _folds(groups[kept], seed + 1 + fold)
        # The single metric is shrunk as freely as the blend: shrinking is no merit of blending.
        for predicted, choices in ((blend, together), (single, each)):
            columns, penalty = _best(values[kept], ratings[kept], inner, choices)
            fitted = _fit(values[kept][:, columns], ratings[kept], penalty)
            predicted[out] = fitted.at(values[out][:, columns])
    _, penalty = _best(values, ratings, folds, together)
    # The jackknife's, not that of a mean: among cross-validated gains of useless metrics the
    # correction for skewness raises the lower bound too often.
    squares = (ratings - single) ** 2 - (ratings - blend) ** 2
    gain = resampled_estimate(
        weighted.means(squares[:, None]), len(squares), "mean", groups=joined(groups)
    )
    [best], _ = _best(values, ratings, folds, each)
    return Blended(_fit(values, ratings, penalty), gain, blend, best)


def _folds(groups: Integers, seed: int) -> Integers:
    codes = joined(groups)
    order = np.random.default_rng(seed).permutation(int(codes.max()) + 1)
    return np.asarray(order[codes] % FOLDS, np.int64)


def _fit(values: Floats, ratings: Floats, penalty: float) -> Linear:
    centre, spread = values.mean(axis=0), values.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    n, k = values.shape
    rows = np.vstack([(values - centre) / spread, np.sqrt(penalty * n) * np.eye(k)])
    wanted = np.concatenate([ratings - ratings.mean(), np.zeros(k)])
    weights = scipy_module("optimize").nnls(rows, wanted)[0] / spread
    return Linear(weights, float(ratings.mean() - centre @ weights))


def _best(
    values: Floats, ratings: Floats, folds: Integers, choices: Sequence[list[int]]
) -> tuple[list[int], float]:
    """Return the columns and the penalty with the least cross-validated squared error."""

    def error(choice: tuple[list[int], float]) -> float:
        columns, penalty = values[:, choice[0]], choice[1]
        errors = []
        for fold in range(FOLDS):
            out = folds == fold
            if out.any() and not out.all():
                fitted = _fit(columns[~out], ratings[~out], penalty)
                errors.append(float(((ratings[out] - fitted.at(columns[out])) ** 2).sum()))
        return sum(errors)

    return min(product(choices, PENALTIES), key=error)
