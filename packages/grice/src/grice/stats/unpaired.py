"""Two means of other items each, such as two weeks of live traffic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from grice.stats.comparison import Comparison, Ranking, verdict
from grice.stats.estimate import FEW, Estimate
from grice.stats.systems import mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grice.stats.clusters import Bounds
    from grice.stats.inputs import Groups, Values

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


def compare_unpaired(
    samples: Mapping[str, Sample], *, bounds: Bounds | None = None, level: float = 0.95
) -> Ranking | None:
    """Return two means over different items, compared; None if they have no interval.

    Each mean has the interval of :func:`grice.stats.mean`, which allows for conversations, skewed
    values and bounds; that of the difference follows from the two (the method of variance estimates
    recovery), and so does the p-value: one less the level at which that begins to hold 0. The two
    sides must not share conversations.

    Args:
        samples: The values of the two sides, by name; the difference is first less second.
        bounds: The least and the greatest possible value.
        level: Confidence level.
    """
    means = _means(samples, bounds, level)
    gap = _difference(*means)
    if gap.interval is None:
        return None
    p = _p_value(samples, bounds)
    first, second = samples
    comparison = Comparison(first, second, gap, p, p, METHOD, "none", verdict(gap.value, p, level))
    return Ranking(dict(zip(samples, means, strict=True)), (comparison,), (), gap.n, 0)


def _means(samples: Mapping[str, Sample], bounds: Bounds | None, level: float) -> list[Estimate]:
    return [
        mean(side.values, groups=side.groups, bounds=bounds, level=level)
        for side in samples.values()
    ]


def _difference(first: Estimate, second: Estimate) -> Estimate:
    """Return first less second, without an interval where one of them has none."""
    gap = first.value - second.value
    low = high = note = None
    if first.interval and second.interval:
        low = gap - math.hypot(first.value - first.interval[0], second.interval[1] - second.value)
        high = gap + math.hypot(first.interval[1] - first.value, second.value - second.interval[0])
    units = [side.groups or side.n for side in (first, second)]
    if min(units) < FEW:
        note = f"fewer than {FEW} conversations on a side: a rough guide"
    n = first.n + second.n
    return Estimate(gap, low, high, first.level, n, METHOD, sum(units), note)


def _p_value(samples: Mapping[str, Sample], bounds: Bounds | None) -> float:
    """Return one less the highest level whose interval leaves 0 out."""
    least, most = 0.0, 1.0
    for _ in range(STEPS):
        middle = (least + most) / 2
        if not 0 < middle < 1:
            break
        if _difference(*_means(samples, bounds, middle)).side(0) in ("above", "below"):
            least = middle
        else:
            most = middle
    return 1 - least
