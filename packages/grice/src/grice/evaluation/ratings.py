"""Estimates from a few ratings and many scores: the mean rating, maps to the human scale."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from grice.data import Status
from grice.errors import InputError, RecordError, did_you_mean, os_reason, plural
from grice.evaluation.datasets import is_rating, odd_text, ratings_of, understood
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

UNLIKE = 0.999  # confidence level of the warning that the rated items are no random sample
UNBOUNDED = 50
"""Rated conversations from which an interval without a scale holds, if ratings are skewed: at 20 or
30 it misses up to 11 % (``bench/coverage.md``). No figure of the sample tells: rare ratings that
make it miss are those that the sample lacks."""
NEAR = 1000  # ids searched for one similar to an unknown one
LABEL = "a rating with conversation, rating and, of a single reply, turn"


class Aligned(NamedTuple):
    """Ratings and scores over the same items, which are all items of the score file."""

    unit: Unit
    items: Integers
    ratings: Floats  # mean rating of each item; NaN if missing
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
    unit, rated = _read_labels(labels, table.ids)
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
    for item in np.array(list(rated))[~np.isin(list(rated), items)].tolist():
        problem = (
            f"{scores} has no score of {table.ids.describe(item)}; turns are counted from 0, and "
            "it holds only turns that were judged"
        )
        raise RecordError(problem, file=labels, line=rated[item][0], field=unit)
    if missing := sum(not values for _, values in rated.values()):
        without = plural(missing, "item")
        remarks.append(f"{without} of {labels} without a rating: treated as not rated")
    ratings = np.full(len(items), np.nan)
    for item, (_, values) in rated.items():
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
        raise InputError(f"{labels}: every rating is {there[0]:g}; different ratings are needed")
    placed = {name: column.on(items) for name, column in columns.items()}
    return Aligned(unit, items, ratings, placed, tuple(remarks))


def _read_labels(file: str, ids: Ids) -> tuple[Unit, dict[int, tuple[int, list[float]]]]:
    """Return the rated unit, and for each item the line that names it first and its ratings."""
    rated: dict[int, tuple[int, list[float]]] = {}
    units: dict[Unit, int] = {}
    for number, row in any_rows(file, LABEL):
        problem = field = ""
        conversation, turn = item_of(row, file, number)
        unit: Unit = "conversation" if turn is None else "turn"
        units.setdefault(unit, number)
        given, fields = ratings_of(row), [name for name in row if is_rating(name)]
        odd = ((name, odd_text(row[name])) for name in fields)
        if conversation not in ids.numbers:
            near = did_you_mean(conversation, list(ids.numbers)[:NEAR])
            near = near if near.startswith("; did") else ""
            problem, field = f"there is no score of conversation {conversation!r}", "conversation"
            problem += f"{near}; score the conversations that were rated, or drop this label"
        elif len(units) > 1:
            [(first, line), _] = units.items()
            problem = f"line {line} rates a {first}, this one a {unit}; give them in two files"
            field = "turn"
        elif wrong := next(((name, text) for name, text in odd if text is not None), None):
            field, text = wrong
            problem = f"expected a number, found {text!r}; {LABEL} is expected"
        elif len(given) > 1:
            problem, field = f"one rating is expected, found {', '.join(given)}", "ratings"
        elif not fields:
            problem, field = f"{understood(row)}; {LABEL} is expected", "rating"
        if problem:
            raise RecordError(problem, file=file, line=number, field=field)
        known = [value for values in given.values() for value in values if value is not None]
        rated.setdefault(ids.item(conversation, turn), (number, []))[1].extend(known)
    return next(iter(units)), rated


class MetricEstimate(msgspec.Struct, frozen=True):
    """The mean rating with the help of one metric, used to the extent ``weight``."""

    metric: str
    mean: Estimate
    weight: float
    labels_saved: float | None  # further labels of the same effect; below 0: no help; None: unknown
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

    Intervals are limited to the lowest and highest possible rating, by default 0 to 1 if all
    ratings are in that range. Without a scale, a note asks for 50 rated conversations.

    Raises:
        InputError: If fewer than ten items are rated, all alike, one outside of the scale, or all
            that are scored.
    """
    aligned = align(labels, scores, metrics)
    rated = aligned.rated
    others = len(aligned.ratings) - len(rated)
    if not others:
        raise InputError(
            f"every item of {scores} is rated; give scores of more conversations than were rated, "
            "or take the mean of the ratings"
        )
    ratings, remarks = aligned.ratings[rated], aligned.remarks
    if scale is None and ratings.min() >= 0 and ratings.max() <= 1:
        scale = (0.0, 1.0)
        remarks += ("the scale is taken to be 0 to 1; state it with --scale LOW HIGH",)
    alone = mean(ratings, groups=aligned.groups(rated), bounds=scale, level=level)
    if scale is None and (alone.groups or alone.n) < UNBOUNDED:
        remarks += (
            f"without a scale, fewer than {UNBOUNDED} rated conversations may lack rare high or "
            "low ratings, and then the interval misses the mean too often: state the scale with "
            "--scale LOW HIGH, or rate more",
        )
    powered = tuple(_powered(aligned, name, scale, level) for name in aligned.columns)
    return EstimateResult(aligned.unit, len(rated), others, alone, powered, remarks)


