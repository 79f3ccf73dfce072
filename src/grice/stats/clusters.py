"""Means of values that come in clusters, such as the replies of one conversation.

Replies of one conversation resemble each other, so they carry less information than as many
replies of different conversations; an interval that overlooks this is too narrow.
"""

from __future__ import annotations

import math
from operator import add
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ClusteredMean", "Interval", "Moments", "mean_interval", "student_quantile"]

STRETCH = 2.0
"""How much wider than Student's a side may become; of few clusters the cubic makes it endless."""


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


class Moments(NamedTuple):
    """Sums over clusters from which the interval of their mean follows.

    With n values in a cluster and s their sum; both may be taken less a constant per value.

    Attributes:
        clusters: How many.
        values: All values: the sum of n.
        squares: Sum of the squared values.
        within: Sum of s^2 / n.
        s: Sum of s.
        ss: Of s^2.
        sss: Of s^3.
        sn: Of s n.
        ssn: Of s^2 n.
        snn: Of s n^2.
        nn: Of n^2.
        nnn: Of n^3.
        nnnn: Of n^4.
    """

    clusters: int = 0
    values: int = 0
    squares: float = 0.0
    within: float = 0.0
    s: float = 0.0
    ss: float = 0.0
    sss: float = 0.0
    sn: float = 0.0
    ssn: float = 0.0
    snn: float = 0.0
    nn: float = 0.0
    nnn: float = 0.0
    nnnn: float = 0.0


def mean_interval(moments: Moments, level: float = 0.95) -> Interval:
    """Return the mean of at least one value and its interval.

    Student's interval for a ratio of cluster sums to cluster sizes (Cochran, *Sampling
    Techniques*, 1977, section 2.11) with three corrections, without which it is too narrow:

    - a large cluster draws the mean towards itself, so its part of the variance is raised (the
      jackknife's weights, to first order);
    - uneven clusters count for fewer degrees of freedom (Satterthwaite's, as Bell and McCaffrey
      2002, under the intraclass correlation that the values show);
    - skewed values make t skewed, which Hall's cubic (1992) undoes.

    With equal clusters and no skewness it is Student's own interval.

    Args:
        moments: The sums.
        level: Confidence level.
    """
    units, n = moments.clusters, moments.values
    mean = moments.s / n
    if units < 2:
        return Interval(mean, None, None)
    # Squares and cubes of what each cluster's sum has beyond its share of the mean.
    square = moments.ss - 2 * mean * moments.sn + mean**2 * moments.nn
    sized = moments.ssn - 2 * mean * moments.snn + mean**2 * moments.nnn
    cube = moments.sss - mean * (3 * moments.ssn - mean * (3 * moments.snn - mean * moments.nnn))
    spread = square * (1 - 2 / units) + 2 * sized / n
    if not (spread > 0 and square > 0):
        return Interval(mean, mean, mean)
    error = math.sqrt(units / (units - 1) * spread) / n
    # Of three or four clusters nothing is known of how skewed they are. The skewness of a small
    # sample is too small; the factor that mends it for normal ones makes few clusters too wide.
    skewness = cube / units / (square / units) ** 1.5 if units > 4 else 0.0
    if units >= 10:
        skewness *= math.sqrt(units * (units - 1)) / (units - 2)
    tail = student_quantile(0.5 + level / 2, _freedom(moments, mean))
    low, high = (mean - error * _unskewed(t, skewness / math.sqrt(units)) for t in (tail, -tail))
    return Interval(mean, min(low, mean), max(high, mean))


