"""Numbers with their intervals, and means of values in clusters.

Replies of one conversation resemble each other: they carry less information than as many replies
of different conversations. Nothing here loads numpy or scipy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from importlib import import_module
from operator import add
from statistics import NormalDist
from types import ModuleType
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from grice.errors import GriceError, plural

Bounds: TypeAlias = tuple[float, float]
"""The least and the greatest value that is possible; infinite if unbounded."""
Side: TypeAlias = Literal["above", "below", "either"]
"""The whole interval lies above a threshold, below it, or it holds the threshold."""
LEVEL = 0.95
"""Confidence level of an interval for which none is given."""
FEW = 10
"""With fewer items or conversations than this, an interval is marked as a rough guide."""
ROUNDING = 1e-12
"""Tolerance of a bound for rounding of sums, as a share of the range."""
STRETCH = 2.0
"""How much wider than Student's a side may become; of few clusters the cubic makes it endless."""


class Estimate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number with its interval and how it was computed.

    Attributes:
        low, high: Bounds; None where the data allow no interval, and then ``note`` says why.
        level: Confidence level of the interval, 0.95 for 95 %.
        n: Number of items.
        method: How value and interval were computed, with resamples and seed where there are any.
        groups: Number of conversations of the items, if they were taken into account.
        note: A warning; None if there is no reason for one.
    """

    value: float
    low: float | None
    high: float | None
    level: float
    n: int
    method: str
    groups: int | None = None
    note: str | None = None

    @property
    def interval(self) -> Bounds | None:
        """Both bounds; None where the data allow no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def side(self, threshold: float) -> Side | None:
        """Return on which side of a threshold the interval lies; None without an interval."""
        if self.low is None or self.high is None:
            return None
        if self.low > threshold:
            return "above"
        return "below" if self.high < threshold else "either"

    def __neg__(self) -> Estimate:
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return msgspec.structs.replace(self, value=-self.value, low=low, high=high)

    def __str__(self) -> str:
        interval = "no interval"
        if self.low is not None and self.high is not None:
            interval = f"{100 * self.level:g} % [{self.low:.3f}, {self.high:.3f}]"
        clusters = "" if self.groups is None else f" in {plural(self.groups, 'conversation')}"
        note = "" if self.note is None else f"; {self.note}"
        return f"{self.value:.3f}, {interval}, n {self.n}{clusters}{note}"


def few_units(units: int, unit: str) -> str | None:
    """Return the note of an interval over too few units; None if there are enough."""
    return f"fewer than {FEW} {unit}: the interval is a rough guide" if units < FEW else None


def clamp(value: float, low: float, high: float) -> float:
    """Return the value, or the nearer bound if it lies outside."""
    return min(high, max(low, value))


def scipy_module(name: str) -> ModuleType:
    """Return a module of scipy, imported when it is first needed: it takes a second."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError as error:
        raise GriceError(
            'intervals and fits need scipy, which is not installed: pip install "grice[stats]"'
        ) from error


class Moments(NamedTuple):
    """Sums over clusters of n values whose sum is s, both less a constant per value.

    ``squares`` is the sum of the squared values, ``within`` that of s^2 / n.
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


