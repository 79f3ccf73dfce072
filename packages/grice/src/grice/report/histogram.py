"""Counts of values in equal bins, and their drawing as plain shapes."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from grice.stats.estimate import Estimate

BINS = 20
"""Bins of a histogram, at most 24: a browser keeps the set of a speaker's bins in 31 bits."""

WIDTH, HEIGHT = 320.0, 104.0
LEFT, RIGHT, TOP, BASE = 1.0, 319.0, 20.0, 86.0
"""The drawing in its own units: bars stand between TOP and BASE, the mean's mark above TOP."""


def bin_edges(
    bounds: tuple[float, float], smallest: float | None, largest: float | None
) -> tuple[float, ...]:
    """Return the edges of the bins, ascending, one more than there are bins.

    Args:
        bounds: The metric's range. If both ends are finite they are cut in BINS equal parts,
            else the observed values decide and the edges are round numbers.
        smallest: Smallest observed value; None if there is none.
        largest: Largest observed value.
    """
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


class Bar(NamedTuple):
    """One bar: its bin, what it says when pointed at, and its rectangle."""

    bin: int
    label: str
    x: float
    y: float
    width: float
    height: float


class Drawing(NamedTuple):
    """A histogram in units of WIDTH times HEIGHT; mean and interval are None if unknown."""

    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str, str], ...]
    mean: float | None
    interval: tuple[float, float] | None


def draw(histogram: Histogram, mean: Estimate | None, noun: str) -> Drawing:
    """Return the shapes of a histogram."""
    edges = histogram.edges
    total = sum(histogram.counts)
    highest = max(histogram.counts) or 1
    places = decimals(edges[-1] - edges[0])
    bars = []
    for i, count in enumerate(histogram.counts):
        left, right = _x(edges[i], edges), _x(edges[i + 1], edges)
        # A bin that is not empty stays visible however small its share is.
        height = (BASE - TOP) * count / highest
        height = max(height, 1.0) if count else 0.0
        share = f" ({100 * count / total:.1f} %)" if total else ""
        label = (
            f"{number(edges[i], places)} to {number(edges[i + 1], places)}: {count:,} {noun}{share}"
        )
        bars.append(Bar(i, label, left + 0.75, BASE - height, right - left - 1.5, height))
    middle = edges[(len(edges) - 1) // 2]
    ticks = (
        (LEFT, number(edges[0], places), "start"),
        (_x(middle, edges), number(middle, places), "middle"),
        (RIGHT, number(edges[-1], places), "end"),
    )
    interval = None
    if mean is not None and mean.interval is not None:
        interval = (_x(mean.interval[0], edges), _x(mean.interval[1], edges))
    return Drawing(tuple(bars), ticks, None if mean is None else _x(mean.value, edges), interval)


def _x(value: float, edges: tuple[float, ...]) -> float:
    share = (value - edges[0]) / (edges[-1] - edges[0])
    return LEFT + (RIGHT - LEFT) * min(max(share, 0.0), 1.0)


def decimals(span: float) -> int:
    """Return how many decimals tell a hundredth of ``span`` apart."""
    return min(max(2 - math.floor(math.log10(span)), 0), 9)


def number(value: float, places: int) -> str:
    """Return a number for readers, with a true minus sign."""
    return f"{value:,.{places}f}".replace("-", "\N{MINUS SIGN}")
