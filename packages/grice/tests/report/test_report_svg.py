"""Bins and their drawing."""

import math
from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.report.svg import HEIGHT, Histogram, number

NONE = (math.inf, -math.inf)
finite = st.floats(-1e9, 1e9)


@given(finite, finite)
def test_unbounded_edges_hold_all_values_in_few_equal_bins(a, b):
    low, high = min(a, b), max(a, b)
    edges = Histogram((-math.inf, math.inf), (low, high)).edges
    assert edges[0] <= low
    assert high <= edges[-1]
    assert 2 <= len(edges) <= 25
    assert all(left < right for left, right in pairwise(edges))


@pytest.mark.parametrize(("low", "extent"), [(0.0, (0.0, 0.0)), (0.0, NONE), (-math.inf, NONE)])
def test_no_values_still_give_an_axis(low, extent):
    edges = Histogram((low, math.inf), extent).edges
    assert (edges[0], edges[-1]) == (0.0, 1.0)


@given(st.lists(st.floats(-0.5, 1.5), max_size=50))
def test_every_value_counts_once_in_the_bin_that_holds_it(values):
    histogram = Histogram((0.0, 1.0), NONE)
    for value in values:
        place = histogram.add(value)
        if 0.0 <= value < 1.0:
            assert histogram.edges[place] <= value < histogram.edges[place + 1]
            assert place == bisect_right(histogram.edges, value) - 1
    assert sum(histogram.counts) == len(values)
    assert histogram.outside == sum(not 0.0 <= value <= 1.0 for value in values)


def test_bars_are_as_high_as_their_share_and_never_vanish():
    histogram = Histogram((0.0, 20.0), NONE)
    histogram.counts[:3] = [1000, 500, 1]
    bars = list(histogram.bars("replies"))
    assert [bar.height for bar in bars[:4]] == [HEIGHT, HEIGHT / 2, 1.0, 0.0]
    assert bars[1].label == "1.0 to 2.0: 500 replies (33.3 %)"
    assert [bar.left for bar in bars[1:]] == [bar.right for bar in bars[:-1]]


@pytest.mark.parametrize(("span", "places"), [(0.1, 3), (1.0, 2), (2.0, 2), (30.0, 1), (5e3, 0)])
def test_numbers_are_written_for_readers(span, places):
    assert Histogram((0.0, span), NONE).decimals == places
    assert number(-1234.5, 1) == "\N{MINUS SIGN}1,234.5"
