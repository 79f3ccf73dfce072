"""From a few ratings of people: scores on the human scale, each with a band.

A map is fitted per metric, and a blend of the metrics if it comes nearer to people than the best
of them; the map is a file, applied to as many scores as there are.
"""

from __future__ import annotations

import hashlib
import math
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from grice.errors import InputError, os_reason, plural
from grice.evaluation.scores import ScoreLine, read_score_groups
from grice.evaluation.table import Aligned, Unit, align
from grice.records import Status
from grice.stats import weighted
from grice.stats.correlations import correlation
from grice.stats.estimate import FEW, Estimate, scipy_module
from grice.stats.inference import HumanScale, fit_human_scale
from grice.stats.inputs import Floats, Integers, joined
from grice.stats.resample import resampled_estimate
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BLEND = "blend"
"""Name under which calibrated scores of the blend are written."""
LEAST = 30
"""A blend needs so many items at least; with fewer its gain cannot be told."""
PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0)
FOLDS = 5


class Linear(NamedTuple):
    """``intercept + values @ weights``, of values as the metrics give them."""

    weights: Floats
    intercept: float

    def at(self, values: Floats) -> Floats:
        """Return the sum for rows of values."""
        return np.asarray(values @ self.weights + self.intercept, np.float64)


class Blended(NamedTuple):
    """A fitted blend and what it is worth.

    Attributes:
        gain: By how much the squared error of an unseen item falls against the best single
            metric; worth having if its interval lies above zero.
        out_of_fold: Prediction for each item by a blend fitted without its conversation's fold.
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
    """A weighted sum of metrics on the human scale.

    Attributes:
        gain: Fall of the squared error of an unseen item against the best single metric.
    """

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
        low: Lower end of the band that holds a person's rating with probability ``level``.
        status: ``abstained`` or ``failed`` as the score, or where no reply was judged.
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
    """Fit maps from metrics to the ratings of people.

    Args:
        labels: Ratings; see :func:`grice.evaluation.table.align`.
        scores: Scores of the same items.
        metrics: Which metrics; by default all that score what was rated.
        scale: Lowest and highest possible rating; by default the lowest and highest given.
        level: Share of new items whose rating the band shall hold.

    Raises:
        InputError: If there are too few ratings, or all are alike.
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
    column = aligned.columns[name]
    rated = aligned.rated
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
    return MetricMap(name, column.signature, fitted, agreement, len(places))


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
    conversations = aligned.conversations[rated[kept]]
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
    # The band is set on what the blend says of items it was not fitted to.
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
    """Yield the scores of a file on the human scale, in its order, conversation by conversation."""
    maps = {fitted.metric: fitted for fitted in calibration.maps}
    fingerprint = hashlib.sha256(msgspec.json.encode(calibration)).hexdigest()[:8]
    blend = calibration.blend
    met = False
    for group in read_score_groups(scores):
        known = [line for line in group if line.metric in maps]
        for line in known:
            if not across_signatures and line.signature != maps[line.metric].signature:
                raise InputError(
                    f"{scores}: {line.metric} was computed otherwise than for the map\n"
                    f"  map:  {maps[line.metric].signature}\n  here: {line.signature}\n"
                    "  fit a new map, or give --across-signatures"
                )
        met = met or bool(known)
        for turn, lines in _units(known, calibration.unit).items():
            judged = [(name, *lines[name], maps[name].map, maps[name].signature) for name in lines]
            if blend is not None:
                judged.append((BLEND, *_summed(blend, lines), blend.map, BLEND))
            for name, value, status, human, signature in judged:
                band = human.at(value) if status == "ok" and value is not None else None
                yield Calibrated(
                    group[0].conversation,
                    turn,
                    name,
                    band.value if band else None,
                    band.low if band else None,
                    band.high if band else None,
                    human.level,
                    value,
                    status,
                    f"{signature}|human:{fingerprint}",
                )
    if not met:
        raise InputError(f"{scores}: no scores of {', '.join(maps)}, which the map is for")


Judged: TypeAlias = dict[str, tuple[float | None, Status]]
"""Value and status of each metric."""


def _units(lines: Sequence[ScoreLine], unit: Unit) -> dict[int | None, Judged]:
    """Return what each metric says by turn, or of the conversation as a whole."""
    by_turn: dict[int | None, Judged] = {}
    if unit == "turn":
        for line in lines:
            if line.turn is not None:
                by_turn.setdefault(line.turn, {})[line.metric] = (line.value, line.status)
        return by_turn
    by_metric: dict[str, list[ScoreLine]] = {}
    for line in lines:
        by_metric.setdefault(line.metric, []).append(line)
    whole: Judged = {}
    for name, group in by_metric.items():
        values = [line.value for line in group if line.status == "ok" and line.value is not None]
        statuses: set[Status] = {line.status for line in group}
        lost: Status = "failed" if "failed" in statuses else "abstained"
        whole[name] = (math.fsum(values) / len(values), "ok") if values else (None, lost)
    return {None: whole} if whole else {}


def _summed(blend: Blend, lines: Judged) -> tuple[float | None, Status]:
    total = blend.intercept
    for name, weight in blend.weights.items():
        value, status = lines.get(name, (None, "failed"))
        if status != "ok" or value is None:
            return None, status if status != "ok" else "failed"
        total += weight * value
    return total, "ok"


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
