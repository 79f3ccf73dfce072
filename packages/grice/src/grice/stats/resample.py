"""The resampling engine: jackknife, percentile bootstrap, random swaps.

A resample is a row of weights, how often each item was drawn. A statistic maps a block of such
rows to one row of numbers each, so that thousands of resamples are a few matrix products.

The jackknife holds its promise for smooth statistics (``bench/coverage.md``). A statistic that
changes by steps, such as a share of orders that are right, takes the bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from grice.stats.estimate import LEVEL, Estimate, clamp, few_units, scipy_module
from grice.stats.inputs import Floats, Integers

Statistic: TypeAlias = Callable[[Floats], Floats]
"""Maps weights of shape (rows, items) to values of shape (rows, k); NaN where undefined."""
ResamplingKind: TypeAlias = Literal["jackknife", "percentile"]
Bounded: TypeAlias = Literal["no", "by one", "share", "correlation"]
"""How an interval by jackknife is kept within the range of the statistic."""

RESAMPLES = 2000
BLOCK = 1 << 20
"""Most weights in one block: 8 MiB."""
BATCHES = 500
"""Most parts left out in turn by the jackknife; more tell nothing new of the spread."""


class Resampled(NamedTuple):
    """A statistic on the data, shape (k,), and on resamples of it, shape (rows, k)."""

    values: Floats
    draws: Floats
    kind: ResamplingKind
    n: int
    groups: int | None
    seed: int


def resample(
    statistic: Statistic,
    n: int,
    *,
    groups: Integers | None = None,
    kind: ResamplingKind = "jackknife",
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Resampled:
    """Return the statistic on the data and on resamples of items, or of whole groups."""
    values = statistic(np.ones((1, n)))[0]
    units = n if groups is None else int(groups.max()) + 1
    rng = np.random.default_rng(seed)
    draws = [np.empty((0, len(values)))]
    if units > 1:  # with the only conversation drawn or left out there is nothing to learn
        parts = min(units, BATCHES) if kind == "jackknife" else resamples
        # Units are put into batches at random: neighbours in a sorted list are alike.
        batch = rng.permutation(units) % parts if kind == "jackknife" else None
        for rows in _blocks(parts, n):
            if batch is None:
                drawn = (rng.integers(0, units, units) for _ in rows)
                weights = np.stack([np.bincount(unit, minlength=units) for unit in drawn])
            else:
                weights = (batch != np.asarray(rows)[:, None]).astype(np.int64)
            items = weights if groups is None else weights.take(groups, axis=1)
            draws.append(statistic(items.astype(np.float64)))
    drawn_of = None if groups is None else units
    return Resampled(values, np.concatenate(draws), kind, n, drawn_of, seed)


def _blocks(rows: int, n: int) -> Iterator[range]:
    step = max(1, BLOCK // max(1, n))
    for start in range(0, rows, step):
        yield range(start, min(rows, start + step))


def differences(drawn: Resampled, pairs: Sequence[tuple[int, int]]) -> Resampled:
    """Return the difference of each pair of columns on the very same resamples."""
    first, second = (list(side) for side in zip(*pairs, strict=True))
    values, draws = drawn.values, drawn.draws
    return drawn._replace(
        values=values[first] - values[second], draws=draws[:, first] - draws[:, second]
    )


def estimate(
    resampled: Resampled,
    column: int = 0,
    *,
    what: str,
    value: float | None = None,
    bounded: Bounded = "no",
) -> Estimate:
    """Return one column of the resampled values as an estimate."""
    value = float(resampled.values[column]) if value is None else value
    draws = resampled.draws[:, column]
    units = resampled.n if resampled.groups is None else resampled.groups
    unit = "items" if resampled.groups is None else "conversations"
    if units < 2:
        note = "the variance cannot be estimated from one conversation"
        low = high = None
    elif resampled.kind == "jackknife":
        low, high, note = _jackknife_bounds(value, draws, bounded, resampled.n)
        what = f"{what}, jackknife over {unit}, Student's t"
        if len(draws) < units:
            what += f" over {len(draws)} random parts, seed {resampled.seed}"
    else:
        low, high, note = _bootstrap_bounds(value, draws)
        what += f", percentile bootstrap of {unit}, {len(draws)} resamples, seed {resampled.seed}"
    notes = "; ".join(filter(None, (note, few_units(units, unit)))) or None
    return Estimate(value, low, high, LEVEL, resampled.n, what, resampled.groups, notes)


def _jackknife_bounds(
    value: float, left_out: Floats, bounded: Bounded, n: int
) -> tuple[float | None, float | None, str]:
    """Return Student's interval with the error of leaving each part out (Tukey 1958).

    The error is itself uncertain, the more so the more a few parts decide it: the degrees of
    freedom are those of a variance with the kurtosis that the parts show (Satterthwaite 1946).
    """
    if not np.isfinite(left_out).all():
        return None, None, "undefined where a part is left out: no interval"
    centre = value
    if bounded == "correlation":
        most = 1 - 3 / (n**3 - n)
        left_out = np.arctanh(np.clip(left_out, -most, most))
        centre = math.atanh(clamp(value, -most, most))
    parts = len(left_out)
    squares = (left_out - left_out.mean()) ** 2
    error = math.sqrt((parts - 1) / parts * float(squares.sum()))
    freedom = float(parts - 1)
    if error > 0:
        kurtosis = float((squares**2).mean() / squares.mean() ** 2)
        freedom = min(freedom, max(1.0, 2 * parts / max(1e-9, kurtosis - 1)))
    half = float(scipy_module("special").stdtrit(freedom, 0.5 + LEVEL / 2)) * error
    low, high = centre - half, centre + half
    if bounded == "correlation":
        low, high = min(value, math.tanh(low)), max(value, math.tanh(high))
    elif bounded != "no":
        low, high = max(low, 0.0) if bounded == "share" else low, min(1.0, high)
    flat = half <= 1e-9 * max(1.0, abs(centre))
    note = "leaving parts out changes nothing: the interval has no width" if flat else ""
    return low, high, note


def _bootstrap_bounds(value: float, draws: Floats) -> tuple[float | None, float | None, str]:
    defined = draws[np.isfinite(draws)]
    undefined = len(draws) - len(defined)
    if undefined > len(draws) / 2:
        return None, None, "undefined on most resamples: no interval"
    # A resampled sum can miss the value by rounding; the bounds never exclude it for that.
    if np.ptp(defined) <= 1e-9 * max(1.0, abs(value)):
        return value, value, "every resample gives the same value: the interval has no width"
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    note = f"undefined on {undefined} of {len(draws)} resamples" if undefined else ""
    return float(low), float(high), note


def random_signs(
    statistic: Statistic, units: int, *, permutations: int, seed: int
) -> tuple[Floats, str]:
    """Return the statistic under random signs per unit, and how they were made.

    A sign of -1 swaps the two systems on a unit. With few units all patterns are tried, which
    makes the test exact; otherwise the data as they came count as one of the patterns.
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
