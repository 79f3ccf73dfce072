"""The one resampling engine: bootstrap, jackknife, intervals, random swaps.

A resample is a row of weights, how often each item was drawn. A statistic maps a block of such
rows to one row of numbers each, so that thousands of resamples are a few matrix products, and a
block never holds more than :data:`BLOCK` weights, whatever the number of items. Drawing whole
conversations instead of items keeps what their items share.

Every resample has the size of the data; the spread of the resampled values is the standard
error as it is and is never divided by anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from grice.errors import InputError, did_you_mean
from grice.stats.estimate import Estimate, few_units, scipy_module
from grice.stats.inputs import Floats, Integers, check_level

if TYPE_CHECKING:
    from collections.abc import Iterator

Statistic: TypeAlias = Callable[[Floats], Floats]
"""Maps weights of shape (rows, items) to values of shape (rows, k); NaN where undefined."""
ResamplingKind: TypeAlias = Literal["jackknife", "percentile", "bca"]
"""Leaving conversations out in turn with Student's quantile, or one of two bootstraps."""

Bounded: TypeAlias = Literal["no", "by one", "share", "correlation"]
"""How an interval by jackknife is kept within the range of the statistic."""

KINDS = ("jackknife", "percentile", "bca")

BLOCK = 1 << 20
"""Most weights in one block: 8 MiB."""
BATCHES = 500
"""Most parts left out in turn by the jackknife; more tell nothing new of spread or skewness."""


class Resampled(NamedTuple):
    """What the statistic gives on the data and on resamples of it.

    Attributes:
        draws: On each resample, shape (resamples, k); NaN where undefined. Empty for ``jackknife``.
        left_out: With each part left out, shape (parts, k). Empty for ``percentile``.
    """

    values: Floats
    draws: Floats
    left_out: Floats
    kind: ResamplingKind
    n: int
    groups: int | None
    seed: int


def resample(
    statistic: Statistic,
    n: int,
    *,
    groups: Integers | None = None,
    kind: ResamplingKind = "bca",
    resamples: int = 2000,
    seed: int = 0,
) -> Resampled:
    """Return the statistic on the data and on resamples of items, or of whole groups."""
    if resamples < 100:
        raise InputError(f"resamples={resamples}: at least 100 are needed for an interval")
    if kind not in KINDS:
        raise InputError(f"interval={kind!r}{did_you_mean(kind, KINDS)}")
    values = statistic(np.ones((1, n)))[0]
    draws = left_out = np.empty((0, len(values)))
    units = n if groups is None else int(groups.max()) + 1
    if units < 2:  # with the only conversation drawn or left out there is nothing to learn
        return Resampled(values, draws, left_out, kind, n, None if groups is None else units, seed)
    if kind != "jackknife":
        draws = bootstrap(statistic, n, groups=groups, resamples=resamples, seed=seed)
    if kind != "percentile":
        left_out = jackknife(statistic, n, groups=groups, seed=seed)
    return Resampled(values, draws, left_out, kind, n, None if groups is None else units, seed)


def differences(drawn: Resampled, pairs: Sequence[tuple[int, int]]) -> Resampled:
    """Return the difference of each pair of columns on the very same resamples."""
    first, second = (list(side) for side in zip(*pairs, strict=True))
    return drawn._replace(
        values=drawn.values[first] - drawn.values[second],
        draws=drawn.draws[:, first] - drawn.draws[:, second],
        left_out=drawn.left_out[:, first] - drawn.left_out[:, second],
    )


def bootstrap(
    statistic: Statistic, n: int, *, groups: Integers | None, resamples: int, seed: int
) -> Floats:
    """Return the statistic on so many resamples, shape (resamples, k)."""
    rng = np.random.default_rng(seed)
    units = n if groups is None else int(groups.max()) + 1

    def draw() -> Floats:
        drawn = np.bincount(rng.integers(0, units, units), minlength=units)
        return np.asarray(drawn if groups is None else drawn[groups], np.float64)

    return np.concatenate(
        [statistic(np.stack([draw() for _ in rows])) for rows in _blocks(resamples, n)]
    )


