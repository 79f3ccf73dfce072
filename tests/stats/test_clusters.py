from __future__ import annotations

import math
import random
from itertools import pairwise
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.stats import ClusteredMean
from grice.stats.clusters import student_quantile

# Two-sided 95 % quantiles of Student's t (any statistical table).
TABLE = {
    1: 12.706,
    1.5: 6.017,
    2: 4.303,
    2.5: 3.573,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    10: 2.228,
    30: 2.042,
    120: 1.980,
}


@pytest.mark.parametrize(("freedom", "expected"), TABLE.items())
def test_student_quantile_agrees_with_the_table(freedom, expected):
    assert student_quantile(0.975, freedom) == pytest.approx(expected, rel=6e-3)


def collect(clusters):
    mean = ClusteredMean()
    for cluster in clusters:
        mean.add(cluster)
    return mean.interval()


def test_even_values_in_clusters_of_one_give_students_interval():
    values = [0.2, 0.3, 0.5, 0.7, 0.8]
    error = math.sqrt(sum((v - 0.5) ** 2 for v in values) / 4 / 5)
    interval = collect([[v] for v in values])
    assert interval.mean == pytest.approx(0.5)
    assert interval.high - 0.5 == pytest.approx(2.776 * error, rel=1e-3)
    assert 0.5 - interval.low == pytest.approx(2.776 * error, rel=1e-3)


def test_skewed_values_stretch_the_interval_towards_their_tail():
    interval = collect([[v] for v in (0.1, 0.1, 0.12, 0.15, 0.2, 0.3, 0.9)])
    assert interval.high - interval.mean > 2 * (interval.mean - interval.low)
    mirrored = collect([[1 - v] for v in (0.1, 0.1, 0.12, 0.15, 0.2, 0.3, 0.9)])
    assert mirrored.low == pytest.approx(1 - interval.high)


def test_few_skewed_values_stretch_the_interval_to_twice_its_length_at_most():
    values = [0.44, 0.45, 0.46, 0.47, 0.48, 0.49, 0.9]
    interval = collect([[value] for value in values])
    students = student_quantile(0.975, 6) * stdev(values) / math.sqrt(7)
    assert interval.high - interval.mean == pytest.approx(2 * students)


def test_uneven_clusters_count_for_fewer():
    # The same eight sums; in the second case one conversation has most of the values.
    levels = (0.1, 0.9, 0.3, 0.7, 0.4, 0.6, 0.2, 0.8)
    even = collect([[level] * 5 for level in levels])
    uneven = collect([[level] * (33 if i == 4 else 1) for i, level in enumerate(levels)])
    assert uneven.high - uneven.low > even.high - even.low


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
    assert copied == pytest.approx(single)


def test_interval_covers_the_truth_as_often_as_it_says():
    rng = random.Random(7)
    covered = 0
    for _ in range(400):
        clusters = []
        for _ in range(12):
            level = rng.gauss(0.5, 0.2)
            clusters.append([rng.gauss(level, 0.1) for _ in range(rng.randint(1, 9))])
        interval = collect(clusters)
        covered += interval.low <= 0.5 <= interval.high
    assert 0.91 <= covered / 400 <= 0.98


def test_too_little_is_said_plainly():
    assert collect([]) is None
    assert collect([[], []]) is None
    assert collect([[0.2, 0.4]]) == (pytest.approx(0.3), None, None)


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=5), min_size=2, max_size=8))
def test_order_of_clusters_does_not_matter(clusters):
    forward, backward = collect(clusters), collect(clusters[::-1])
    assert forward == pytest.approx(backward, abs=1e-9)
    assert forward.low <= forward.mean <= forward.high


def test_more_confidence_is_wider():
    mean = ClusteredMean()
    for value in (0.1, 0.3, 0.2, 0.5):
        mean.add([value])
    widths = [mean.interval(level).high for level in (0.8, 0.9, 0.95, 0.99)]
    assert all(a < b for a, b in pairwise(widths))
