"""Means and shares, and comparisons of systems or metrics: tests, corrections, power.

A paired permutation test swaps the values of two systems or metrics on random items, or on all
items of a conversation together; the p-value is the share of swaps whose difference is at least as
far from zero as the observed one. All pairs see the same swaps.

Columns have one value per item; None or NaN if missing. ``groups`` are the conversations
of the items, ``bounds`` the least and the greatest possible value: intervals lie within them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Literal, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace

from grice.errors import InputError, did_you_mean
from grice.stats.correlations import NAMES, correlation_value, weighted_correlations
from grice.stats.estimate import (
    FEW,
    LEVEL,
    Bounds,
    Estimate,
    Moments,
    bounded_interval,
    few_units,
    mean_estimate,
    scipy_module,
    student_quantile,
)
from grice.stats.inputs import (
    Floats,
    Groups,
    Integers,
    Values,
    check_bounds,
    check_level,
    complete_items,
)
from grice.stats.resample import BLOCK, Statistic, differences, estimate, random_signs, resample

Verdict: TypeAlias = Literal["first higher", "second higher", "no significant difference"]
"""There is no verdict "equal": a test that does not reject does not show equality."""
Pairs: TypeAlias = Sequence[tuple[int, int]]


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two systems, or two metrics, on the same items.

    Attributes:
        difference: First less second, with its interval.
        p_value: Probability of a difference at least as far from zero if the two were
            interchangeable, after ``correction`` for the number of comparisons.
        p_single: The same before the correction.
        test: How it was computed.
        d_z: Cohen's d for paired values: mean difference over its standard deviation. None for
            correlations, or if all differences are equal.
        dominance: Share of items on which the first is higher less the share on which the
            second is (Cliff's paired delta), -1 to 1. None for correlations.
    """

    first: str
    second: str
    difference: Estimate
    p_value: float
    p_single: float
    test: str
    correction: Literal["holm", "none"]
    verdict: Verdict
    d_z: float | None = None
    dominance: float | None = None


class Ranking(msgspec.Struct, frozen=True):
    """Several systems, or several metrics, on the same items.

    Attributes:
        estimates: Mean of each system, or correlation of each metric, by name.
        comparisons: Every pair, or each with the baseline.
        clusters: Names in groups, best first, between which every difference is significant;
            empty if only a baseline was compared.
        n: Number of items with all values.
        dropped: Number of items left out because a value was missing.
    """

    estimates: dict[str, Estimate]
    comparisons: tuple[Comparison, ...]
    clusters: tuple[tuple[str, ...], ...]
    n: int
    dropped: int


