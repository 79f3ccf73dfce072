"""Map scores to the scale of human ratings, each with a prediction band, from a few ratings.

The map of each metric is fitted to rated items and written to a file that can be applied to
further scores.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from grice.data import Status
from grice.errors import InputError, os_reason
from grice.evaluation.table import (
    OK,
    STATUSES,
    TURN_BITS,
    Aligned,
    Unit,
    align,
    read_table,
    turn_of,
)
from grice.stats.correlations import correlation
from grice.stats.estimate import FEW, Estimate
from grice.stats.inference import HumanScale, fit_human_scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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
