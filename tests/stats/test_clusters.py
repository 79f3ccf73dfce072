from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.stats import ClusteredMean
from grice.stats.clusters import student_quantile

# Two-sided 95 % quantiles of Student's t (any statistical table).
TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 30: 2.042, 120: 1.980}


@pytest.mark.parametrize(("freedom", "expected"), TABLE.items())
def test_student_quantile_agrees_with_the_table(freedom, expected):
    assert student_quantile(0.975, freedom) == pytest.approx(expected, rel=2e-3)


def collect(clusters):
    mean = ClusteredMean()
    for cluster in clusters:
        mean.add(cluster)
    return mean.interval()


def test_clusters_of_one_give_the_ordinary_interval():
    values = [0.2, 0.4, 0.4, 0.9, 0.6]
    mean = sum(values) / 5
    error = math.sqrt(sum((v - mean) ** 2 for v in values) / 4 / 5)
    interval = collect([[v] for v in values])
    assert interval.mean == pytest.approx(mean)
    assert interval.high - interval.mean == pytest.approx(2.776 * error, rel=1e-3)


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
