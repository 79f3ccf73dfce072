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

from grice.errors import InputError, did_you_mean
from grice.stats import weighted
from grice.stats.correlations import NAMES, complete, correlation_value
from grice.stats.estimate import Estimate, scipy_module
from grice.stats.inputs import Floats, Groups, Integers, Values, check_level
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
    """Return who is higher if the p-value is at most one less ``level``."""
    if p_value > 1 - level or difference == 0:
        return "no significant difference"
    return "first higher" if difference > 0 else "second higher"


def compared(
    names: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    gaps: Sequence[Estimate],
    p_values: Sequence[float],
    *,
    test: str,
    level: float,
) -> list[Comparison]:
    """Return the comparison of each pair of names."""
    return [
        Comparison(names[a], names[b], gap, p, single, test, "holm", verdict(gap.value, p, level))
        for (a, b), gap, p, single in zip(pairs, gaps, holm(p_values), p_values, strict=True)
    ]


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


def pairs_of(names: Sequence[str], baseline: str | None) -> list[tuple[int, int]]:
    """Return the pairs to compare: all, or each name with the baseline."""
    if len(names) < 2:
        raise InputError(f"at least two are needed for a comparison, found {[*names]}")
    if baseline is None:
        return list(itertools.combinations(range(len(names)), 2))
    if baseline not in names:
        raise InputError(f"no baseline {baseline!r}{did_you_mean(baseline, names)}")
    second = list(names).index(baseline)
    return [(i, second) for i in range(len(names)) if i != second]


def permutations_needed(comparisons: int, level: float) -> int:
    """Return how many random swaps can still show a difference after Holm's correction."""
    return max(2000, math.ceil(10 * comparisons / (1 - level)))


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
    higher = set()
    seen = set()
    for comparison in comparisons:
        seen.add(frozenset((comparison.first, comparison.second)))
        if comparison.verdict == "first higher":
            higher.add((comparison.first, comparison.second))
        elif comparison.verdict == "second higher":
            higher.add((comparison.second, comparison.first))
    order = [names[i] for i in np.argsort(-np.asarray(values, np.float64), kind="stable")]
    for i, a in enumerate(order):
        for b in order[i + 1 :]:
            if frozenset((a, b)) not in seen:
                raise InputError(f"clusters need every pair compared; {a!r} with {b!r} is missing")
    clusters: list[tuple[str, ...]] = []
    start = 0
    for cut in range(1, len(order) + 1):
        below = order[cut:]
        if all((a, b) in higher for a in order[:cut] for b in below):
            clusters.append(tuple(order[start:cut]))
            start = cut
    return tuple(clusters)


Pairs: TypeAlias = Sequence[tuple[int, int]]


def permutation_test_of_means(
    columns: Floats, codes: Integers | None, pairs: Pairs, *, permutations: int, seed: int
) -> tuple[list[float], str]:
    """Return the two-sided p-value of each pair's difference of means, and how it was made."""

    def statistic(part: Pairs) -> Statistic:
        gaps = _per_unit(columns[:, [a for a, _ in part]] - columns[:, [b for _, b in part]], codes)
        return lambda signs: np.asarray(signs @ gaps)

    return _p_values(statistic, len(columns), codes, pairs, permutations, seed)


def permutation_test_of_correlations(
    scores: Floats,
    target: Floats,
    codes: Integers | None,
    pairs: Pairs,
    *,
    kind: Kind,
    permutations: int,
    seed: int,
) -> tuple[list[float], str]:
    """Return the two-sided p-value of each pair's difference of correlations.

    Columns are standardised before, for rank correlations ranked, so that a swapped column is
    of one kind.
    """
    if kind != "pearson":
        ranks = scipy_module("stats").rankdata
        scores, target = ranks(scores, axis=0), ranks(target)
    scores = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    target = (target - target.mean()) / target.std()

    def statistic(part: Pairs) -> Statistic:
        x, z = scores[:, [a for a, _ in part]], scores[:, [b for _, b in part]]
        if kind in ("pearson", "spearman"):
            return permuted_moments(x, z, target, codes)
        return _permuted_kendall(x, z, target, codes, kind)

    return _p_values(statistic, len(target), codes, pairs, permutations, seed)


def _p_values(
    statistic: Callable[[Pairs], Statistic],
    n: int,
    codes: Integers | None,
    pairs: Pairs,
    permutations: int,
    seed: int,
) -> tuple[list[float], str]:
    units = n if codes is None else int(codes.max()) + 1
    unit = "items" if codes is None else "conversations"
    # Pairs are taken in parts, so that their columns and outcomes fit into memory.
    step = max(1, 4 * BLOCK // max(n, permutations))
    p_values: list[float] = []
    how = ""
    for start in range(0, len(pairs), step):
        part = pairs[start : start + step]
        values, how = random_signs(statistic(part), units, permutations=permutations, seed=seed)
        observed = np.abs(values[0])
        # Sums of the same terms in another order differ by rounding alone.
        extreme = np.abs(values) >= observed - 1e-9 * np.maximum(1.0, observed)
        p_values += [float(p) for p in extreme.mean(axis=0)]
    return p_values, f"paired permutation, {how} of {unit}"


def _per_unit(values: Floats, codes: Integers | None) -> Floats:
    if codes is None:
        return values
    sums = np.zeros((int(codes.max()) + 1, values.shape[1]))
    np.add.at(sums, codes, values)
    return sums


def permuted_moments(x: Floats, z: Floats, target: Floats, codes: Integers | None) -> Statistic:
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


def _permuted_kendall(
    x: Floats, z: Floats, target: Floats, codes: Integers | None, kind: Kind
) -> Statistic:
    def statistic(signs: Floats) -> Floats:
        values = np.empty((len(signs), x.shape[1]))
        for row, sign in enumerate(signs):
            keep = (sign if codes is None else sign[codes]) > 0
            for k in range(x.shape[1]):
                first, other = np.where(keep, x[:, k], z[:, k]), np.where(keep, z[:, k], x[:, k])
                values[row, k] = correlation_value(first, target, kind)
                values[row, k] -= correlation_value(other, target, kind)
        return values

    return statistic


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
    names = list(metrics)
    pairs = pairs_of(names, baseline)
    columns, codes = complete({"human": human, **metrics}, groups, least=4)
    target, scores = columns[0], np.stack(columns[1:], axis=1)
    n = len(target)
    drawn = resample(weighted.correlations(scores, target, kind), n, groups=codes, seed=seed)
    what = NAMES[kind]
    values = [correlation_value(column, target, kind) for column in scores.T]
    correlations = {
        name: estimate(drawn, i, level=level, what=what, value=values[i], bounded="correlation")
        for i, name in enumerate(names)
    }
    apart = differences(drawn, pairs)
    gaps = [
        estimate(apart, i, level=level, what=f"difference of {what}", value=values[a] - values[b])
        for i, (a, b) in enumerate(pairs)
    ]
    p_values, how = permutation_test_of_correlations(
        scores,
        target,
        codes,
        pairs,
        kind=kind,
        permutations=permutations or permutations_needed(len(pairs), level),
        seed=seed,
    )
    comparisons = compared(names, pairs, gaps, p_values, test=how, level=level)
    clusters = () if baseline else significance_clusters(names, values, comparisons)
    return Ranking(correlations, tuple(comparisons), clusters, n, len(human) - n)