def mean(
    values: Values,
    *,
    groups: Groups | None = None,
    bounds: Bounds | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return the mean of the values that are there.

    The interval is Student's t with corrections for skewed values and for few or uneven
    conversations (:func:`~grice.stats.estimate.mean_estimate`); Wilson's if it left the bounds.

    >>> str(mean([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]))
    '5.500, 95 % [3.334, 7.666], n 10'
    >>> str(mean([1, 1, 0], bounds=(0, 1)))
    '0.667, 95 % [0.044, 0.989], n 3; fewer than 10 items: the interval is a rough guide'

    Raises:
        InputError: If there is no value, or one beyond the bounds.
    """
    check_level(level)
    (column,), codes = complete_items({"values": values}, groups, least=1)
    check_bounds(column, bounds)
    return _mean_of(column, codes, bounds, level, "mean")


def _mean_of(
    values: Floats, codes: Integers | None, bounds: Bounds | None, level: float, what: str
) -> Estimate:
    value = float(values.mean())
    unit = "items" if codes is None else "conversations"
    # Sums over conversations of values whose mean is about zero.
    units, rest = np.arange(len(values)) if codes is None else codes, values - value
    n, s = np.bincount(units).astype(np.float64), np.bincount(units, weights=rest)
    sums = (rest**2, s**2 / n, s, s**2, s**3, s * n, s**2 * n, s * n**2, n**2, n**3, n**4)
    moments = Moments(len(n), len(rest), *(float(column.sum()) for column in sums))
    hall = mean_estimate(moments, level, origin=value, bounds=bounds, what=what, unit=unit)
    return replace(hall, value=value)


def proportion(hits: Sequence[float], sizes: Sequence[int] | None = None) -> Estimate | None:
    """Return the share of hits among items that come in conversations; None without an item.

    ``hits`` of each conversation, half a hit counts as 0.5, among its ``sizes`` items, by default
    one. Wilson's interval with the effective number of items (Korn and Graubard 1998): as many
    independent items as would vary like these conversations do. If no spread shows, because all
    items or none are hits, one conversation counts as one item.
    """
    sums = np.asarray(hits, np.float64)
    items = np.ones_like(sums) if sizes is None else np.asarray(sizes, np.float64)
    sums, items = sums[items > 0], items[items > 0]
    n, units = int(items.sum()), len(items)
    if not n:
        return None
    value = float(sums.sum() / n)
    if units < 2:
        nothing = "the variance cannot be estimated from one conversation"
        return Estimate(value, None, None, LEVEL, n, "share", units, nothing)
    variance = units / (units - 1) * float(((sums - value * items) ** 2).sum()) / n**2
    quantile, effective = student_quantile(0.5 + LEVEL / 2, units - 1), n**2 / float(items @ items)
    low, high = bounded_interval(value, variance, quantile, effective, LEVEL, (0.0, 1.0), n)
    note = few_units(units, "conversations")
    return Estimate(value, low, high, LEVEL, n, "share, Wilson's interval", units, note)


def compare_systems(
    scores: Mapping[str, Values],
    *,
    groups: Groups | None = None,
    baseline: str | None = None,
    bounds: Bounds | None = None,
    level: float = 0.95,
    permutations: int | None = None,
    seed: int = 0,
) -> Ranking:
    """Return the mean of each system and which differences are significant.

    The intervals of means are those of :func:`mean`. That of a difference follows from those of
    the mean rise and the mean fall and their correlation (the method of variance estimates
    recovery, Zou and Donner 2008), each between 0 and the largest change seen: where changes are
    rare, one interval of both together is too narrow (``bench/coverage.md``). It also holds every
    difference that the permutation test does not reject. Where no value differs, it holds what the
    number of conversations allows: with 95 % confidence at most 1 - 0.05^(1/n) of them change, each
    by the range of ``bounds`` at most.

    Args:
        scores: One column per system, by name, over the same items in the same order.
        groups: Conversation of each item; its items are swapped together.
        baseline: Compare each system with this one alone.
        bounds: The least and the greatest possible value; means lie within them.
        level: Confidence level; one less it is the level of the tests.
        permutations: How many swaps; by default as many as Holm's correction asks for.
        seed: Seed of the swaps.

    Raises:
        InputError: If there are fewer than two systems or two complete items, or a value lies
            beyond the bounds.
    """
    check_level(level)
    pairs = _pairs(list(scores), baseline)
    each_column, codes = complete_items(scores, groups, least=2)
    columns = np.stack(each_column, axis=1)
    check_bounds(columns, bounds)
    means = [_mean_of(column, codes, bounds, level, "mean") for column in columns.T]
    paired = np.stack([columns[:, a] - columns[:, b] for a, b in pairs], axis=1)
    sizes = _per_unit(np.ones((len(paired), 1)), codes)
    gaps = [_mean_difference(gap, codes, level) for gap in paired.T]
    for still in np.flatnonzero((paired == 0).all(axis=0)).tolist():
        gaps[still] = _unchanged(gaps[still], sizes, bounds)
    ranking = _tested(
        dict(zip(scores, means, strict=True)), pairs, gaps,
        lambda part: _per_unit(paired[:, part], codes).__rmatmul__, codes,
        clustered=baseline is None, total=len(next(iter(scores.values()))), level=level,
        permutations=permutations, seed=seed, sizes=sizes,
    )  # fmt: skip
    comparisons = []
    for comparison, gap in zip(ranking.comparisons, paired.T, strict=True):
        spread = float(gap.std(ddof=1))
        d_z = comparison.difference.value / spread if spread > 0 else None
        comparisons.append(replace(comparison, d_z=d_z, dominance=float(np.sign(gap).mean())))
    return replace(ranking, comparisons=tuple(comparisons))


def _mean_difference(gap: Floats, codes: Integers | None, level: float) -> Estimate:
    parts = np.stack([np.maximum(gap, 0), np.maximum(-gap, 0)], axis=1)
    sums = _per_unit(parts, codes)
    # Most of a mean if every conversation changed like the one that changed most.
    most = min(float(parts.max()), float(sums.max()) * len(sums) / len(gap))
    what, bounds = "difference of means, from mean rise and fall", (0.0, most) if most else None
    rise, fall = (_mean_of(part, codes, bounds, level, what) for part in parts.T)
    sums = _per_unit(parts - parts.mean(axis=0), codes)
    (first, both), (_, second) = sums.T @ sums
    alike = both / math.sqrt(first * second) if first * second > 0 else 0.0
    low, high = _recovered(rise, fall, alike)
    return replace(rise, value=float(gap.mean()), low=low, high=high)


def _unchanged(gap: Estimate, sizes: Floats, bounds: Bounds | None) -> Estimate:
    """Return what so many conversations without any change allow: an exact bound on their share."""
    if gap.interval is None:
        return gap
    width = bounds[1] - bounds[0] if bounds else math.inf
    if not math.isfinite(width):
        return replace(
            gap, note="no value differs, and no range is known: the interval has no width"
        )
    items = float(sizes.sum()) ** 2 / float((sizes**2).sum())  # one conversation counts as one item
    share = 1 - (1 - gap.level) ** (1 / items)
    note = (
        f"no value differs: the interval allows for {share:.1%} of changes not seen, by {width:g}"
    )
    return replace(gap, low=-share * width, high=share * width, note=note)


def _recovered(x: Estimate, y: Estimate, alike: float = 0.0) -> tuple[float | None, float | None]:
    """Return the interval of x less y from their intervals and correlation."""
    if x.interval is None or y.interval is None:
        return None, None
    below = x.value - x.interval[0], y.interval[1] - y.value
    above = x.interval[1] - x.value, y.value - y.interval[0]
    low, high = (math.sqrt(max(0.0, a**2 + b**2 - 2 * alike * a * b)) for a, b in (below, above))
    return x.value - y.value - low, x.value - y.value + high


def compare_correlations(
    metrics: Mapping[str, Values],
    human: Values,
    *,
    kind: Literal["pearson", "spearman"] = "spearman",
    groups: Groups | None = None,
    baseline: str | None = None,
    permutations: int | None = None,
    seed: int = 0,
) -> Ranking:
    """Return the correlations of metrics with human ratings, compared on the same items.

    Intervals of correlations and of differences come from the same items left out. The
    permutation test swaps the standardised (for Spearman: ranked) values of two metrics on random
    items, or random conversations (Deutsch et al. 2021). Higher is better in all columns. Options
    are those of :func:`compare_systems`.

    Raises:
        InputError: If there are fewer than two metrics or four complete items, or a column is
            constant.
    """
    pairs = _pairs(list(metrics), baseline)
    named = {"human": human, **metrics}
    columns, codes = complete_items(named, groups, least=4, varying=True)
    target, scores = columns[0], np.stack(columns[1:], axis=1)
    n, what = len(target), NAMES[kind]
    drawn = resample(weighted_correlations(scores, target, kind), n, groups=codes, seed=seed)
    values = [correlation_value(column, target, kind) for column in scores.T]
    correlations = {
        name: estimate(drawn, i, what=what, value=values[i], bounded="correlation")
        for i, name in enumerate(metrics)
    }
    apart = differences(drawn, pairs)
    gaps = [
        estimate(apart, i, what=f"difference of {what}", value=values[a] - values[b])
        for i, (a, b) in enumerate(pairs)
    ]
    # Standardised, for rank correlations ranked, so that a swapped column is of one kind.
    if kind == "spearman":
        ranks = scipy_module("stats").rankdata
        scores, target = ranks(scores, axis=0), ranks(target)
    scores = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    target = (target - target.mean()) / target.std()

    def statistic(part: slice) -> Statistic:
        first, second = (list(side) for side in zip(*pairs[part], strict=True))
        return _swapped_correlations(scores[:, first], scores[:, second], target, codes)

    return _tested(
        correlations, pairs, gaps, statistic, codes, clustered=baseline is None,
        total=len(human), level=LEVEL, permutations=permutations, seed=seed,
    )  # fmt: skip


def _swapped_correlations(
    x: Floats, z: Floats, target: Floats, codes: Integers | None
) -> Statistic:
    """Return the difference of correlations of swapped standardised columns, from sums per unit.

    With total s and difference d of two columns, a swapped column is (s + sign d) / 2: all its
    moments are linear in the signs. Its mean is 0 and its mean square 1 before any swap.
    """
    n = len(target)
    total, gap = x + z, x - z
    products, means, squares = (
        _per_unit(part, codes) / n for part in (gap * target[:, None], gap, total * gap)
    )
    product = target @ total / n

    def statistic(signs: Floats) -> Floats:
        moved = signs @ products, signs @ means, signs @ squares
        correlation = []
        for side in (1, -1):
            covariance = (product + side * moved[0]) / 2
            spread = 1 + side * moved[2] / 2 - (moved[1] / 2) ** 2
            correlation.append(covariance / np.sqrt(np.maximum(spread, 1e-12)))
        return np.asarray(correlation[0] - correlation[1])

    return statistic


def _pairs(names: Sequence[str], baseline: str | None) -> Pairs:
    """Return the pairs to compare: all, or each name with the baseline."""
    if len(names) < 2:
        raise InputError(f"at least two are needed for a comparison, found {[*names]}")
    if baseline is None:
        return list(itertools.combinations(range(len(names)), 2))
    if baseline not in names:
        raise InputError(f"no baseline {baseline!r}{did_you_mean(baseline, names)}")
    second = list(names).index(baseline)
    return [(i, second) for i in range(len(names)) if i != second]


def _per_unit(values: Floats, codes: Integers | None) -> Floats:
    if codes is None:
        return values
    sums = np.zeros((int(codes.max()) + 1, values.shape[1]))
    np.add.at(sums, codes, values)
    return sums


def _tested(
    estimates: Mapping[str, Estimate],
    pairs: Pairs,
    gaps: list[Estimate],
    statistic: Callable[[slice], Statistic],
    codes: Integers | None,
    *,
    clustered: bool,
    total: int,
    level: float,
    permutations: int | None,
    seed: int,
    sizes: Floats | None = None,
) -> Ranking:
    """Test the difference of each pair by swapping the two on items or conversations.

    The statistic maps random signs, shape (rows, units), to the differences of some of the pairs.
    If these are sums over so many items per unit, intervals of means hold what is not rejected.
    """
    names, n = list(estimates), gaps[0].n
    units = n if codes is None else int(codes.max()) + 1
    # As many swaps as can still show a difference after Holm's correction.
    permutations = permutations or max(2000, math.ceil(10 * len(pairs) / (1 - level)))
    # Pairs are taken in parts, so that their columns and outcomes fit into memory.
    step = max(1, 4 * BLOCK // max(n, permutations))
    single: list[float] = []
    how, counts = "", np.zeros((1, 1))
    if sizes is not None:
        counts, _ = random_signs(sizes.__rmatmul__, units, permutations=permutations, seed=seed)
    for start in range(0, len(pairs), step):
        part = statistic(slice(start, start + step))
        values, how = random_signs(part, units, permutations=permutations, seed=seed)
        observed = np.abs(values[0])
        # Sums of the same terms in another order differ by rounding alone.
        extreme = np.abs(values) >= observed - 1e-9 * np.maximum(1.0, observed)
        single += [float(p) for p in extreme.mean(axis=0)]
        if sizes is not None:
            gaps[start : start + step] = _widened(gaps[start : start + step], values, counts)
    test = f"paired permutation, {how} of {'items' if codes is None else 'conversations'}"
    comparisons = tuple(
        Comparison(names[a], names[b], gap, p, p_single, test, "holm", verdict(gap.value, p, level))
        for (a, b), gap, p, p_single in zip(pairs, gaps, holm(single), single, strict=True)
    )
    means = [estimate.value for estimate in estimates.values()]
    clusters = _clusters(names, means, comparisons) if clustered else ()
    return Ranking(dict(estimates), comparisons, clusters, n, total - n)


def _widened(gaps: Sequence[Estimate], sums: Floats, counts: Floats) -> Iterator[Estimate]:
    """Yield the estimates with intervals that hold all that the test does not reject.

    With a difference taken off every item, a swap is as extreme as none if that difference lies
    between the mean of the swapped units and that of the others (Hartigan 1969).
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # no unit or all are swapped
        means = [(sums[0] + sign * sums) / (counts[0] + sign * counts) for sign in (1, -1)]
    place = -1 - math.floor((1 - gaps[0].level) * len(sums))  # NaN comes last
    lows = -np.partition(-np.minimum(*means), place, axis=0)[place]
    highs = np.partition(np.maximum(*means), place, axis=0)[place]
    for gap, low, high in zip(gaps, lows, highs, strict=True):
        if (ends := gap.interval) is not None:
            gap = replace(gap, low=float(np.fmin(ends[0], low)), high=float(np.fmax(ends[1], high)))
        yield gap


def verdict(difference: float, p_value: float, level: float) -> Verdict:
    """Return which is higher if the p-value is at most one less ``level``."""
    if p_value > 1 - level or difference == 0:
        return "no significant difference"
    return "first higher" if difference > 0 else "second higher"


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted so that the chance of any false rejection is kept (Holm 1979).

    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    p = np.asarray(p_values, np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError(f"p-values lie between 0 and 1, found {[*p_values]}")
    order = np.argsort(p, kind="stable")
    steps = (len(p) - np.arange(len(p))) * p[order]
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return [float(p) for p in adjusted]


def _clusters(
    names: Sequence[str], values: Sequence[float], comparisons: Sequence[Comparison]
) -> tuple[tuple[str, ...], ...]:
    """Return the names in groups, best first, between which every difference is significant.

    A border is drawn where every name above is higher than every name below (as in the WMT
    shared tasks). Within a group some pairs may differ; the comparisons say which.
    """
    higher = {(c.first, c.second) for c in comparisons if c.verdict == "first higher"}
    higher |= {(c.second, c.first) for c in comparisons if c.verdict == "second higher"}
    order = [names[i] for i in np.argsort(-np.asarray(values, np.float64), kind="stable")]
    clusters: list[tuple[str, ...]] = []
    start = 0
    for cut in range(1, len(order) + 1):
        if all((a, b) in higher for a in order[:cut] for b in order[cut:]):
            clusters.append(tuple(order[start:cut]))
            start = cut
    return tuple(clusters)


APART = "difference of independent means from their intervals (Zou and Donner 2008)"
POWER = 0.8
STEPS = 40
"""Halvings in the search for a p-value: far more than it is printed with."""


def compare_unpaired(
    scores: Mapping[str, Values],
    groups: Mapping[str, Groups],
    *,
    bounds: Bounds | None = None,
    level: float = 0.95,
) -> Ranking | None:
    """Compare two means over different conversations; None if they have no interval.

    The interval of the difference follows from those of the two means (the method of variance
    estimates recovery); the p-value is one less the highest level whose interval leaves 0 out.
    """

    def at(level: float) -> tuple[list[Estimate], Estimate]:
        first, second = means = [
            mean(values, groups=groups[name], bounds=bounds, level=level)
            for name, values in scores.items()
        ]
        low, high = _recovered(first, second)
        units = [side.groups or side.n for side in means]
        few = f"fewer than {FEW} conversations on a side: a rough guide"
        note, n = few if min(units) < FEW else None, first.n + second.n
        value = first.value - second.value
        return means, Estimate(value, low, high, level, n, APART, sum(units), note)

    means, gap = at(level)
    if gap.interval is None:
        return None
    least, most = 0.0, 1.0
    for _ in range(STEPS):
        middle = (least + most) / 2
        if at(middle)[1].side(0) in ("above", "below"):
            least = middle
        else:
            most = middle
    p = 1 - least
    first, second = scores
    comparison = Comparison(first, second, gap, p, p, APART, "none", verdict(gap.value, p, level))
    return Ranking(dict(zip(scores, means, strict=True)), (comparison,), (), gap.n, 0)


class Power(msgspec.Struct, frozen=True):
    """How many conversations a significant difference of two systems takes.

    Attributes:
        difference, power: The difference to find, and the probability to find it, 0 to 1.
        level: One less it is the level of the test.
        now: Conversations (or items) at hand.
        total: Conversations (or items) needed.
        more: How many more; 0 if there are enough.
        detectable: The difference found with this power at the number at hand.
        unit: ``conversations`` or ``items``.
    """

    difference: float
    power: float
    level: float
    now: int
    total: int
    more: int
    detectable: float
    unit: str


def items_needed(
    first: Values,
    second: Values,
    *,
    difference: float,
    groups: Groups | None = None,
    level: float = 0.95,
) -> Power:
    """Return how many conversations show a difference of two systems of this size.

    From the standard error of the mean difference at hand, clustered by conversation, which
    falls with the square root of their number (normal approximation). State a difference above 0
    that would matter; with the observed one the answer only repeats the p-value. It is found with
    probability 0.8; one less ``level`` is that of a false alarm.

    Raises:
        InputError: If the difference is not above 0, or there are fewer than two
            conversations.
    """
    check_level(level)
    if not difference > 0:
        raise InputError(f"difference={difference}: give the smallest relevant difference, above 0")
    (a, b), codes = complete_items({"first": first, "second": second}, groups, least=2)
    gap = a - b
    # The variance of a ratio of cluster sums to cluster sizes (Cochran 1977, section 2.11).
    sums = np.bincount(np.arange(len(gap)) if codes is None else codes, weights=gap - gap.mean())
    units = len(sums)
    if units < 2:
        raise InputError("one conversation: at least two are needed to estimate the variance")
    error = math.sqrt(units / (units - 1) * float(sums @ sums)) / len(gap)
    reach = NormalDist().inv_cdf(0.5 + level / 2) + NormalDist().inv_cdf(POWER)
    total, least = max(2, math.ceil(units * (reach * error / difference) ** 2)), reach * error
    unit, more = "items" if groups is None else "conversations", max(0, total - units)
    return Power(difference, POWER, level, units, total, more, least, unit)
