from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import kendalltau

from grice import stats
from grice.errors import InputError

MIX = np.linalg.cholesky([[1, 0.6, 0.3], [0.6, 1, 0.5], [0.3, 0.5, 1]]).T


def three(n, seed):
    human, good, weak = (np.random.default_rng(seed).normal(size=(n, 3)) @ MIX).T
    return human, {"good": good, "weak": weak}


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_better_metric_is_told_apart(kind):
    human, metrics = three(200, 1)
    result = stats.compare_correlations(metrics, human, kind=kind, permutations=800)
    [comparison] = result.comparisons
    assert comparison.verdict == "first higher"
    assert comparison.difference.low > 0
    assert comparison.p_value < 0.01
    assert result.clusters == (("good",), ("weak",))
    assert comparison.difference.value == pytest.approx(
        result.estimates["good"].value - result.estimates["weak"].value
    )
    assert "good is higher than weak" in str(comparison)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_the_p_value_is_the_share_of_swaps_at_least_as_far_apart(kind):
    human = np.arange(6)
    metrics = np.array([[0, 1, 3, 2, 4, 5], [2, 5, 1, 0, 3, 4]])
    apart = []
    for swapped in product([False, True], repeat=6):
        good, weak = np.where(swapped, metrics[::-1], metrics)
        values = [np.corrcoef(column, human)[0, 1] for column in (good, weak)]
        if kind == "kendall":
            values = [kendalltau(column, human).statistic for column in (good, weak)]
        apart.append(abs(values[0] - values[1]))
    expected = np.mean(np.array(apart) >= apart[0] - 1e-9)
    assert 0.01 < expected < 0.5
    named = dict(zip(("good", "weak"), metrics, strict=True))
    [comparison] = stats.compare_correlations(named, human, kind=kind).comparisons
    assert comparison.p_value == pytest.approx(expected)
    assert "all 64 swaps" in comparison.test


def test_equally_good_metrics_are_not_told_apart_too_often():
    rejected = 0
    mix = np.linalg.cholesky([[1, 0.5, 0.5], [0.5, 1, 0.6], [0.5, 0.6, 1]]).T
    for seed in range(200):
        rng = np.random.default_rng(seed)
        human, a, b = (rng.normal(size=(40, 3)) @ mix).T
        result = stats.compare_correlations({"a": a, "b": b}, human, permutations=200)
        rejected += result.comparisons[0].verdict != "no significant difference"
    assert rejected / 200 < 0.09


def test_baseline_alone_is_compared():
    human, metrics = three(50, 2)
    metrics["third"] = metrics["good"] + metrics["weak"]
    result = stats.compare_correlations(metrics, human, baseline="weak", permutations=200)
    assert [(c.first, c.second) for c in result.comparisons] == [
        ("good", "weak"),
        ("third", "weak"),
    ]
    assert result.clusters == ()


def test_wrong_use_is_named():
    human, metrics = three(20, 2)
    with pytest.raises(InputError, match="did you mean 'good'"):
        stats.compare_correlations(metrics, human, baseline="god")
    with pytest.raises(InputError, match="at least two"):
        stats.compare_correlations({"good": metrics["good"]}, human)
    with pytest.raises(InputError, match="human is 3 on all 20 items"):
        stats.compare_correlations(metrics, [3.0] * 20)
