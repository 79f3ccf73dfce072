from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice import stats
from grice.errors import InputError


def agreement(metric, human, epsilon, contexts=None):
    """acc_eq of Deutsch, Foster and Freitag 2023, written as its definition reads."""
    contexts = contexts or [0] * len(metric)
    shares = []
    for context in sorted(set(contexts)):
        items = [i for i, c in enumerate(contexts) if c == context]
        right = []
        for i, j in itertools.combinations(items, 2):
            by_metric = metric[i] - metric[j]
            order = 0 if abs(by_metric) <= epsilon else np.sign(by_metric)
            right.append(order == np.sign(human[i] - human[j]))
        if right:
            shares.append(np.mean(right))
    return float(np.mean(shares))


values = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 3), st.integers(0, 2)), min_size=2, max_size=9
)


@given(values, st.booleans())
def test_calibrated_accuracy_is_the_best_of_all_epsilons(rows, grouped):
    metric, human, contexts = (list(column) for column in zip(*rows, strict=True))
    if not grouped:
        contexts = None
    elif max(contexts.count(c) for c in contexts) < 2:
        return
    found = stats.pairwise_accuracy(metric, human, contexts=contexts, epsilon="calibrate")
    best = max(agreement(metric, human, e, contexts) for e in range(7))
    assert found.accuracy.value == pytest.approx(best)
    assert agreement(metric, human, found.epsilon, contexts) == pytest.approx(best)
    fixed = stats.pairwise_accuracy(metric, human, contexts=contexts, epsilon=2, resamples=100)
    assert fixed.accuracy.value == pytest.approx(agreement(metric, human, 2, contexts))
    assert not fixed.calibrated


def test_a_difference_of_just_epsilon_is_a_tie():
    # Of the six pairs, three differ by 1, two by 2, one by 3.
    found = stats.pairwise_accuracy([1, 2, 3, 4], [1, 1, 2, 3], epsilon=2, resamples=100)
    assert found.metric_ties == pytest.approx(5 / 6)
    assert found.human_ties == pytest.approx(1 / 6)
    assert found.accuracy.value == pytest.approx(2 / 6)  # one tie of both, and the pair apart by 3


def test_a_metric_that_never_ties_profits_from_calibration():
    rng = np.random.default_rng(0)
    human = rng.integers(1, 4, 60).astype(float)
    metric = human + 0.1 * rng.normal(size=60)
    exact = stats.pairwise_accuracy(metric, human, epsilon=0)
    found = stats.pairwise_accuracy(metric, human, epsilon="calibrate")
    assert exact.accuracy.value < 0.75
    assert found.accuracy.value > 0.95
    assert 0.2 < found.epsilon < 0.8
    assert found.metric_ties == pytest.approx(found.human_ties, abs=0.05)
    assert found.accuracy.low <= found.accuracy.value <= found.accuracy.high
    assert "epsilon chosen on these very pairs" in found.accuracy.method


def test_cross_fitting_takes_away_what_choosing_on_the_same_pairs_adds():
    rng = np.random.default_rng(4)
    flattered, honest = [], []
    for seed in range(40):
        # Metric and people have nothing in common: the best bar says "tie" to most pairs.
        metric, human = rng.normal(size=24), rng.integers(1, 3, 24).astype(float)
        judged = [
            stats.pairwise_accuracy(metric, human, epsilon=epsilon, seed=seed)
            for epsilon in ("calibrate", "cross-fit")
        ]
        assert judged[0].calibrated
        assert not judged[1].calibrated
        assert judged[0].epsilon == judged[1].epsilon
        flattered.append(judged[0].accuracy.value)
        honest.append(judged[1].accuracy.value)
    assert np.mean(flattered) > np.mean(honest) + 0.02
    assert np.mean(honest) < 0.52


def test_cross_fitting_needs_a_pair_in_each_half():
    with pytest.raises(InputError, match="too few for epsilon='cross-fit'"):
        stats.pairwise_accuracy([1, 2, 3], [1, 2, 3])


