"""A few ratings and scores of everything: the mean rating, and maps to the human scale.

Ratings are joined with a score file. With a metric on all items, the ratings of a few give the
mean rating of all; a map from a metric to the ratings, with a prediction band, is written to a
file that can be applied to further scores.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

from grice.data import Status
from grice.errors import InputError, RecordError, did_you_mean, os_reason, plural
from grice.evaluation.datasets import FIELDS, RATER, odd_text, ratings_of, understood
from grice.evaluation.scores import any_rows, item_of
from grice.evaluation.table import (
    OK,
    STATUSES,
    TURN_BITS,
    Ids,
    MetricScores,
    Unit,
    read_table,
    turn_of,
)
from grice.stats import mean
from grice.stats.correlations import correlation
from grice.stats.estimate import FEW, Bounds, Estimate
from grice.stats.inference import HumanScale, fit_human_scale, prediction_powered_mean
from grice.stats.inputs import Floats, Integers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


UNLIKE = 0.999
"""Confidence level of the warning that the rated items are no random sample."""
NEAR = 1000
"""Ids searched for one similar to an unknown one."""
LABEL = "a rating with conversation, rating and, of a single reply, turn"


class Aligned(NamedTuple):
    """Ratings and scores over the same items, which are all items of the score file."""

    unit: Unit
    items: Integers
    ratings: Floats
    """Mean rating of each item; NaN where there is none."""
    columns: dict[str, MetricScores]
    remarks: tuple[str, ...]

    def groups(self, places: Integers) -> Integers | None:
        """Return the conversations of some items; None if each item is one of its own."""
        return None if self.unit == "conversation" else self.items[places] >> TURN_BITS

    @property
    def rated(self) -> Integers:
        """Places of the rated items."""
        return np.flatnonzero(~np.isnan(self.ratings))


def align(labels: str, scores: str, metrics: Sequence[str] = ()) -> Aligned:
    """Join a file of ratings with a score file."""
    table = read_table(scores)
    unit, rated, lines = _read_labels(labels, table.ids)
    columns, remarks = {}, []
    for name in metrics or table.metrics:
        column = table.named(name)
        table.signature(name)
        if unit == "turn" and not (column.turns >= 0).any():
            remarks.append(f"{name} scores whole conversations, turns were rated: left out")
        else:
            columns[name] = column.per_unit(unit)
    if not columns:
        raise InputError(f"{scores}: no metric scores single turns, which {labels} rates")
    items = np.unique(np.concatenate([column.items for column in columns.values()]))
    unknown = np.flatnonzero(~np.isin(list(lines), items))
    if len(unknown):
        item = list(lines)[unknown[0]]
        problem = (
            f"{scores} has no score of {table.ids.describe(item)}; turns are counted from 0, and "
            "it holds only turns that were judged"
        )
        raise RecordError(problem, file=labels, line=lines[item], field=unit)
    if missing := sum(not values for values in rated.values()):
        remarks.append(
            f"{plural(missing, 'item')} of {labels} without a rating: taken as not rated"
        )
    ratings = np.full(len(items), np.nan)
    for item, values in rated.items():
        if values:
            ratings[np.searchsorted(items, item)] = sum(values) / len(values)
    there = ratings[~np.isnan(ratings)]
    if len(there) < FEW:
        few = plural(len(there), "item is rated", "items are rated")
        raise InputError(
            f"{labels}: {few}; at least {FEW} are needed, and "
            "with fewer than 30 an interval is wide"
        )
    if np.ptp(there) == 0:
        raise InputError(
            f"{labels}: every rating is {there[0]:g}; nothing can be learned from ratings that "
            "never change"
        )
    placed = {name: column.on(items) for name, column in columns.items()}
    return Aligned(unit, items, ratings, placed, tuple(remarks))


def _read_labels(file: str, ids: Ids) -> tuple[Unit, dict[int, list[float]], dict[int, int]]:
    """Return the rated unit, the ratings of each item, and the line that names it first."""
    ratings: dict[int, list[float]] = {}
    lines: dict[int, int] = {}
    units: dict[Unit, int] = {}
    for number, row in any_rows(file, LABEL):
        problem = field = ""
        conversation, turn = item_of(row, file, number)
        unit: Unit = "conversation" if turn is None else "turn"
        units.setdefault(unit, number)
        given = ratings_of(row)
        names = [name for name in row if name.strip().casefold() in FIELDS]
        raters = [name for name in row if RATER.fullmatch(name.strip())]
        odd = {name: odd_text(row[name]) for name in (*names, *raters)}
        if conversation not in ids.numbers:
            near = did_you_mean(conversation, list(ids.numbers)[:NEAR])
            near = near if near.startswith("; did") else ""
            problem = (
                f"there is no score of conversation {conversation!r}{near}; score the "
                "conversations that were rated, or drop this label"
            )
            field = "conversation"
        elif len(units) > 1:
            [(first, line), _] = units.items()
            problem = f"line {line} rates a {first}, this one a {unit}; give them in two files"
            field = "turn"
        elif wrong := [name for name, text in odd.items() if text is not None]:
            problem = f"expected a number, found {odd[wrong[0]]!r}; {LABEL} is expected"
            field = wrong[0]
        elif len(given) > 1:
            problem, field = f"one rating is expected, found {', '.join(given)}", "ratings"
        elif not given and not names:
            problem, field = f"{understood(row)}; {LABEL} is expected", "rating"
        if problem:
            raise RecordError(problem, file=file, line=number, field=field)
        item = ids.item(conversation, turn)
        lines.setdefault(item, number)
        known = [value for values in given.values() for value in values if value is not None]
        ratings.setdefault(item, []).extend(known)
    return next(iter(units)), ratings, lines


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


class MetricMap(msgspec.Struct, frozen=True):
    """The map of one metric to the human scale."""

    metric: str
    signature: str
    map: HumanScale
    correlation: Estimate | None
    n: int


class Calibration(msgspec.Struct, frozen=True):
    """Maps from scores to ratings, as ``grice calibrate`` writes and applies them."""

    format: Literal["grice-calibration/1"]
    unit: Unit
    maps: tuple[MetricMap, ...]
    says: tuple[str, ...]


class Calibrated(msgspec.Struct, frozen=True):
    """A score on the human scale, in a band; ``score`` is its value on the metric's scale."""

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
    maps = [_map(aligned, name, scale, level, seed, says) for name in aligned.columns]
    return Calibration("grice-calibration/1", aligned.unit, tuple(maps), tuple(says))


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
    if len(places) < len(rated):
        says.append(f"{name}: {len(rated) - len(places)} rated items without a score are left out")
    values, ratings = column.values[places], aligned.ratings[places]
    groups = aligned.groups(places)
    agreement = None
    if np.ptp(values) > 0 and np.ptp(ratings) > 0:
        agreement = correlation(values, ratings, groups=groups, seed=seed)
        if agreement.side(0) == "below":
            says.append(f"{name}: higher scores go with lower ratings; its map is flat")
    fitted = fit_human_scale(values, ratings, scale=scale, groups=groups, level=level, seed=seed)
    if fitted.radius is None:
        says.append(f"{name}: too few items for a band of {level:.0%}; the band is the whole scale")
    return MetricMap(name, column.signatures[0], fitted, agreement, len(places))


