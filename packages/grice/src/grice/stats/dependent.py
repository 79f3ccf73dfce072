"""Is one metric closer to people than another? Two correlations that share a column.

The formulas take the three correlations: of j (the human ratings) with k and with h (two
metrics), and of k with h. They rest on normal, independent items; the bootstrap and the
permutation test of :func:`compare_correlations` on neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from grice.errors import InputError
from grice.stats import weighted
from grice.stats.comparison import (
    Ranking,
    compared,
    pairs_of,
    permutation_test_of_correlations,
    permutations_needed,
    significance_clusters,
)
from grice.stats.correlations import NAMES, complete, correlation_value, heavy_tails
from grice.stats.estimate import scipy_module
from grice.stats.inputs import Groups, Values, check_level
from grice.stats.resample import ResamplingKind, differences, estimate, resample

if TYPE_CHECKING:
    from grice.stats.weighted import Kind

Test: TypeAlias = Literal["permutation", "williams"]


class DependentTest(NamedTuple):
    """A test of the difference of two correlations that share a column.

    Attributes:
        difference: r_jk less r_jh.
        statistic: Student's t.
        p_value: Two-sided.
        freedom: Degrees of freedom of t.
        n: Number of items.
        method: Name of the test.
    """

    difference: float
    statistic: float
    p_value: float
    freedom: int
    n: int
    method: str


def williams_t(r_jk: float, r_jh: float, r_kh: float, n: int) -> DependentTest:
    """Return Williams' t of two correlations that share j (Steiger 1980, equation 7).

    Args:
        r_jk: Correlation of the shared column with the one metric.
        r_jh: Correlation of the shared column with the other metric.
        r_kh: Correlation of the two metrics.
        n: Number of items, at least 4.

    Raises:
        InputError: If the three numbers are not correlations of one data set.
    """
    if n < 4:
        raise InputError(f"n={n}: comparing two correlations takes at least four items")
    if max(abs(r_jk), abs(r_jh), abs(r_kh)) > 1:
        raise InputError(f"correlations lie between -1 and 1, found {r_jk}, {r_jh}, {r_kh}")
    determinant = max(0.0, exact := 1 - r_jk**2 - r_jh**2 - r_kh**2 + 2 * r_jk * r_jh * r_kh)
    if exact < -1e-9:
        raise InputError(
            f"no three columns have the correlations {r_jk}, {r_jh} and {r_kh} with each other"
        )
    mean = (r_jk + r_jh) / 2
    below = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - r_kh) ** 3
    above = (r_jk - r_jh) * math.sqrt((n - 1) * (1 + r_kh))
    # Two metrics that are the same column make both 0: no difference at all.
    t = 0.0 if above == 0 else above / math.sqrt(below) if below > 0 else math.inf
    p = 2 * float(scipy_module("special").stdtr(n - 3, -abs(t)))
    return DependentTest(r_jk - r_jh, t, p, n - 3, n, "Williams' t")


def compare_correlations(
    metrics: Mapping[str, Values],
    human: Values,
    *,
    kind: Kind = "spearman",
    groups: Groups | None = None,
    baseline: str | None = None,
    test: Test = "permutation",
    interval: ResamplingKind = "jackknife",
    level: float = 0.95,
    resamples: int = 2000,
    permutations: int | None = None,
    seed: int = 0,
) -> Ranking:
    """Return the correlations of metrics with human ratings, compared on the same items.

    Intervals of correlations and of differences come from the same items left out, or from the
    same bootstrap resamples. The
    permutation test swaps the standardised (for Spearman and Kendall: ranked) values of two
    metrics on random items, or random conversations (Deutsch et al. 2021).

    Args:
        metrics: One column per metric, by name; higher is better in all of them.
        human: The ratings.
        kind: As in :func:`~grice.stats.correlation`.
        groups: Conversation of each item; its items are drawn and swapped together.
        baseline: Compare each metric with this one alone.
        test: ``permutation``, or the formula ``williams`` for independent items (for rank
            correlations an approximation). On columns with heavy tails it rejects far too often,
            and the comparison then says so.
        interval: ``jackknife``, which holds its promise for heavy tails and few conversations
            too (bench/coverage.md), ``bca`` or ``percentile``.
        level: Confidence level; one less it is the level of the tests.
        resamples: How many bootstrap resamples.
        permutations: How many swaps; by default as many as Holm's correction asks for.
        seed: Seed of draws and swaps.

    Raises:
        InputError: If there are fewer than two metrics or four complete items, or a column is
            constant.
    """
    check_level(level)
    names = list(metrics)
    pairs = pairs_of(names, baseline)
    if test != "permutation" and groups is not None:
        raise InputError(f"test={test!r} takes items as independent; give 'permutation' for groups")
    columns, codes = complete({"human": human, **metrics}, groups, least=4)
    target, scores = columns[0], np.stack(columns[1:], axis=1)
    n = len(target)
    drawn = resample(
        weighted.correlations(scores, target, kind),
        n,
        groups=codes,
        kind=interval,
        resamples=resamples,
        seed=seed,
    )
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
    if test == "permutation":
        p_values, how = permutation_test_of_correlations(
            scores,
            target,
            codes,
            pairs,
            kind=kind,
            permutations=permutations or permutations_needed(len(pairs), level),
            seed=seed,
        )
    else:
        tests = [
            williams_t(values[a], values[b], correlation_value(scores[:, a], scores[:, b], kind), n)
            for a, b in pairs
        ]
        p_values, how = [done.p_value for done in tests], tests[0].method
        if kind == "pearson" and any(heavy_tails(target, column) for column in scores.T):
            how += ": rejects too often on these heavy tails; give test='permutation'"
    comparisons = compared(names, pairs, gaps, p_values, test=how, level=level)
    clusters = () if baseline else significance_clusters(names, values, comparisons)
    return Ranking(correlations, tuple(comparisons), clusters, n, len(human) - n)
