"""Means of a metric in two files and the test of their difference, paired or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from grice.evaluation.table import metric_range
from grice.stats.comparison import Ranking, holm, verdict
from grice.stats.systems import Sample, compare_unpaired
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grice.evaluation.table import MetricScores
    from grice.stats.comparison import Comparison

BASELINE, OTHER = "baseline", "other"
DIFFERENT = ("first higher", "second higher")
"""The verdicts on a difference that is surely not zero."""


def corrected(tests: Mapping[str, Ranking], level: float) -> dict[str, Ranking]:
    """Return tests with p-values and verdicts that allow for the number of metrics."""
    p_values = holm([test.comparisons[0].p_single for test in tests.values()])
    return {
        name: _with_p_value(test, p, level)
        for (name, test), p in zip(tests.items(), p_values, strict=True)
    }


def _with_p_value(test: Ranking, p: float, level: float) -> Ranking:
    [comparison] = test.comparisons
    outcome = verdict(comparison.difference.value, p, level)
    comparison = replace(comparison, p_value=p, correction="holm", verdict=outcome)
    return replace(test, comparisons=(comparison,))


def unpaired_tests(
    pairs: Mapping[str, tuple[MetricScores, MetricScores]], level: float
) -> dict[str, Ranking]:
    """Return the test of each metric over other conversations on each side, where there is one."""
    tests = {name: _unpaired_test(name, *pair, level) for name, pair in pairs.items()}
    return corrected({name: test for name, test in tests.items() if test is not None}, level)


def _unpaired_test(
    name: str, baseline: MetricScores, other: MetricScores, level: float
) -> Ranking | None:
    columns = [scores.values for scores in (baseline, other)]
    given = [column[np.isfinite(column)] for column in columns]
    if not all(map(len, given)):
        return None
    samples = {
        name: Sample(scores.values, scores.conversations.tolist())
        for name, scores in ((OTHER, other), (BASELINE, baseline))
    }
    bounds = metric_range(name, baseline.signatures[0], *given)
    return compare_unpaired(samples, bounds=bounds, level=level)


def unpaired_says(name: str, test: Ranking | None) -> str:
    """Return the outcome over other conversations on each side in one sentence."""
    if test is None:
        return f"{name}: fewer than two conversations with a value on a side: nothing can be said"
    [comparison] = test.comparisons
    gap = comparison.difference
    baseline, other = test.estimates[BASELINE], test.estimates[OTHER]
    sides = f"{baseline.groups} and {other.groups} conversations"
    figures = f"{with_interval(gap, '+.3f', '.3f')}, p {comparison.p_value:.2g}, {sides}"
    words = {"first higher": "higher than", "second higher": "lower than"}
    outcome = words.get(comparison.verdict, "not distinguishable at this n from")
    rough = f"; {gap.note}" if gap.note else ""
    rough += why_not(comparison)
    return f"{name}: {outcome} the baseline ({figures}), unpaired{rough}"


def why_not(comparison: Comparison) -> str:
    """Return why a difference is not distinguishable although its interval leaves out 0."""
    gap = comparison.difference
    if comparison.verdict in DIFFERENT or gap.side(0) not in ("above", "below"):
        return ""
    if comparison.p_single <= 1 - gap.level:
        return "; the interval alone leaves out 0, the p-value is corrected over all metrics"
    return "; the interval leaves out 0, the permutation test does not reject"
