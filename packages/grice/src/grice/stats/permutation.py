"""Paired permutation tests: what if the two were interchangeable?

On each item, or on all items of a conversation together, the values of two systems or metrics
are swapped at random; the p-value is the share of swaps whose difference is at least as far
from zero as the observed one. All pairs see the same swaps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grice.stats.correlations import correlation_value
from grice.stats.estimate import scipy_module
from grice.stats.inputs import Floats, Integers
from grice.stats.resample import BLOCK, random_signs

if TYPE_CHECKING:
    from grice.stats.resample import Statistic
    from grice.stats.weighted import Kind

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