def mean_estimate(
    moments: Moments,
    level: float = 0.95,
    *,
    origin: float = 0.0,
    bounds: Bounds | None = None,
    what: str = "mean",
    unit: str = "conversations",
) -> Estimate:
    """Return the mean of at least one value and its interval; one cluster alone has none.

    Student's interval for a ratio of cluster sums to cluster sizes (Cochran, *Sampling
    Techniques*, 1977, section 2.11) with three corrections, without which it is too narrow: large
    clusters have the jackknife's weights, to first order; uneven ones fewer degrees of freedom
    (Satterthwaite's, as Bell and McCaffrey 2002, under the intraclass correlation that the values
    show); skewed values Hall's cubic (1992). Else it is Student's own.

    Where it would reach beyond a bound, or have no width because all values lie at one, it is
    Wilson's for as many independent items as would vary like these clusters: an interval that is
    cut off often does not hold the mean (``bench/coverage.md``).
    """
    units, n = moments.clusters, moments.values
    groups = None if unit == "items" else units
    what += f", Student's t over {unit}"
    if units < 2:
        nothing = "the variance cannot be estimated from one"
        return Estimate(moments.s / n + origin, None, None, level, n, what, groups, nothing)
    what += " corrected for skewness (Hall)"
    centred, variance, quantile, skewness = _spread(moments, level)
    error, skewness = math.sqrt(variance), skewness / math.sqrt(units)
    low, high = (centred - error * _unskewed(t, skewness) for t in (quantile, -quantile))
    mean, low, high = centred + origin, min(low, centred) + origin, max(high, centred) + origin
    if bounds is not None:
        least, most = bounds
        what += f", Wilson's where that leaves {least:g} to {most:g}"
        if math.isfinite(most - least) and (
            low < least or high > most or _at_a_bound(mean, bounds)
        ):
            items = n**2 / moments.nn  # one cluster counts as one item
            low, high = bounded_interval(mean, variance, quantile, items, level, bounds)
        low, high = max(low, least), min(high, most)
    return Estimate(mean, low, high, level, n, what, groups, few_units(units, unit))


def _spread(moments: Moments, level: float) -> tuple[float, float, float, float]:
    """Return the mean, its variance, Student's quantile, and the skewness of the clusters."""
    units, n = moments.clusters, moments.values
    mean = moments.s / n
    # Squares and cubes of what each cluster's sum has beyond its share of the mean.
    square = moments.ss - 2 * mean * moments.sn + mean**2 * moments.nn
    sized = moments.ssn - 2 * mean * moments.snn + mean**2 * moments.nnn
    cube = moments.sss - mean * (3 * moments.ssn - mean * (3 * moments.snn - mean * moments.nnn))
    raised = square * (1 - 2 / units) + 2 * sized / n
    scale = (max(square, 0.0) / units) ** 1.5  # 0 also where that is below the least number
    if not (raised > 0 and scale > 0):
        return mean, 0.0, 0.0, 0.0
    # Three or four clusters do not show how skewed they are. The skewness of a small sample is
    # too small; the factor that corrects it for normal ones makes few clusters too wide.
    skewness = cube / units / scale if units > 4 else 0.0
    if units >= 10:
        skewness *= math.sqrt(units * (units - 1)) / (units - 2)
    # The degrees of freedom are one less than the clusters if these are of one size.
    alike = 0.0
    if n > units:
        inside = max(0.0, moments.squares - moments.within) / (n - units)
        between = max(0.0, moments.within - n * mean**2) / (units - 1)
        typical = (n - moments.nn / n) / (units - 1)
        whole = between + (typical - 1) * inside
        alike = min(1.0, max(0.0, (between - inside) / whole)) if whole > 0 else 1.0
    # The variance of a cluster's sum is n (1 - alike) + n^2 alike, in units of that of a value.
    apart = 1 - alike
    first = apart * n + alike * moments.nn
    second = apart**2 * moments.nn + 2 * alike * apart * moments.nnn + alike**2 * moments.nnnn
    freedom = max(1.0, first**2 / second * (units - 1) / units)
    variance = units / (units - 1) * raised / n**2
    return mean, variance, student_quantile(0.5 + level / 2, freedom), skewness


def _unskewed(t: float, skewness: float) -> float:
    """Return the inverse of Hall's cubic: t as it would lie if the values were as skewed."""
    if abs(skewness) < 1e-6:
        return t
    unskewed = 3 / skewness * (math.cbrt(1 + skewness * (t - skewness / 6)) - 1)
    return clamp(unskewed, -STRETCH * abs(t), STRETCH * abs(t))


def _at_a_bound(mean: float, bounds: Bounds) -> bool:
    """Return whether all values lie at a bound: their mean misses it by rounding at most."""
    least, most = bounds
    return min(mean - least, most - mean) <= ROUNDING * (most - least)