def _powered(aligned: Aligned, name: str, scale: Bounds | None, level: float) -> MetricEstimate:
    column = aligned.columns[name]
    there = ~np.isnan(column.given)
    # The estimate is unbiased for any fill value.
    values = np.where(there, column.given, column.given[there].mean() if there.any() else 0.0)
    rated, others = aligned.rated, np.flatnonzero(np.isnan(aligned.ratings))
    groups, other_groups = aligned.groups(rated), aligned.groups(others)
    powered = prediction_powered_mean(
        aligned.ratings[rated], values[rated], values[others],
        groups=groups, unlabelled_groups=other_groups, bounds=scale, level=level,
    )  # fmt: skip
    saved = powered.worth - len(rated) if math.isfinite(powered.worth) else None
    if saved is None:
        says = [f"{name} predicts every rating exactly; the saving cannot be estimated"]
    elif saved < 0.5:
        says = [f"{name} saves no labels here: use the labels alone"]
    else:
        says = [f"{name} is worth {saved:.0f} more labels in addition to the {len(rated)} given"]
    first = mean(values[rated], groups=groups, level=UNLIKE)
    second = mean(values[others], groups=other_groups, level=UNLIKE)
    halves = [side.high - side.value for side in (first, second) if side.high is not None]
    if len(halves) == 2 and abs(first.value - second.value) > math.hypot(*halves):
        says.append(
            f"the rated items differ from the others in {name} ({first.value:.3f} against "
            f"{second.value:.3f}): they are probably not a random sample, so the mean may be biased"
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
    rating. ``level`` is the share of new items whose rating the band holds, 0 to 1.

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
    maps, rated = [], aligned.rated
    for name, column in aligned.columns.items():
        places = rated[~np.isnan(column.values[rated])]
        if len(places) < FEW:
            raise InputError(
                f"{name}: {len(places)} of {len(rated)} rated items have a score with status ok; "
                f"at least {FEW} are needed (choose other metrics with -m)"
            )
        if lost := len(rated) - len(places):
            says.append(f"{name}: {lost} rated items without a score are left out")
        values, ratings = column.values[places], aligned.ratings[places]
        groups = aligned.groups(places)
        agreement = None
        if np.ptp(values) > 0 and np.ptp(ratings) > 0:
            agreement = correlation(values, ratings, groups=groups, seed=seed)
            if agreement.side(0) == "below":
                says.append(f"{name}: higher scores go with lower ratings; its map is flat")
        fit = fit_human_scale(values, ratings, scale=scale, groups=groups, level=level, seed=seed)
        if fit.radius is None:
            few = f"too few items for a band of {level:.0%}; the band is the whole scale"
            says.append(f"{name}: {few}")
        maps.append(MetricMap(name, column.signatures[0], fit, agreement, len(places)))
    return Calibration("grice-calibration/1", aligned.unit, tuple(maps), tuple(says))


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
        raise InputError(f"{scores}: no scores of {known}, which the map needs")
    for name, fitted in maps.items():
        for signature in table.metrics[name].signatures:
            if not across_signatures and signature != fitted.signature:
                raise InputError(
                    f"{scores}: {name} was computed with other settings than for the map\n"
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
                conversation=names[item >> TURN_BITS],
                turn=turn_of(item),
                metric=fitted.metric,
                value=band.value if band else None,
                low=band.low if band else None,
                high=band.high if band else None,
                level=fitted.map.level,
                score=None if math.isnan(value) else value,
                status=STATUSES[status],
                signature=f"{fitted.signature}|human:{fingerprint}",
            )
