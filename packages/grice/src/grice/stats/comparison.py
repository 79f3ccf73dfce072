"""Comparing two things on the same items, and many: records, corrections, permutation tests.

A paired permutation test swaps the values of two systems or metrics on random items, or on all
items of a conversation together; the p-value is the share of swaps whose difference is at least as
far from zero as the observed one. All pairs see the same swaps.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace

from grice.errors import InputError, did_you_mean
from grice.stats import weighted
from grice.stats.clusters import Bounds, Moments, mean_estimate
from grice.stats.correlations import NAMES, complete, correlation_value
from grice.stats.estimate import Estimate, scipy_module
from grice.stats.inputs import (
    Floats,
    Groups,
    Integers,
    Values,
    check_bounds,
    check_level,
    complete_items,
)
from grice.stats.resample import BLOCK, differences, estimate, random_signs, resample

if TYPE_CHECKING:
    from grice.stats.resample import Statistic
    from grice.stats.weighted import Kind


Verdict: TypeAlias = Literal["first higher", "second higher", "no significant difference"]
"""There is no verdict "equal": a test that does not reject does not show equality."""
Correction: TypeAlias = Literal["holm", "none"]


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two systems, or two metrics, on the same items.

    Attributes:
        first: Name of the one.
        second: Name of the other.
        difference: First less second, with its interval.
        p_value: Probability of a difference at least as far from zero if the two were
            interchangeable, after ``correction``.
        p_single: The same before the correction.
        test: How it was computed.
        correction: How ``p_value`` allows for the number of comparisons.
        verdict: Who is higher, or that no significant difference shows at this n.
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
    correction: Correction
    verdict: Verdict
    d_z: float | None = None
    dominance: float | None = None

    def __str__(self) -> str:
        ends = self.difference.interval
        interval = "" if ends is None else f" [{ends[0]:.3f}, {ends[1]:.3f}]"
        outcome = f"difference {self.difference.value:.3f}{interval}, p {self.p_value:.4f}"
        items = f"n {self.difference.n}"
        if self.difference.groups is not None:
            items += f" in {self.difference.groups} conversations"
        if self.verdict == "first higher":
            return f"{self.first} is higher than {self.second}: {outcome}, {items}"
        if self.verdict == "second higher":
            return f"{self.second} is higher than {self.first}: {outcome}, {items}"
        return (
            f"no significant difference between {self.first} and {self.second}: {outcome}, {items}"
        )


class Ranking(msgspec.Struct, frozen=True):
    """Several systems, or several metrics, on the same items.

    Attributes:
        estimates: Mean of each system, or correlation of each metric, by name.
        comparisons: Every pair, or each with the baseline.
        clusters: Names in significance clusters, best first; empty if only a baseline was
            compared.
        n: Number of items with all values.
        dropped: Number of items left out because a value was missing.
    """

    estimates: dict[str, Estimate]
    comparisons: tuple[Comparison, ...]
    clusters: tuple[tuple[str, ...], ...]
    n: int
    dropped: int


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


def significance_clusters(
    names: Sequence[str], values: Sequence[float], comparisons: Sequence[Comparison]
) -> tuple[tuple[str, ...], ...]:
    """Return the names in groups, best first, between which every difference is significant.

    A border is drawn where every name above is higher than every name below (as in the WMT
    shared tasks). Within a group some pairs may differ; the comparisons say which.

    Args:
        names: The systems or metrics.
        values: Their means or correlations.
        comparisons: All pairs of them.

    Raises:
        InputError: If a pair is missing.
    """
    higher = {(c.first, c.second) for c in comparisons if c.verdict == "first higher"}
    higher |= {(c.second, c.first) for c in comparisons if c.verdict == "second higher"}
    seen = {frozenset((c.first, c.second)) for c in comparisons}
    order = [names[i] for i in np.argsort(-np.asarray(values, np.float64), kind="stable")]
    for a, b in itertools.combinations(order, 2):
        if frozenset((a, b)) not in seen:
            raise InputError(f"clusters need every pair compared; {a!r} with {b!r} is missing")
    clusters: list[tuple[str, ...]] = []
    start = 0
    for cut in range(1, len(order) + 1):
        if all((a, b) in higher for a in order[:cut] for b in order[cut:]):
            clusters.append(tuple(order[start:cut]))
            start = cut
    return tuple(clusters)


Pairs: TypeAlias = Sequence[tuple[int, int]]


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


def _tested(
    estimates: Mapping[str, Estimate],
    pairs: Pairs,
    gaps: Sequence[Estimate],
    statistic: Callable[[Pairs], Statistic],
    codes: Integers | None,
    *,
    clustered: bool,
    dropped: int,
    level: float,
    permutations: int | None,
    seed: int,
) -> Ranking:
    """Test the difference of each pair by swapping the two on items or conversations.

    The statistic maps random signs, shape (rows, units), to the differences of some of the pairs.
    """
    names, n = list(estimates), gaps[0].n
    units = n if codes is None else int(codes.max()) + 1
    # As many swaps as can still show a difference after Holm's correction.
    permutations = permutations or max(2000, math.ceil(10 * len(pairs) / (1 - level)))
    # Pairs are taken in parts, so that their columns and outcomes fit into memory.
    step = max(1, 4 * BLOCK // max(n, permutations))
    single: list[float] = []
    how = ""
    for start in range(0, len(pairs), step):
        part = statistic(pairs[start : start + step])
        values, how = random_signs(part, units, permutations=permutations, seed=seed)
        observed = np.abs(values[0])
        # Sums of the same terms in another order differ by rounding alone.
        extreme = np.abs(values) >= observed - 1e-9 * np.maximum(1.0, observed)
        single += [float(p) for p in extreme.mean(axis=0)]
    test = f"paired permutation, {how} of {'items' if codes is None else 'conversations'}"
    comparisons = tuple(
        Comparison(names[a], names[b], gap, p, p_single, test, "holm", verdict(gap.value, p, level))
        for (a, b), gap, p, p_single in zip(pairs, gaps, holm(single), single, strict=True)
    )
    means = [estimate.value for estimate in estimates.values()]
    clusters = significance_clusters(names, means, comparisons) if clustered else ()
    return Ranking(dict(estimates), comparisons, clusters, n, dropped)


def _per_unit(values: Floats, codes: Integers | None) -> Floats:
    if codes is None:
        return values
    sums = np.zeros((int(codes.max()) + 1, values.shape[1]))
    np.add.at(sums, codes, values)
    return sums


def mean(
    values: Values,
    *,
    groups: Groups | None = None,
    bounds: Bounds | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return the mean of the values that are there.

    The interval is Student's t with corrections for skewed values and for few or uneven
    conversations (:func:`~grice.stats.clusters.mean_estimate`).

    >>> str(mean([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]))
    '5.500, 95 % [3.334, 7.666], n 10'
    >>> str(mean([1, 1, 0], bounds=(0, 1)))
    '0.667, 95 % [0.044, 0.989], n 3; fewer than 10 items: the interval is a rough guide'

    Args:
        values: One value per item; None or NaN where there is none.
        groups: Conversation of each item.
        bounds: The least and the greatest possible value, such as ``(0, 1)`` of a share: the
            interval lies within them. Where Student's would not, it is Wilson's.
        level: Confidence level.

    Raises:
        InputError: If there is no value, or one beyond the bounds.
    """
    check_level(level)
    (column,), codes, _ = complete_items({"values": values}, groups, least=1)
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

    The intervals are those of :func:`mean`; that of a difference is that of the mean of the paired
    differences. The test swaps the values of two systems on random items, or conversations.

    Args:
        scores: One column per system, by name, over the same items in the same order.
        groups: Conversation of each item; its items are swapped together.
        baseline: Compare each system with this one alone.
        bounds: As in :func:`mean`; a difference lies within plus and minus their distance.
        level: Confidence level; one less it is the level of the tests.
        permutations: How many swaps; by default as many as Holm's correction asks for.
        seed: Seed of the swaps.

    Raises:
        InputError: If there are fewer than two systems or two complete items, or a value lies
            beyond the bounds.
    """
    check_level(level)
    pairs = _pairs(list(scores), baseline)
    each_column, codes, total = complete_items(scores, groups, least=2)
    columns = np.stack(each_column, axis=1)
    check_bounds(columns, bounds)
    means = [_mean_of(column, codes, bounds, level, "mean") for column in columns.T]
    apart = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    paired = np.stack([columns[:, a] - columns[:, b] for a, b in pairs], axis=1)
    gaps = [_mean_of(gap, codes, apart, level, "difference of means") for gap in paired.T]

    def statistic(part: Pairs) -> Statistic:
        sums = _per_unit(columns[:, [a for a, _ in part]] - columns[:, [b for _, b in part]], codes)
        return lambda signs: np.asarray(signs @ sums)

    ranking = _tested(
        dict(zip(scores, means, strict=True)), pairs, gaps, statistic, codes,
        clustered=baseline is None, dropped=total - len(columns), level=level,
        permutations=permutations, seed=seed,
    )  # fmt: skip
    comparisons = []
    for comparison, gap in zip(ranking.comparisons, paired.T, strict=True):
        spread = float(gap.std(ddof=1))
        d_z = comparison.difference.value / spread if spread > 0 else None
        comparisons.append(replace(comparison, d_z=d_z, dominance=float(np.sign(gap).mean())))
    return replace(ranking, comparisons=tuple(comparisons))


def compare_correlations(
    metrics: Mapping[str, Values],
    human: Values,
    *,
    kind: Kind = "spearman",
    groups: Groups | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    permutations: int | None = None,
    seed: int = 0,
) -> Ranking:
    """Return the correlations of metrics with human ratings, compared on the same items.

    Intervals of correlations and of differences come from the same items left out. The
    permutation test swaps the standardised (for Spearman and Kendall: ranked) values of two
    metrics on random items, or random conversations (Deutsch et al. 2021).

    Args:
        metrics: One column per metric, by name; higher is better in all of them.
        human: The ratings.
        kind: As in :func:`~grice.stats.correlation`.
        groups: Conversation of each item; its items are left out and swapped together.
        baseline: Compare each metric with this one alone.
        level: Confidence level; one less it is the level of the tests.
        permutations: How many swaps; by default as many as Holm's correction asks for.
        seed: Seed of the swaps.

    Raises:
        InputError: If there are fewer than two metrics or four complete items, or a column is
            constant.
    """
    check_level(level)
    pairs = _pairs(list(metrics), baseline)
    columns, codes = complete({"human": human, **metrics}, groups, least=4)
    target, scores = columns[0], np.stack(columns[1:], axis=1)
    n = len(target)
    drawn = resample(weighted.correlations(scores, target, kind), n, groups=codes, seed=seed)
    what = NAMES[kind]
    values = [correlation_value(column, target, kind) for column in scores.T]
    correlations = {
        name: estimate(drawn, i, level=level, what=what, value=values[i], bounded="correlation")
        for i, name in enumerate(metrics)
    }
    apart = differences(drawn, pairs)
    gaps = [
        estimate(apart, i, level=level, what=f"difference of {what}", value=values[a] - values[b])
        for i, (a, b) in enumerate(pairs)
    ]
    # Standardised, for rank correlations ranked, so that a swapped column is of one kind.
    if kind != "pearson":
        ranks = scipy_module("stats").rankdata
        scores, target = ranks(scores, axis=0), ranks(target)
    scores = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    target = (target - target.mean()) / target.std()
    swapped = _swapped_kendall if kind == "kendall" else _swapped_moments

    def statistic(part: Pairs) -> Statistic:
        first, second = scores[:, [a for a, _ in part]], scores[:, [b for _, b in part]]
        return swapped(first, second, target, codes)

    return _tested(
        correlations, pairs, gaps, statistic, codes, clustered=baseline is None,
        dropped=len(human) - n, level=level, permutations=permutations, seed=seed,
    )  # fmt: skip


def _swapped_moments(x: Floats, z: Floats, target: Floats, codes: Integers | None) -> Statistic:
    """Return the difference of Pearson correlations of swapped columns, from sums per unit.

    With total s and difference d of two columns, a swapped column is (s + sign d) / 2: all its
    moments are linear in the signs.
    """
    n = len(target)
    total, gap = x + z, x - z
    products, means, squares = (
        _per_unit(part, codes) / n for part in (gap * target[:, None], gap, total * gap)
    )
    product = target @ total / n
    mean = total.mean(axis=0)
    square = (total**2 + gap**2).mean(axis=0) / 2

    def statistic(signs: Floats) -> Floats:
        moved = signs @ products, signs @ means, signs @ squares
        correlation = []
        for side in (1, -1):
            covariance = (product + side * moved[0]) / 2
            spread = (square + side * moved[2]) / 2 - ((mean + side * moved[1]) / 2) ** 2
            correlation.append(covariance / np.sqrt(np.maximum(spread, 1e-12)))
        return np.asarray(correlation[0] - correlation[1])

    return statistic


def _swapped_kendall(x: Floats, z: Floats, target: Floats, codes: Integers | None) -> Statistic:
    def statistic(signs: Floats) -> Floats:
        values = np.empty((len(signs), x.shape[1]))
        for row, sign in enumerate(signs):
            keep = (sign if codes is None else sign[codes]) > 0
            for k in range(x.shape[1]):
                first, other = np.where(keep, x[:, k], z[:, k]), np.where(keep, z[:, k], x[:, k])
                values[row, k] = correlation_value(first, target, "kendall")
                values[row, k] -= correlation_value(other, target, "kendall")
        return values

    return statistic