def bounded_interval(
    mean: float,
    variance: float,
    quantile: float,
    items: float,
    level: float,
    bounds: Bounds,
    limit: float = math.inf,
) -> tuple[float, float]:
    """Return Wilson's interval, stretched from 0 and 1 to the bounds.

    It is that of so many independent items, ``limit`` at most, as would vary like this mean; of
    ``items`` where no spread shows.
    """
    least, most = bounds
    width = most - least
    place = clamp((mean - least) / width, 0.0, 1.0)
    if not _at_a_bound(mean, bounds) and variance:
        # Few clusters make the variance itself uncertain: Student's quantile, not the normal one.
        shrink = (NormalDist().inv_cdf(0.5 + level / 2) / quantile) ** 2
        items = min(limit, place * (1 - place) * width**2 / variance) * shrink
    low, high = wilson_interval(place, items, level)
    return min(mean, least + width * low), max(mean, least + width * high)


def wilson_interval(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval (1927) of a share of independent items, within 0 and 1."""
    normal = NormalDist().inv_cdf(0.5 + level / 2)
    centre = (share + normal**2 / (2 * n)) / (1 + normal**2 / n)
    spread = share * (1 - share) / n + normal**2 / (4 * n**2)
    half = normal * spread**0.5 / (1 + normal**2 / n)
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


class ClusteredMean:
    """Mean of values that come cluster by cluster, in constant memory.

    The interval lies within ``bounds``, the least and the greatest possible value, unless a value
    lies beyond them.

    >>> mean = ClusteredMean(bounds=(0, 1))
    >>> for cluster in ([0.1, 0.2], [0.4], [0.3, 0.5, 0.4]):
    ...     mean.add(cluster)
    >>> print(mean.estimate())
    0.317, 95 % [0.045, 0.819], n 6 in 3 conversations; fewer than 10 conversations: the interval \
is a rough guide
    """

    def __init__(self, bounds: Bounds | None = None) -> None:
        self._moments = Moments()
        self._bounds = bounds
        # Powers of sums lose digits if the mean is far from zero: the first value is taken off.
        self._origin = 0.0

    def add(self, values: Iterable[float]) -> None:
        """Add the values of one cluster; an empty cluster counts for nothing."""
        cluster = list(values)
        if not cluster:
            return
        if not self._moments.values:
            self._origin = cluster[0]
        if self._bounds and not self._bounds[0] <= min(cluster) <= max(cluster) <= self._bounds[1]:
            self._bounds = None
        cluster = [value - self._origin for value in cluster]
        n, s = len(cluster), math.fsum(cluster)
        squares = math.fsum(value * value for value in cluster)
        powers = (s, s**2, s**3, s * n, s**2 * n, s * n**2, n**2, n**3, n**4)
        added = Moments(1, n, squares, s * s / n, *powers)
        self._moments = Moments(*map(add, self._moments, added))

    def estimate(self, level: float = 0.95) -> Estimate | None:
        """Return the mean and its interval at ``level``; None if nothing was added."""
        if not self._moments.values:
            return None
        return mean_estimate(self._moments, level, origin=self._origin, bounds=self._bounds)


def student_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t above the median, within 1 % for tails of 2.5 %.

    Exact for one and two degrees of freedom, from three on the Cornish-Fisher expansion
    (Abramowitz and Stegun, 26.7.5), in between a curve. scipy's would cost a second of import.
    """
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    place = max(3.0, freedom)
    expanded = z + math.fsum(term / place**power for power, term in enumerate(terms, start=1))
    if freedom >= 3:
        return expanded
    # Lagrange's parabola of the logarithm over one by the degrees of freedom.
    known = {
        1.0: math.tan(math.pi * (probability - 0.5)),
        1 / 2: (2 * probability - 1) * math.sqrt(2 / (4 * probability * (1 - probability))),
        1 / 3: expanded,
    }
    logarithms = (
        math.log(value) * math.prod((1 / freedom - b) / (a - b) for b in known if b != a)
        for a, value in known.items()
    )
    return math.exp(math.fsum(logarithms))