def read_calibration(file: str) -> Calibration:
    """Read the maps that ``grice calibrate -o`` wrote."""
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
    maps = {each.metric: each for each in calibration.maps if each.metric in table.metrics}
    if not maps:
        known = ", ".join(each.metric for each in calibration.maps)
        raise InputError(f"{scores}: no scores of {known}, which the map is for")
    for name, fitted in maps.items():
        for signature in table.metrics[name].signatures:
            if not across_signatures and signature != fitted.signature:
                raise InputError(
                    f"{scores}: {name} was computed otherwise than for the map\n"
                    f"  map:  {fitted.signature}\n  here: {signature}\n"
                    "  fit a new map, or give --across-signatures"
                )
    columns = {name: table.metrics[name].per_unit(calibration.unit) for name in maps}
    items = np.unique(np.concatenate([column.items for column in columns.values()]))
    placed = [(maps[name], columns[name].on(items)) for name in table.metrics if name in maps]
    fingerprint = hashlib.sha256(msgspec.json.encode(calibration)).hexdigest()[:8]
    names = table.ids.names()
    for place, item in enumerate(items.tolist()):
        for fitted, column in placed:
            status, value = int(column.statuses[place]), float(column.given[place])
            if status < 0:
                continue
            band = fitted.map.at(value) if status == OK else None
            yield Calibrated(
                names[item >> TURN_BITS],
                turn_of(item),
                fitted.metric,
                band.value if band else None,
                band.low if band else None,
                band.high if band else None,
                fitted.map.level,
                None if math.isnan(value) else value,
                STATUSES[status],
                f"{fitted.signature}|human:{fingerprint}",
            )
