"""Drawings of the pages: an axis for the templates, and shapes that take more than one."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

BINS = 20  # bins of a histogram, at most 24: a browser keeps the set of a speaker's bins in 31 bits
HEIGHT = 66.0  # height of the highest bar of a histogram
WIDTH = 320  # width of each drawing in its own units
MOST = 600  # maximum number of points in a scatter plot; more are subsampled evenly
JITTER = 0.02
"""Jitter of ratings, which have few distinct values, as a share of the range; deterministic."""
STEPS = 24


class Axis(NamedTuple):
    """Places of values on a line: the low end lies at ``start``, the high one at ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        share = (value - self.low) / (self.high - self.low)
        return float(self.start + (self.end - self.start) * share)

    def inside(self, value: float) -> float:
        """Return the place of a value, clipped to the ends."""
        ends = sorted((self.start, self.end))
        return min(max(self(value), ends[0]), ends[1])


class Bar(NamedTuple):
    """One bar of a histogram: its text when pointed at, its ends on the axis, its height."""

    label: str
    left: float
    right: float
    height: float


class Histogram:
    """Counts values as they come, in bins between the bounds of a metric.

    Where a bound is infinite, ``extent`` (the least and the largest value, in the wrong order if
    there is none) decides.
    """

    def __init__(self, bounds: tuple[float, float], extent: tuple[float, float]) -> None:
        self.edges = _bin_edges(bounds, extent)  # a bin holds its lower edge, the last one both
        self.counts = [0] * (len(self.edges) - 1)  # a value outside counts in the nearest bin
        self.outside = 0  # values outside of the edges
        self.axis = Axis(self.edges[0], self.edges[-1], 1.0, WIDTH - 1.0)
        # Enough digits for a hundredth of the axis.
        self.decimals = min(max(2 - math.floor(math.log10(self.edges[-1] - self.edges[0])), 0), 9)

    def add(self, value: float) -> int:
        """Count a value and return the number of its bin."""
        place = min(max(bisect_right(self.edges, value) - 1, 0), len(self.counts) - 1)
        self.counts[place] += 1
        self.outside += not self.edges[0] <= value <= self.edges[-1]
        return place

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield place and text of the ticks: both ends, and the edge in the middle."""
        for edge in (self.edges[0], self.edges[(len(self.edges) - 1) // 2], self.edges[-1]):
            yield self.axis.inside(edge), number(edge, self.decimals)

    def bars(self, noun: str) -> Iterator[Bar]:
        """Yield a bar for each bin."""
        total, highest = sum(self.counts), max(self.counts) or 1
        for count, (low, high) in zip(self.counts, pairwise(self.edges), strict=True):
            # A bin that is not empty stays visible however small its share is.
            height = max(HEIGHT * count / highest, 1.0) if count else 0.0
            share = f" ({100 * count / total:.1f} %)" if total else ""
            ends = f"{number(low, self.decimals)} to {number(high, self.decimals)}"
            label = f"{ends}: {count:,} {noun}{share}"
            yield Bar(label, self.axis.inside(low), self.axis.inside(high), height)


def _bin_edges(bounds: tuple[float, float], extent: tuple[float, float]) -> tuple[float, ...]:
    """Return the edges of the bins, ascending, one more than there are bins."""
    low, high = bounds
    if math.isfinite(low) and math.isfinite(high) and low < high:
        width = (high - low) / BINS
        return tuple(float(f"{low + i * width:.15g}") for i in range(BINS + 1))
    smallest, largest = extent if extent[0] <= extent[1] else (0.0, -math.inf)
    low = low if math.isfinite(low) else smallest
    high = high if math.isfinite(high) else largest
    high = high if high > low else low + 1.0
    least = (high - low) / BINS
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if power * factor >= least)
    first, last = math.floor(low / step), math.ceil(high / step)
    return tuple(float(f"{i * step:.15g}") for i in range(first, max(last, first + 1) + 1))


def number(value: float, places: int) -> str:
    """Return a number for readers, with a true minus sign."""
    return f"{value:,.{places}f}".replace("-", "\N{MINUS SIGN}")


class Scatter(NamedTuple):
    """A scatter plot, 208 high."""

    points: tuple[tuple[float, float], ...]  # centres of the points that are drawn
    line: tuple[float, float, float, float]  # ends of the regression line
    band: str  # outline of its 95 % band, as points of a polygon
    x_ticks: tuple[tuple[float, str], ...]  # place and text, of the ratings
    y_ticks: tuple[tuple[float, str], ...]  # of the metric


def scatter(pairs: Sequence[tuple[float, float]]) -> Scatter:
    """Return the plot of (rating, value) pairs of which neither side is constant."""
    data = np.asarray(pairs, np.float64)
    low, high, span = data.min(axis=0), data.max(axis=0), np.ptp(data, axis=0)
    across = Axis(low[0], high[0], 34.0, 314.0)
    up = Axis(low[1], high[1], 176.0, 6.0)

    def at(rating: float, value: float) -> tuple[float, float]:
        return round(across(rating), 1), round(up.inside(value), 1)

    grid = np.linspace(low[0], high[0], STEPS)
    # Least squares, and half the width of the 95 % band.
    ratings, values = data.T
    centre = float(ratings.mean())
    squares = float(((ratings - centre) ** 2).sum())
    slope = float(((ratings - centre) * (values - values.mean())).sum()) / squares
    start = float(values.mean()) - slope * centre
    rest = values - slope * ratings - start
    error = float(np.sqrt((rest**2).sum() / max(1, len(data) - 2)))
    middle = slope * grid + start
    spread = 1.96 * error * np.sqrt(1 / len(data) + (grid - centre) ** 2 / squares)
    outline = [*map(at, grid, middle + spread), *map(at, grid[::-1], (middle - spread)[::-1])]
    drawn = data[:: max(1, -(-len(data) // MOST))]
    # Low-discrepancy shifts: the same page for the same data.
    shift = (np.arange(len(drawn)) * 0.6180339887) % 1 - 0.5
    moved = drawn[:, 0] + shift * 2 * JITTER * span[0]
    ticks = [[low[i], low[i] + span[i] / 2, low[i] + span[i]] for i in (0, 1)]
    texts = [[f"{t:.1f}" if span[i] > 2 else f"{t:.2f}" for t in ticks[i]] for i in (0, 1)]
    places = list(map(at, *ticks))
    return Scatter(
        tuple(map(at, moved, drawn[:, 1])),
        (*at(grid[0], middle[0]), *at(grid[-1], middle[-1])),
        " ".join(f"{a},{b}" for a, b in outline),
        tuple(zip((x for x, _ in places), texts[0], strict=True)),
        tuple(zip((y for _, y in places), texts[1], strict=True)),
    )
