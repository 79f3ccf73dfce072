"""A scatter plot of ratings against values, as plain shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.stats.inputs import Floats

WIDTH, HEIGHT = 320.0, 208.0
LEFT, RIGHT, TOP, BASE = 34.0, 314.0, 6.0, 176.0
MOST = 600
"""Points that are drawn; of more an evenly spread part."""
JITTER = 0.02
"""Ratings lie on few steps: each point moves by at most this share of the range, always alike."""
STEPS = 24


class Scatter(NamedTuple):
    """A plot in units of WIDTH times HEIGHT.

    Attributes:
        points: Centres of the points.
        line: Ends of the regression line.
        band: Outline of its 95 % band, as points of a polygon.
        x_ticks: Place and text of the ticks of the ratings.
        y_ticks: Place and text of the ticks of the metric.
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
    ratings, values = data[:, 0], data[:, 1]
    low = data.min(axis=0)
    span = np.ptp(data, axis=0)
    slope, start, half = _line(ratings, values)
    grid = np.linspace(ratings.min(), ratings.max(), STEPS)
    middle = slope * grid + start
    spread = half(grid)

    def x(rating: float) -> float:
        return round(float(LEFT + (RIGHT - LEFT) * (rating - low[0]) / span[0]), 1)

    def y(value: float) -> float:
        place = BASE - (BASE - TOP) * (value - low[1]) / span[1]
        return round(float(min(BASE, max(TOP, place))), 1)

    outline = [(x(a), y(b)) for a, b in zip(grid, middle + spread, strict=True)]
    outline += [(x(a), y(b)) for a, b in zip(grid[::-1], (middle - spread)[::-1], strict=True)]
    step = max(1, -(-len(data) // MOST))
    drawn = data[::step]
    # Low-discrepancy shifts: the same page for the same data.
    shift = (np.arange(len(drawn)) * 0.6180339887) % 1 - 0.5
    moved = drawn[:, 0] + shift * 2 * JITTER * span[0]
    return Scatter(
        tuple((x(a), y(b)) for a, b in zip(moved, drawn[:, 1], strict=True)),
        (x(grid[0]), y(middle[0]), x(grid[-1]), y(middle[-1])),
        " ".join(f"{a},{b}" for a, b in outline),
        tuple((x(tick), _text(tick, span[0])) for tick in _ticks(low[0], low[0] + span[0])),
        tuple((y(tick), _text(tick, span[1])) for tick in _ticks(low[1], low[1] + span[1])),
        len(drawn),
    )


class _Half(NamedTuple):
    """Half the width of the 95 % band of a regression line, with the normal quantile."""

    error: float
    centre: float
    squares: float
    n: int

    def __call__(self, at: Floats) -> Floats:
        inside = 1 / self.n + (at - self.centre) ** 2 / self.squares
        return np.asarray(1.96 * self.error * np.sqrt(inside))


def _line(x: Floats, y: Floats) -> tuple[float, float, _Half]:
    """Return slope, start and band of the least-squares line of y on x."""
    centre = float(x.mean())
    squares = float(((x - centre) ** 2).sum())
    slope = float(((x - centre) * (y - y.mean())).sum()) / squares
    start = float(y.mean()) - slope * centre
    rest = y - slope * x - start
    error = float(np.sqrt((rest**2).sum() / max(1, len(x) - 2)))
    return slope, start, _Half(error, centre, squares, len(x))


def _ticks(low: float, high: float) -> tuple[float, float, float]:
    return (low, (low + high) / 2, high)


def _text(value: float, span: float) -> str:
    return f"{value:.1f}" if span > 2 else f"{value:.2f}"
