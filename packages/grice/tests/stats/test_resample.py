import tracemalloc

import numpy as np
import pytest
from scipy import stats as scipy_stats

from grice.stats.resample import BLOCK, estimate, resample


def means(values):
    return lambda weights: (weights @ values[:, None]) / weights.sum(axis=1, keepdims=True)


def draws(statistic, n, groups=None, resamples=300, seed=4):
    drawn = resample(statistic, n, groups=groups, kind="percentile", seed=seed, resamples=resamples)
    return drawn.draws


def test_items_of_a_group_are_drawn_together():
    def statistic(weights):
        assert (weights[:, [0, 0, 4]] == weights[:, [1, 2, 5]]).all()
        assert (weights[:, [0, 3, 4]].sum(axis=1) == 3).all()
        return weights[:, :1]

    draws(statistic, 6, np.array([0, 0, 0, 1, 2, 2]))


def test_seed_decides_everything_and_blocks_nothing(monkeypatch):
    statistic = means(np.arange(50.0))
    whole, again, other = (draws(statistic, 50, seed=seed) for seed in (4, 4, 5))
    monkeypatch.setattr("grice.stats.resample.BLOCK", 120)
    assert (whole == again).all()
    assert whole == pytest.approx(draws(statistic, 50), abs=1e-12)
    assert not (whole == other).all()


def test_memory_is_bounded_by_the_block():
    n = 200_000
    values = np.random.default_rng(0).normal(size=n)
    tracemalloc.start()
    draws(means(values), n, resamples=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n * 100 * 8 > 8 * BLOCK * 8  # all weights at once would be ten times the block
    assert peak < 6 * BLOCK * 8


def mean_by(kind, values):
    return estimate(resample(means(values), len(values), kind=kind), what="mean")


def test_percentiles_of_the_bootstrap_are_those_of_scipy():
    values = np.random.default_rng(1).exponential(size=30)
    ours = mean_by("percentile", values)
    theirs = scipy_stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=40_000, rng=1
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.03)


@pytest.mark.parametrize(
    ("n", "how", "tolerance"), [(25, "over items", 1e-9), (3000, "500 random parts, seed 0", 0.15)]
)
def test_jackknife_of_a_mean_is_students_interval(n, how, tolerance):
    values = np.random.default_rng(3).uniform(size=n)
    low, high = scipy_stats.ttest_1samp(values, 0).confidence_interval()
    jackknifed = mean_by("jackknife", values)
    assert how in jackknifed.method
    assert jackknifed.high - jackknifed.low == pytest.approx(high - low, rel=tolerance)
