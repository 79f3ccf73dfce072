"""Two means of other items each, such as two weeks of live traffic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from grice.stats.estimate import FEW, Estimate
from grice.stats.systems import mean

if TYPE_CHECKING:
    from grice.stats.clusters import Bounds
    from grice.stats.inputs import Groups, Values

__all__ = ["METHOD", "Sample", "UnpairedDifference", "unpaired_difference"]

METHOD = "difference of independent means from their intervals (Zou and Donner 2008)"
STEPS = 40
"""Halvings in the search for a p-value: far more than it is printed with."""


class Sample(NamedTuple):
    """The values of one side.

    Attributes:
        values: One value per item; NaN where there is none.
        groups: Conversation of each item.
    """

    values: Values
    groups: Groups


class UnpairedDifference(NamedTuple):
    """Two means and their difference, second less first.

    Attributes:
        p_value: One less the level at which the interval of the difference begins to hold 0.
    """

    first: Estimate
    second: Estimate
    difference: Estimate
    p_value: float


def unpaired_difference(
    first: Sample, second: Sample, *, bounds: Bounds | None = None, level: float = 0.95
) -> UnpairedDifference | None:
    """Return the difference of two means over different items; None if it has no interval.

    Each mean has the interval of :func:`grice.stats.mean`, which allows for conversations, skewed
    values and bounds; that of the difference follows from the two (the method of variance estimates
    recovery). The two sides must not share conversations.

    Args:
        first: The values of one side.
        second: Those of the other.
        bounds: The least and the greatest possible value.
        level: Confidence level.
    """
    at = _Means(first, second, bounds)
    low, high = at.interval(level)
    if low is None or high is None:
        return None
    one, other = at.means(level)
    groups = (one.groups or one.n) + (other.groups or other.n)
    few = min(one.groups or one.n, other.groups or other.n) < FEW
    note = f"fewer than {FEW} conversations on a side: a rough guide" if few else None
    gap = Estimate(other.value - one.value, low, high, level, one.n + other.n, METHOD, groups, note)
    return UnpairedDifference(one, other, gap, _p_value(at))


class _Means(NamedTuple):
    first: Sample
    second: Sample
    bounds: Bounds | None

    def means(self, level: float) -> tuple[Estimate, Estimate]:
        one, other = (
            mean(side.values, groups=side.groups, bounds=self.bounds, level=level)
            for side in (self.first, self.second)
        )
        return one, other

    def interval(self, level: float) -> tuple[float | None, float | None]:
        a, b = self.means(level)
        if a.low is None or a.high is None or b.low is None or b.high is None:
            return None, None
        gap = b.value - a.value
        return (
            gap - math.hypot(b.value - b.low, a.high - a.value),
            gap + math.hypot(b.high - b.value, a.value - a.low),
        )


def _p_value(at: _Means) -> float:
    """Return one less the highest level whose interval leaves 0 out."""
    least, most = 0.0, 1.0
    for _ in range(STEPS):
        middle = (least + most) / 2
        if not 0 < middle < 1:
            break
        low, high = at.interval(middle)
        if low is not None and high is not None and (low > 0 or high < 0):
            least = middle
        else:
            most = middle
    return 1 - least