def jackknife(statistic: Statistic, n: int, *, groups: Integers | None, seed: int) -> Floats:
    """Return the statistic with each item, conversation or batch of them left out in turn."""
    units = n if groups is None else int(groups.max()) + 1
    parts = min(units, BATCHES)
    # Which units share a batch is left to chance: neighbours in a sorted list are alike.
    batch = np.random.default_rng(seed).permutation(units) % parts
    part = batch if groups is None else batch[groups]
    return np.concatenate(
        [
            statistic((part[None, :] != np.asarray(rows)[:, None]).astype(np.float64))
            for rows in _blocks(parts, n)
        ]
    )


def _blocks(rows: int, n: int) -> Iterator[range]:
    step = max(1, BLOCK // max(1, n))
    for start in range(0, rows, step):
        yield range(start, min(rows, start + step))


def estimate(
    resampled: Resampled,
    column: int = 0,
    *,
    level: float = 0.95,
    what: str,
    n: int | None = None,
    value: float | None = None,
    bounded: Bounded = "no",
) -> Estimate:
    """Return one column of the resampled values as an estimate."""
    check_level(level)
    value = float(resampled.values[column]) if value is None else value
    draws = resampled.draws[:, column]
    defined = draws[np.isfinite(draws)]
    units = resampled.n if resampled.groups is None else resampled.groups
    unit = "items" if resampled.groups is None else "conversations"
    if units < 2:
        low, high, notes = None, None, ["one conversation alone says nothing of the spread"]
    elif resampled.kind == "jackknife":
        left_out = resampled.left_out[:, column]
        low, high, notes = _jackknife_bounds(value, left_out, level, bounded, resampled.n)
        what = f"{what}, jackknife over {unit}, Student's t"
        if len(left_out) < units:
            what += f" over {len(left_out)} random parts, seed {resampled.seed}"
    else:
        low, high, notes = _bootstrap_bounds(resampled, column, value, defined, level)
    if few := few_units(units, unit):
        notes.append(few)
    if resampled.kind != "jackknife":
        name = "BCa" if resampled.kind == "bca" else "percentile"
        what += f", {name} bootstrap of {unit}, {len(draws)} resamples, seed {resampled.seed}"
        if 0 < len(defined) < len(draws):
            notes.append(f"undefined on {len(draws) - len(defined)} of {len(draws)} resamples")
    items = resampled.n if n is None else n
    return Estimate(
        value, low, high, level, items, what, resampled.groups, "; ".join(notes) or None
    )


class Sampling(NamedTuple):
    """How an interval is made."""

    kind: ResamplingKind = "jackknife"
    level: float = 0.95
    resamples: int = 2000
    seed: int = 0


def resampled_estimate(
    statistic: Statistic,
    n: int,
    what: str,
    sampling: Sampling,
    *,
    groups: Integers | None = None,
    items: int | None = None,
    value: float | None = None,
    bounded: Bounded = "no",
) -> Estimate:
    """Return a statistic of one column with its interval."""
    kind, level, resamples, seed = sampling
    drawn = resample(statistic, n, groups=groups, kind=kind, resamples=resamples, seed=seed)
    return estimate(drawn, level=level, what=what, n=items, value=value, bounded=bounded)


Bounds: TypeAlias = "tuple[float | None, float | None, list[str]]"


def _jackknife_bounds(value: float, left_out: Floats, level: float, bounded: str, n: int) -> Bounds:
    """Return Student's interval with the error of leaving each part out (Tukey 1958).

    The error is itself uncertain, the more so the more a few parts decide it: the degrees of
    freedom are those of a variance with the kurtosis that the parts show (Satterthwaite 1946).
    """
    if not np.isfinite(left_out).all():
        return None, None, ["undefined where a part is left out: no interval"]
    centre = value
    if bounded == "correlation":
        most = 1 - 3 / (n**3 - n)
        left_out = np.arctanh(np.clip(left_out, -most, most))
        centre = math.atanh(min(most, max(-most, value)))
    parts = len(left_out)
    squares = (left_out - left_out.mean()) ** 2
    error = math.sqrt((parts - 1) / parts * float(squares.sum()))
    freedom = float(parts - 1)
    if error > 0:
        kurtosis = float((squares**2).mean() / squares.mean() ** 2)
        freedom = min(freedom, max(1.0, 2 * parts / max(1e-9, kurtosis - 1)))
    half = float(scipy_module("special").stdtrit(freedom, 0.5 + level / 2)) * error
    low, high = centre - half, centre + half
    if bounded == "correlation":
        low, high = min(value, math.tanh(low)), max(value, math.tanh(high))
    elif bounded != "no":
        low, high = max(low, 0.0) if bounded == "share" else low, min(1.0, high)
    if half <= 1e-9 * max(1.0, abs(centre)):
        return low, high, ["leaving parts out changes nothing: the interval has no width"]
    return low, high, []


def _bootstrap_bounds(
    resampled: Resampled, column: int, value: float, defined: Floats, level: float
) -> Bounds:
    if len(defined) < len(resampled.draws) / 2:
        return None, None, ["undefined on most resamples: no interval"]
    tails = [(1 - level) / 2, (1 + level) / 2]
    if resampled.kind == "bca":
        tails = _corrected(tails, value, defined, resampled.left_out[:, column])
    # A resampled sum can miss the value by rounding; the bounds never exclude it for that.
    if np.ptp(defined) <= 1e-9 * max(1.0, abs(value)):
        return value, value, ["every resample gives the same value: the interval has no width"]
    low, high = (float(bound) for bound in np.quantile(defined, tails))
    return low, high, []


def _corrected(tails: list[float], value: float, draws: Floats, left_out: Floats) -> list[float]:
    """Return the tails of the BCa interval (Efron 1987; DiCiccio and Efron 1996)."""
    normal = NormalDist()
    rounding = 1e-12 * max(1.0, abs(value))
    below = np.mean(draws < value - rounding) + np.mean(np.abs(draws - value) <= rounding) / 2
    edge = 0.5 / len(draws)
    bias = normal.inv_cdf(min(1 - edge, max(edge, float(below))))
    left_out = left_out[np.isfinite(left_out)]
    distance = left_out.mean() - left_out if len(left_out) else np.zeros(1)
    squares = float(np.sum(distance**2))
    acceleration = float(np.sum(distance**3)) / (6 * squares**1.5) if squares > 0 else 0.0
    corrected = []
    for tail in tails:
        shifted = bias + normal.inv_cdf(tail)
        corrected.append(normal.cdf(bias + shifted / (1 - acceleration * shifted)))
    return corrected


def random_signs(
    statistic: Statistic, units: int, *, permutations: int, seed: int
) -> tuple[Floats, str]:
    """Return the statistic under random signs per unit, and how they were made.

    A sign of -1 swaps the two systems on a unit. With few units all patterns are gone through,
    which makes the test exact; otherwise the data as they came count as one of the patterns.
    """
    if units <= 60 and 2**units <= permutations:
        patterns = (np.arange(2**units)[:, None] >> np.arange(units)[None, :]) & 1
        return statistic(np.where(patterns, -1.0, 1.0)), f"all {2**units} swaps"
    rng = np.random.default_rng(seed)
    values = [statistic(np.ones((1, units)))]
    for rows in _blocks(permutations, units):
        signs = rng.integers(0, 2, (len(rows), units), dtype=np.int8)
        values.append(statistic(np.where(signs, -1.0, 1.0)))
    return np.concatenate(values), f"{permutations} random swaps, seed {seed}"
