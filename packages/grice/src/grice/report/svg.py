"""Drawings of the pages: an axis for the templates, and shapes that take more than one."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.stats.inputs import Floats

BINS = 20
"""Bins of a histogram, at most 24: a browser keeps the set of a speaker's bins in 31 bits."""
HEIGHT = 66.0
"""Height of the highest bar of a histogram."""
SCATTER_TOP, SCATTER_BASE = 6.0, 176.0
MOST = 600
"""Points of a scatter plot that are drawn; of more an evenly spread part."""
JITTER = 0.02
"""Ratings lie on few steps: each point moves by at most this share of the range, always alike."""
STEPS = 24
WIDTH = 320
"""Width of each drawing in its own units."""


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
        """Return the place of a value; one beyond an end stands at it."""
        ends = sorted((self.start, self.end))
        return min(max(self(value), ends[0]), ends[1])


def bin_edges(
    bounds: tuple[float, float], smallest: float | None, largest: float | None
) -> tuple[float, ...]:
    """Return the edges of the bins, ascending, one more than there are bins."""
    low, high = bounds
    if math.isfinite(low) and math.isfinite(high) and low < high:
        width = (high - low) / BINS
        return tuple(float(f"{low + i * width:.15g}") for i in range(BINS + 1))
    low = low if math.isfinite(low) else (0.0 if smallest is None else smallest)
    high = high if math.isfinite(high) else (low if largest is None else largest)
    if high <= low:
        high = low + 1.0
    step = _round_step((high - low) / BINS)
    first, last = math.floor(low / step), math.ceil(high / step)
    return tuple(float(f"{i * step:.15g}") for i in range(first, max(last, first + 1) + 1))


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, … (times a power of ten) that is at least ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10, 20) if power * factor >= least)


class Bar(NamedTuple):
    """One bar of a histogram: its text when pointed at, its ends on the axis, its height."""

    label: str
    left: float
    right: float
    height: float


class Histogram:
    """Counts values as they come.

    Attributes:
        edges: Edges of the bins; a bin holds its lower edge, the last one both.
        counts: Values in each bin; a value outside the edges counts in the nearest bin.
        outside: How many values lay outside the edges.
    """

    def __init__(self, edges: tuple[float, ...]) -> None:
        self.edges = edges
        self.counts = [0] * (len(edges) - 1)
        self.outside = 0

    def add(self, value: float) -> int:
        """Count a value and return the number of its bin."""
        place = min(max(bisect_right(self.edges, value) - 1, 0), len(self.counts) - 1)
        self.counts[place] += 1
        self.outside += not self.edges[0] <= value <= self.edges[-1]
        return place

    @property
    def axis(self) -> Axis:
        """The axis of the values, as wide as a drawing."""
        return Axis(self.edges[0], self.edges[-1], 1.0, WIDTH - 1.0)

    @property
    def decimals(self) -> int:
        """How many decimals its numbers have."""
        return decimals(self.edges[-1] - self.edges[0])

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


def decimals(span: float) -> int:
    """Return how many decimals tell a hundredth of ``span`` apart."""
    return min(max(2 - math.floor(math.log10(span)), 0), 9)


def number(value: float, places: int) -> str:
    """Return a number for readers, with a true minus sign."""
    return f"{value:,.{places}f}".replace("-", "\N{MINUS SIGN}")


class Scatter(NamedTuple):
    """A scatter plot, 208 high.

    Attributes:
        points: Centres of the points.
        line: Ends of the regression line.
        band: Outline of its 95 % band, as points of a polygon.
        x_ticks, y_ticks: Place and text of the ticks of the ratings and of the metric.
        drawn: How many points are drawn.
    """

    points: tuple[tuple[float, float], ...]
    line: tuple[float, float, float, float]
    band: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    drawn: int


def scatter(pairs: Sequence[tuple[float, float]]) -> Scatter:
    """Return the plot of (rating, value) pairs of which neither side is constant."""
    data = np.asarray(pairs, np.float64)
    low, high, span = data.min(axis=0), data.max(axis=0), np.ptp(data, axis=0)
    grid = np.linspace(low[0], high[0], STEPS)
    middle, spread = _line(data[:, 0], data[:, 1], grid)
    across = Axis(low[0], high[0], 34.0, 314.0)
    up = Axis(low[1], high[1], SCATTER_BASE, SCATTER_TOP)

    def x(rating: float) -> float:
        return round(across(rating), 1)

    def y(value: float) -> float:
        return round(up.inside(value), 1)

    outline = [(x(a), y(b)) for a, b in zip(grid, middle + spread, strict=True)]
    outline += [(x(a), y(b)) for a, b in zip(grid[::-1], (middle - spread)[::-1], strict=True)]
    drawn = data[:: max(1, -(-len(data) // MOST))]
    # Low-discrepancy shifts: the same page for the same data.
    shift = (np.arange(len(drawn)) * 0.6180339887) % 1 - 0.5
    moved = drawn[:, 0] + shift * 2 * JITTER * span[0]
    return Scatter(
        tuple((x(a), y(b)) for a, b in zip(moved, drawn[:, 1], strict=True)),
        (x(grid[0]), y(middle[0]), x(grid[-1]), y(middle[-1])),
        " ".join(f"{a},{b}" for a, b in outline),
        tuple((x(tick), text) for tick, text in _ticks(low[0], span[0])),
        tuple((y(tick), text) for tick, text in _ticks(low[1], span[1])),
        len(drawn),
    )


def _line(x: Floats, y: Floats, grid: Floats) -> tuple[Floats, Floats]:
    """Return the least-squares line of y on x, and half the width of its 95 % band."""
    centre = float(x.mean())
    squares = float(((x - centre) ** 2).sum())
    slope = float(((x - centre) * (y - y.mean())).sum()) / squares
    start = float(y.mean()) - slope * centre
    rest = y - slope * x - start
    error = float(np.sqrt((rest**2).sum() / max(1, len(x) - 2)))
    inside = 1 / len(x) + (grid - centre) ** 2 / squares
    return slope * grid + start, np.asarray(1.96 * error * np.sqrt(inside))


def _ticks(low: float, span: float) -> Iterator[tuple[float, str]]:
    """Yield the ends and the middle, with their texts."""
    for tick in (low, low + span / 2, low + span):
        yield tick, f"{tick:.1f}" if span > 2 else f"{tick:.2f}"
