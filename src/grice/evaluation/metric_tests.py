"""Means of a metric in two files and the test of their difference, paired or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.evaluation.table import metric_range
from grice.stats.comparison import Comparison, holm, verdict
from grice.stats.estimate import Estimate
from grice.stats.unpaired import METHOD, Sample, unpaired_difference
from grice.tables import bracketed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grice.evaluation.table import MetricScores

__all__ = [
    "BASELINE",
    "DIFFERENT",
    "OTHER",
    "MetricTest",
    "corrected",
    "unpaired_says",
    "unpaired_tests",
    "why_not",
]

BASELINE, OTHER = "baseline", "other"
DIFFERENT = ("first higher", "second higher")
"""The verdicts on a difference that is surely not zero."""


class MetricTest(NamedTuple):
    """Means of one metric in both files, and their difference."""

    baseline: Estimate
    other: Estimate
    comparison: Comparison
    level: float


def corrected(tests: Mapping[str, MetricTest], level: float) -> dict[str, MetricTest]:
    """Return tests with p-values and verdicts that allow for the number of metrics."""
    corrected = holm([test.comparison.p_single for test in tests.values()])
    return {
        name: test._replace(
            comparison=msgspec.structs.replace(
                test.comparison,
                p_value=p,
                correction="holm",
                verdict=verdict(test.comparison.difference.value, p, level),
            )
        )
        for (name, test), p in zip(tests.items(), corrected, strict=True)
    }


def unpaired_tests(
    pairs: Mapping[str, tuple[MetricScores, MetricScores]], level: float
) -> dict[str, MetricTest]:
    """Return the test of each metric over other conversations on each side, where there is one."""
    tests = {name: _unpaired_test(name, *pair, level) for name, pair in pairs.items()}
    return corrected({name: test for name, test in tests.items() if test is not None}, level)


def _unpaired_test(
    name: str, baseline: MetricScores, other: MetricScores, level: float
) -> MetricTest | None:
    columns = [scores.values for scores in (baseline, other)]
    given = [column[np.isfinite(column)] for column in columns]
    if not all(map(len, given)):
        return None
    one, two = (
        Sample(scores.values, scores.conversations.tolist()) for scores in (baseline, other)
    )
    unpaired = unpaired_difference(one, two, bounds=metric_range(name, *given), level=level)
    if unpaired is None:
        return None
    gap, p = unpaired.difference, unpaired.p_value
    outcome = verdict(gap.value, p, level)
    comparison = Comparison(OTHER, BASELINE, gap, p, p, METHOD, "none", outcome)
    return MetricTest(unpaired.first, unpaired.second, comparison, level)


def unpaired_says(name: str, test: MetricTest | None) -> str:
    """Return the outcome over other conversations on each side in one sentence."""
    if test is None:
        return f"{name}: fewer than two conversations with a value on a side: nothing can be said"
    gap = test.comparison.difference
    sides = f"{test.baseline.groups} and {test.other.groups} conversations"
    figures = f"{gap.value:+.3f} {bracketed(gap)}, p {test.comparison.p_value:.2g}, {sides}"
    words = {"first higher": "higher than", "second higher": "lower than"}
    outcome = words.get(test.comparison.verdict, "not distinguishable at this n from")
    rough = f"; {gap.note}" if gap.note else ""
    return f"{name}: {outcome} the baseline ({figures.strip()}), unpaired{rough}{why_not(test)}"


def why_not(test: MetricTest) -> str:
    """Return why a difference is not distinguishable although its interval leaves out 0."""
    low, high = test.comparison.difference.low, test.comparison.difference.high
    if test.comparison.verdict in DIFFERENT or low is None or high is None or low <= 0 <= high:
        return ""
    if test.comparison.p_single <= 1 - test.level:
        return "; the interval alone leaves out 0, the p-value is corrected over all metrics"
    return "; the interval leaves out 0, the permutation test does not reject"
