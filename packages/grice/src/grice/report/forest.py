"""A plot of shares with their intervals, one line each, as plain shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grice.stats.estimate import Estimate

LEFT, RIGHT = 130.0, 310.0
TOP, STEP, FOOT = 12.0, 14.0, 22.0


class Bar(NamedTuple):
    """One share in units of the plot.

    Attributes:
        name: What it is of.
        at: Place of the share.
        low: Left end of its interval; the share where it has none.
        high: Right end.
    """

    name: str
    y: float
    at: float
    low: float
    high: float


class Forest(NamedTuple):
    """A plot 320 wide.

    Attributes:
        height: How high it is.
        base: Where the axis lies.
        chance: Place of one half.
        bars: From top to bottom.
        ticks: Place and text of the ticks.
    """

    height: float
    base: float
    chance: float
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]


def forest(shares: Mapping[str, Estimate]) -> Forest:
    """Return the plot of shares by their names, at least one, on the range from 0 to 1."""
    base = TOP + STEP * (len(shares) - 0.4)
    bars = []
    for number, (name, estimate) in enumerate(shares.items()):
        low, high = estimate.interval or (estimate.value, estimate.value)
        bars.append(Bar(name, TOP + STEP * number, _x(estimate.value), _x(low), _x(high)))
    ticks = tuple((_x(share), f"{share:g}") for share in (0.0, 0.5, 1.0))
    return Forest(round(base + FOOT, 1), round(base, 1), _x(0.5), tuple(bars), ticks)


def _x(share: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * share, 1)
