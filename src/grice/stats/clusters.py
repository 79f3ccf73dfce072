"""Means of values that come in clusters, such as the replies of one conversation.

Replies of one conversation resemble each other, so they carry less information than as many
replies of different conversations; an interval that overlooks this is too narrow.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ClusteredMean", "Interval", "student_quantile"]


class Interval(NamedTuple):
    """A mean with its confidence interval.

    Attributes:
        mean: Mean over all values.
        low: Lower bound; None with fewer than two clusters, which say nothing of the spread.
        high: Upper bound; likewise.
    """

    mean: float
    low: float | None
    high: float | None


class ClusteredMean:
    """Collects values cluster by cluster in constant memory.

    The variance is that of a ratio of cluster sums to cluster sizes (Cochran, *Sampling
    Techniques*, 1977, section 2.11), the interval Student's with one degree of freedom less
    than there are clusters.

    >>> mean = ClusteredMean()
    >>> for cluster in ([0.1, 0.2], [0.4], [0.3, 0.5, 0.4]):
    ...     mean.add(cluster)
    >>> interval = mean.interval()
    >>> print(f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]")
    0.317 [-0.057, 0.690]
    """

    def __init__(self) -> None:
        self.clusters = 0
        self.count = 0
        self._sum = 0.0
        self._sum_squares = 0.0
        self._sum_products = 0.0
        self._size_squares = 0

    def add(self, values: Iterable[float]) -> None:
        """Add the values of one cluster; an empty cluster counts for nothing."""
        cluster = list(values)
        if not cluster:
            return
        total = math.fsum(cluster)
        self.clusters += 1
        self.count += len(cluster)
        self._sum += total
        self._sum_squares += total * total
        self._sum_products += total * len(cluster)
        self._size_squares += len(cluster) ** 2

    def interval(self, level: float = 0.95) -> Interval | None:
        """Return the mean and its interval at ``level``; None if nothing was added."""
        if not self.count:
            return None
        mean = self._sum / self.count
        if self.clusters < 2:
            return Interval(mean, None, None)
        squares = self._sum_squares - 2 * mean * self._sum_products + mean**2 * self._size_squares
        correction = self.clusters / (self.clusters - 1)
        error = math.sqrt(correction * max(0.0, squares)) / self.count
        half = student_quantile(0.5 + level / 2, self.clusters - 1) * error
        return Interval(mean, mean - half, mean + half)


def student_quantile(probability: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution, within 1 % for tails of 2.5 %.

    Exact for one and two degrees of freedom, from three on the Cornish-Fisher expansion
    (Abramowitz and Stegun, 26.7.5). scipy's exact one would cost a second of import.
    """
    if freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    if freedom == 2:
        return (2 * probability - 1) * math.sqrt(2 / (4 * probability * (1 - probability)))
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / freedom**power for power, term in enumerate(terms, start=1))
