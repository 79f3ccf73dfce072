from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import stats as scipy_stats

from grice import stats
from grice.errors import InputError
from grice.stats import weighted
from grice.stats.resample import (
    BLOCK,
    bootstrap,
    estimate,
    jackknife,
    random_signs,
    resample,
    resampled_estimate,
)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_that_is_no_chance_is_refused(level):
    with pytest.raises(InputError, match=f"level={level}: a confidence level lies between 0 and 1"):
        stats.mean([1, 2, 3, 4], level=level)


def test_every_resample_has_the_size_of_the_data():
    seen = []

    def statistic(weights):
        seen.append(weights.copy())
        return weights[:, :1]

    bootstrap(statistic, 37, groups=None, resamples=500, seed=1)
    weights = np.concatenate(seen)
    assert weights.shape == (500, 37)
    assert (weights.sum(axis=1) == 37).all()
    # Multinomial: each item once on average, variance 1 - 1/n.
    assert weights.mean(axis=0) == pytest.approx(np.ones(37), abs=0.2)
    assert weights.var() == pytest.approx(1 - 1 / 37, rel=0.05)


def test_items_of_a_group_are_drawn_together():
    groups = np.array([0, 0, 0, 1, 2, 2])

    def statistic(weights):
        assert (weights[:, 0] == weights[:, 1]).all()
        assert (weights[:, 0] == weights[:, 2]).all()
        assert (weights[:, 4] == weights[:, 5]).all()
        assert (weights[:, [0, 3, 4]].sum(axis=1) == 3).all()
        return weights[:, :1]

    bootstrap(statistic, 6, groups=groups, resamples=300, seed=1)


def test_seed_decides_everything_and_blocks_nothing(monkeypatch):
    statistic = weighted.means(np.arange(50.0)[:, None])
    whole = bootstrap(statistic, 50, groups=None, resamples=300, seed=4)
    again = bootstrap(statistic, 50, groups=None, resamples=300, seed=4)
    other = bootstrap(statistic, 50, groups=None, resamples=300, seed=5)
    monkeypatch.setattr("grice.stats.resample.BLOCK", 120)
    parts = bootstrap(statistic, 50, groups=None, resamples=300, seed=4)
    assert (whole == again).all()
    assert whole == pytest.approx(parts, abs=1e-12)
    assert not (whole == other).all()


def test_memory_is_bounded_by_the_block():
    n = 200_000
    values = np.random.default_rng(0).normal(size=(n, 1))
    tracemalloc.start()
    bootstrap(weighted.means(values), n, groups=None, resamples=100, seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n * 100 * 8 > 8 * BLOCK * 8  # all weights at once would be ten times the block
    assert peak < 6 * BLOCK * 8


def test_jackknife_leaves_each_item_out_once():
    values = np.arange(10.0)
    left = jackknife(weighted.means(values[:, None]), 10, groups=None, seed=0)[:, 0]
    assert sorted(left) == pytest.approx(sorted((45 - values) / 9))
    groups = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2, 2])
    left = jackknife(weighted.means(values[:, None]), 10, groups=groups, seed=0)[:, 0]
    assert sorted(left) == pytest.approx(sorted([44 / 8, 36 / 7, 10 / 5]))


def test_batches_of_the_jackknife_do_not_change_the_interval(monkeypatch):
    values = np.random.default_rng(0).exponential(size=(400, 1))
    whole = estimate(resample(weighted.means(values), 400), what="mean")
    monkeypatch.setattr("grice.stats.resample.BATCHES", 100)
    batched = estimate(resample(weighted.means(values), 400), what="mean")
    assert (batched.low, batched.high) == pytest.approx((whole.low, whole.high), abs=0.01)


def test_a_statistic_undefined_on_most_resamples_has_no_interval():
    def statistic(weights):
        return np.where(weights[:, :1] == 0, 1.0, np.nan)

    drawn = resample(statistic, 20, kind="percentile")._replace(values=np.array([1.0]))
    interval = estimate(drawn, what="x")
    assert interval.low is None
    assert "no interval" in interval.note


def mean_by(kind, values):
    return resampled_estimate(weighted.means(values[:, None]), len(values), "mean", kind=kind)


def test_percentiles_of_the_bootstrap_are_those_of_scipy():
    values = np.random.default_rng(1).exponential(size=30)
    ours = mean_by("percentile", values)
    theirs = scipy_stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=40_000, rng=1
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.03)


def test_undefined_resamples_are_counted_not_hidden():
    # One item differs: about a third of the resamples miss it and have no correlation.
    x = np.array([[0.0]] * 11 + [[1.0]])
    statistic = weighted.correlations(x, np.arange(12.0), "pearson")
    interval = resampled_estimate(statistic, 12, "x", kind="percentile")
    assert "undefined on" in interval.note
    assert -1 <= interval.low <= interval.high <= 1


def test_jackknife_widens_where_a_few_items_decide_the_error():
    values = np.append(np.random.default_rng(3).uniform(size=25), [6.0])
    jackknifed = mean_by("jackknife", values)
    freedom = 2 * 26 / (scipy_stats.kurtosis(values, fisher=False) - 1)
    assert freedom < 5
    assert jackknifed.high - jackknifed.value == pytest.approx(
        scipy_stats.t.ppf(0.975, freedom) * scipy_stats.sem(values)
    )


@pytest.mark.parametrize(
    ("n", "how", "tolerance"), [(25, "over items", 1e-9), (3000, "500 random parts, seed 0", 0.15)]
)
def test_jackknife_of_a_mean_is_students_interval(n, how, tolerance):
    values = np.random.default_rng(3).uniform(size=n)
    low, high = scipy_stats.ttest_1samp(values, 0).confidence_interval()
    jackknifed = mean_by("jackknife", values)
    assert how in jackknifed.method
    assert jackknifed.high - jackknifed.low == pytest.approx(high - low, rel=tolerance)


def test_few_units_make_the_permutation_test_exact():
    gaps = np.array([1.0, 2.0, 3.0])
    values, how = random_signs(lambda signs: (signs @ gaps)[:, None], 3, permutations=50, seed=0)
    assert how == "all 8 swaps"
    assert sorted(values[:, 0]) == [-6, -4, -2, 0, 0, 2, 4, 6]
    assert values[0, 0] == 6
    values, how = random_signs(lambda signs: (signs @ gaps)[:, None], 3, permutations=7, seed=0)
    assert how == "7 random swaps, seed 0"
    assert len(values) == 8
    assert values[0, 0] == 6
