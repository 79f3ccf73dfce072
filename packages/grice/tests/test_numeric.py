"""Numeric primitives: their values, and that a row has the same bits beside any others."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice import numeric

LOGITS = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=40)


@given(LOGITS)
def test_probabilities_are_those_of_the_formula_and_have_their_own_bits(values):
    expected = [1 / (1 + math.exp(-value)) for value in values]
    assert numeric.logistic(np.array(values)) == pytest.approx(expected)
    together = numeric.sigmoid(np.array(values, np.float32))
    assert together == pytest.approx(expected, abs=1e-6)
    alone = [numeric.sigmoid(np.array([value], np.float32))[0] for value in values]
    assert np.array_equal(together, np.array(alone))


@given(st.floats(0, 1))
def test_log_odds_lead_back_to_the_probability(probability):
    kept, odds = min(max(probability, 1e-3), 1 - 1e-3), numeric.logit(probability, 1e-3)
    assert numeric.logits(np.array([probability]), 1e-3)[0] == pytest.approx(odds)
    assert numeric.logistic(np.array([odds]))[0] == pytest.approx(kept)


def test_cosines_of_the_same_vectors_agree():
    first, second = np.array([3, 4], np.float32), np.array([4, 3], np.float32)
    assert numeric.cosine(first, second) == pytest.approx(0.96)
    units = numeric.unit_rows(np.array([first, second, [0, 0]]))
    assert units[2].tolist() == [0, 0]
    assert numeric.unit_vector(first) == pytest.approx(units[0])
    for of_units in (numeric.unit_cosine, numeric.unit_dot):
        assert of_units(units[0], units[1]) == pytest.approx(0.96)
    assert numeric.cosine(first, np.zeros(2, np.float32)) == 0


def test_cosines_of_rounded_vectors_stay_in_range():
    rounded = np.array([1.001, 0], np.float32)
    assert numeric.unit_cosine(rounded, rounded) == 1
    assert numeric.unit_dot(rounded, rounded) > 1