def _freedom(moments: Moments, mean: float) -> float:
    """Return degrees of freedom: one less than the clusters if these are of one size."""
    units, n = moments.clusters, moments.values
    alike = 0.0
    if n > units:
        inside = max(0.0, moments.squares - moments.within) / (n - units)
        between = max(0.0, moments.within - n * mean**2) / (units - 1)
        typical = (n - moments.nn / n) / (units - 1)
        whole = between + (typical - 1) * inside
        alike = min(1.0, max(0.0, (between - inside) / whole)) if whole > 0 else 1.0
    # The variance of a cluster's sum is n (1 - alike) + n^2 alike, in units of that of a value.
    first = (1 - alike) * n + alike * moments.nn
    second = (
        (1 - alike) ** 2 * moments.nn
        + 2 * alike * (1 - alike) * moments.nnn
        + alike**2 * moments.nnnn
    )
    return max(1.0, first**2 / second * (units - 1) / units)


def _unskewed(t: float, skewness: float) -> float:
    """Return the inverse of Hall's cubic: t as it would lie if the values were as skewed."""
    if abs(skewness) < 1e-6:
        return t
    unskewed = 3 / skewness * (math.cbrt(1 + skewness * (t - skewness / 6)) - 1)
    return max(-STRETCH * abs(t), min(STRETCH * abs(t), unskewed))


class ClusteredMean:
    """Collects values cluster by cluster in constant memory.

    The interval is that of :func:`mean_interval`.

    >>> mean = ClusteredMean()
    >>> for cluster in ([0.1, 0.2], [0.4], [0.3, 0.5, 0.4]):
    ...     mean.add(cluster)
    >>> interval = mean.interval()
    >>> print(f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]")
    0.317 [-0.289, 0.923]
    """

    def __init__(self) -> None:
        self._moments = Moments()
        # Powers of sums lose digits if the mean is far from zero: the first value is taken off.
        self._origin = 0.0

    @property
    def clusters(self) -> int:
        """How many clusters had a value."""
        return self._moments.clusters

    @property
    def count(self) -> int:
        """How many values there were."""
        return self._moments.values

    def add(self, values: Iterable[float]) -> None:
        """Add the values of one cluster; an empty cluster counts for nothing."""
        cluster = list(values)
        if not cluster:
            return
        if not self.count:
            self._origin = cluster[0]
        cluster = [value - self._origin for value in cluster]
        n, s = len(cluster), math.fsum(cluster)
        added = Moments(
            1, n, math.fsum(value * value for value in cluster), s * s / n,
            s, s**2, s**3, s * n, s**2 * n, s * n**2, n**2, n**3, n**4,
        )  # fmt: skip
        self._moments = Moments(*map(add, self._moments, added))

    def interval(self, level: float = 0.95) -> Interval | None:
        """Return the mean and its interval at ``level``; None if nothing was added."""
        if not self.count:
            return None
        mean, low, high = mean_interval(self._moments, level)
        if low is None or high is None:
            return Interval(mean + self._origin, None, None)
        return Interval(mean + self._origin, low + self._origin, high + self._origin)


def student_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t distribution, within 1 % for tails of 2.5 %.

    Exact for one and two degrees of freedom, from three on the Cornish-Fisher expansion
    (Abramowitz and Stegun, 26.7.5), in between a curve through these points. scipy's exact one
    would cost a second of import.
    """
    if freedom >= 3:
        return _expanded(probability, freedom)
    known = (
        math.tan(math.pi * (probability - 0.5)),
        (2 * probability - 1) * math.sqrt(2 / (4 * probability * (1 - probability))),
        _expanded(probability, 3),
    )
    if freedom in (1, 2) or probability <= 0.5:
        return known[round(freedom) - 1]
    # Lagrange's parabola of the logarithm over one by the degrees of freedom.
    place, at = 1 / freedom, (1.0, 1 / 2, 1 / 3)
    logarithm = 0.0
    for i, value in enumerate(known):
        part = math.log(value)
        for j in range(3):
            if j != i:
                part *= (place - at[j]) / (at[i] - at[j])
        logarithm += part
    return math.exp(logarithm)


def _expanded(probability: float, freedom: float) -> float:
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / freedom**power for power, term in enumerate(terms, start=1))
