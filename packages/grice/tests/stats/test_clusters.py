import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from grice.stats import ClusteredMean
from grice.stats.estimate import student_quantile, wilson_interval

# Two-sided 95 % quantiles of Student's t (any statistical table).
TABLE = {
    1: 12.706, 1.5: 6.017, 2: 4.303, 2.5: 3.573, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 30: 2.042,
    120: 1.980,
}  # fmt: skip


@pytest.mark.parametrize(("freedom", "expected"), TABLE.items())
def test_student_quantile_agrees_with_the_table(freedom, expected):
    assert student_quantile(0.975, freedom) == pytest.approx(expected, rel=6e-3)


def collect(clusters, bounds=None, level=0.95):
    mean = ClusteredMean(bounds)
    for cluster in clusters:
        mean.add(cluster)
    return mean.estimate(level)


def figures(estimate):
    return estimate.value, estimate.low, estimate.high


def test_uneven_clusters_cost_the_more_freedom_the_more_alike_their_values_are():
    # The same sums, and of four clusters no skewness: the lengths differ by the quantile alone.
    sizes, levels = (8, 2, 2, 2), (0.5, 0.45, 0.6, 0.4)
    held = list(zip(sizes, levels, strict=True))
    alike = collect([[level] * size for size, level in held])
    apart = collect([[level - 0.3, level + 0.3] * (size // 2) for size, level in held])
    # Satterthwaite's: where values differ, a cluster's sum varies by its size, else by the square.
    few, more = (
        sum(spread) ** 2 / sum(size**2 for size in spread) * 3 / 4
        for spread in ([size**2 for size in sizes], sizes)
    )
    quantiles = student_quantile(0.975, few) / student_quantile(0.975, more)
    assert quantiles > 2
    lengths = (alike.high - alike.low) / (apart.high - apart.low)
    assert lengths == pytest.approx(quantiles)


def test_skewed_values_are_covered_as_often_as_is_said():
    rng = random.Random(3)
    missed = sum(
        not (interval.low <= 1 <= interval.high)
        for interval in (collect([[rng.expovariate(1)] for _ in range(15)]) for _ in range(1500))
    )
    assert 0.035 <= missed / 1500 <= 0.07  # Student's interval misses 0.08


def test_values_far_from_zero_lose_no_digits():
    near = collect([[v] for v in (0.1, 0.5, 0.7, 0.8, 0.2)])
    far = collect([[v + 1e6] for v in (0.1, 0.5, 0.7, 0.8, 0.2)])
    assert far.high - 1e6 == pytest.approx(near.high, abs=1e-6)


def test_equal_values_within_clusters_count_once():
    # Ten copies of a value in each cluster bring no information beyond one.
    single = collect([[v] for v in (0.1, 0.5, 0.7, 0.8)])
    copied = collect([[v] * 10 for v in (0.1, 0.5, 0.7, 0.8)])
    assert figures(copied) == pytest.approx(figures(single))


def test_too_little_is_said_plainly():
    assert collect([]) is None
    assert collect([[], []]) is None
    alone = collect([[0.2, 0.4]])
    assert figures(alone) == (pytest.approx(0.3), None, None)
    assert alone.note == "the variance cannot be estimated from one"


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=5), min_size=2, max_size=8))
def test_order_of_clusters_does_not_matter(clusters):
    forward, backward = collect(clusters), collect(clusters[::-1])
    assert figures(forward) == pytest.approx(figures(backward), abs=1e-9)
    assert forward.low <= forward.value <= forward.high


RATE = st.floats(0, 1) | st.sampled_from([0.0, 1.0])
RATES = st.lists(st.lists(RATE, min_size=1, max_size=5), min_size=2, max_size=8)


@given(RATES, st.sampled_from([0.5, 0.8, 0.95, 0.999]))
def test_the_interval_of_values_between_bounds_stays_there(clusters, level):
    value, low, high = figures(collect(clusters, (0, 1), level))
    assert 0 <= low <= high <= 1
    assert low - 1e-12 <= value <= high + 1e-12


@given(RATES)
def test_bounds_are_moved_and_stretched_with_the_values(clusters):
    near = collect(clusters, (0, 1))
    far = collect([[4 * value - 3 for value in cluster] for cluster in clusters], (-3, 1))
    assert figures(far) == pytest.approx([4 * bound - 3 for bound in figures(near)], abs=1e-6)


def test_where_every_value_lies_at_a_bound_a_cluster_counts_as_one_item():
    three = collect([[1.0], [1.0, 1.0], [1.0] * 3], (0, 1))
    assert (three.high, three.low) == (1, pytest.approx(wilson_interval(1.0, 36 / 14)[0]))
    assert three.low < 0.5 < collect([[1.0]] * 12, (0, 1)).low
    assert collect([[2.0], [4.0]], (0, 1)) == collect([[2.0], [4.0]])  # of another scale


@pytest.mark.parametrize("n", [3, 5, 10, 20])
@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_a_share_of_few_items_is_covered_as_often_as_is_said(n, share):
    held = 0.0
    for hits in range(n + 1):
        interval = collect([[1.0]] * hits + [[0.0]] * (n - hits), (0, 1))
        if interval.low <= share <= interval.high:
            held += math.comb(n, hits) * share**hits * (1 - share) ** (n - hits)
    assert held >= 0.93  # cut off at 0 and 1, Student's holds it in 0.15 to 0.92


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 10), (9, 10), (40, 1000)])
def test_wilsons_interval_is_scipys(hits, n):
    expected = binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson_interval(hits / n, n) == pytest.approx((expected.low, expected.high))