def test_contexts_are_what_is_resampled():
    rng = np.random.default_rng(1)
    human = rng.integers(1, 4, 120).astype(float)
    metric = human + rng.normal(size=120)
    contexts = np.repeat(np.arange(20), 6)
    found = stats.pairwise_accuracy(metric, human, contexts=contexts)
    assert (found.pairs, found.accuracy.groups, found.accuracy.n) == (300, 20, 120)
    assert "jackknife over contexts" in found.accuracy.method
    shuffled = rng.permutation(120)
    again = stats.pairwise_accuracy(metric[shuffled], human[shuffled], contexts=contexts[shuffled])
    assert again.accuracy.value == pytest.approx(found.accuracy.value)
    assert again.epsilon == found.epsilon


def test_chance_is_in_the_interval_of_a_random_metric():
    rng = np.random.default_rng(2)
    held = 0
    for seed in range(60):
        metric, human = rng.normal(size=(2, 40))
        found = stats.pairwise_accuracy(metric, human, epsilon=0, resamples=200, seed=seed)
        held += found.accuracy.low <= 0.5 <= found.accuracy.high
    assert held >= 51


def test_bad_pairs_are_named():
    with pytest.raises(InputError, match="no pair"):
        stats.pairwise_accuracy([1, None], [1, 2])
    with pytest.raises(InputError, match="no context has two items"):
        stats.pairwise_accuracy([1, 2], [1, 2], contexts=["a", "b"])
    with pytest.raises(InputError, match="more than 20,000,000 pairs"):
        stats.pairwise_accuracy(range(7000), range(7000))
    with pytest.raises(InputError, match="epsilon=-1"):
        stats.pairwise_accuracy([1, 2], [1, 2], epsilon=-1)


# Systems


def test_system_level():
    metric = [1, 2, 3, 2, 3, 4, 9, 8, 7]
    human = [1, 1, 2, 3, 3, 3, 2, 2, 2]
    systems = list("aaabbbccc")
    found = stats.system_level(metric, human, systems)
    assert found.metric == {"a": 2, "b": 3, "c": 8}
    assert found.human == {"a": pytest.approx(4 / 3), "b": 3, "c": 2}
    assert found.accuracy.value == pytest.approx(2 / 3)
    means = [[2, 3, 8], [4 / 3, 3, 2]]
    assert found.correlation.value == pytest.approx(np.corrcoef(means)[0, 1])
    assert (found.correlation.low, found.correlation.high) == (-1, 1)
    assert "3 systems bound no correlation" in found.correlation.note


def test_system_level_of_five_systems_is_wide_even_if_perfect():
    rng = np.random.default_rng(0)
    systems = np.repeat(list("abcde"), 200)
    quality = np.repeat(np.arange(5.0), 200)
    found = stats.system_level(
        quality + rng.normal(size=1000), quality + rng.normal(size=1000), systems, kind="spearman"
    )
    assert found.correlation.value == 1
    assert found.correlation.low < 0.6
    assert "fewer than 10 systems" in found.correlation.note
    # With these systems as they are, their order is beyond doubt.
    assert (found.accuracy.value, found.accuracy.low) == (1, 1)


def test_shared_contexts_sharpen_the_order_of_systems():
    rng = np.random.default_rng(3)
    contexts = np.tile(np.arange(80), 2)
    hard = np.tile(rng.normal(size=80), 2)
    quality = np.repeat([0.0, 0.25], 80)
    metric = hard + quality + 0.2 * rng.normal(size=160)
    human = 10 * quality + 0.1 * rng.normal(size=160)
    systems = np.repeat(["a", "b"], 80)
    shared = stats.system_level(metric, human, systems, contexts=contexts)
    loose = stats.system_level(metric, human, systems)
    assert shared.accuracy.low == 1
    assert loose.accuracy.low == 0
    assert shared.accuracy.groups == 80


def test_bad_systems_are_named():
    with pytest.raises(InputError, match="1 system with both values"):
        stats.system_level([1, 2], [1, 2], ["a", "a"])
    with pytest.raises(InputError, match="mean of human is 2 for every system"):
        stats.system_level([1, 2], [2, 2], ["a", "b"])
