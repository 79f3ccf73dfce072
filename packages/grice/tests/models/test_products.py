"""Products whose bits hang on the row alone: sums of integers, in any order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grice.models.products import Columns


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 700), st.integers(1, 260))
def test_a_row_has_its_own_bits_whatever_its_place_and_company(seed, count, inputs, outputs):
    draw = np.random.default_rng(seed)
    rows = (draw.standard_normal((count, inputs)) * 10.0 ** draw.integers(-6, 6)).astype(np.float32)
    weight = draw.standard_normal((inputs, outputs)).astype(np.float32)
    order = draw.permutation(count)
    columns = Columns(weight)
    whole = columns.product(rows)
    assert whole.dtype == np.float32
    assert np.array_equal(columns.product(rows[order]), whole[order])
    assert np.array_equal(np.concatenate([columns.product(row[None]) for row in rows]), whole)
    exact = rows.astype(np.float64) @ weight.astype(np.float64)
    assert np.abs(whole - exact).max() <= 1e-5 * np.abs(rows).max() * math.sqrt(inputs)


@given(st.integers(0, 2**32 - 1), st.integers(1, 700))
def test_sums_are_those_of_exact_arithmetic_in_every_order(seed, inputs):
    """The same bits whichever order a kernel adds in: shuffling the terms changes nothing."""
    draw = np.random.default_rng(seed)
    row = (draw.standard_normal((1, inputs)) * 2.0 ** draw.integers(-20, 20, inputs)).astype("f4")
    weight = draw.standard_normal((inputs, 1)).astype(np.float32)
    order = draw.permutation(inputs)
    assert Columns(weight[order]).product(row[:, order]) == Columns(weight).product(row)


def test_a_product_of_few_bits_is_exact():
    rows, weight = np.array([[3, -5, 0.25]], np.float32), np.array([[2], [7], [8]], np.float32)
    assert Fraction(float(Columns(weight).product(rows)[0, 0])) == 6 - 35 + 2


def test_zeros_and_nothing_are_fine():
    weight = np.ones((4, 3), np.float32)
    assert np.array_equal(Columns(weight).product(np.zeros((2, 4), np.float32)), np.zeros((2, 3)))
    assert Columns(weight).product(np.zeros((0, 4), np.float32)).shape == (0, 3)
