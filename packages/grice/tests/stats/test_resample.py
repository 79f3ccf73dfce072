from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import stats as scipy_stats

from grice import stats
from grice.errors import InputError
from grice.stats.resample import BLOCK, estimate, resample


def means(values):
    return lambda weights: (weights @ values[:, None]) / weights.sum(axis=1, keepdims=True)


def draws(statistic, n, groups=None, resamples=300, seed=4, kind="percentile"):
    drawn = resample(statistic, n, groups=groups, kind=kind, seed=seed, resamples=resamples)
    return drawn.draws


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_that_is_no_chance_is_refused(level):
    with pytest.raises(InputError, match=f"level={level}: a confidence level lies between 0 and 1"):
        stats.mean([1, 2, 3, 4], level=level)


def test_items_of_a_group_are_drawn_together():
    groups = np.array([0, 0, 0, 1, 2, 2])

    def statistic(weights):
        assert (weights[:, 0] == weights[:, 1]).all()
        assert (weights[:, 0] == weights[:, 2]).all()
        assert (weights[:, 4] == weights[:, 5]).all()
        assert (weights[:, [0, 3, 4]].sum(axis=1) == 3).all()
        return weights[:, :1]

    draws(statistic, 6, groups)


def test_seed_decides_everything_and_blocks_nothing(monkeypatch):
    statistic = means(np.arange(50.0))
    whole, again, other = (draws(statistic, 50, seed=seed) for seed in (4, 4, 5))
    monkeypatch.setattr("grice.stats.resample.BLOCK", 120)
    parts = draws(statistic, 50)
    assert (whole == again).all()
    assert whole == pytest.approx(parts, abs=1e-12)
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


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (None, [(45 - value) / 9 for value in range(10)]),
        ([0, 0, 1, 1, 1, 2, 2, 2, 2, 2], [44 / 8, 36 / 7, 10 / 5]),
    ],
)
def test_jackknife_leaves_each_unit_out_once(groups, expected):
    codes = None if groups is None else np.array(groups)
    left = draws(means(np.arange(10.0)), 10, codes, kind="jackknife")[:, 0]
    assert sorted(left) == pytest.approx(sorted(expected))


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
