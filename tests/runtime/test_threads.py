from __future__ import annotations

import numpy as np
import pytest

from grice.runtime.heads import Mlp
from grice.runtime.threads import NUMBERS, pooled, thread_features

D = 8


def unit(count, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(count, D)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def features(count, speakers=None, vectors=None):
    given = unit(count) if vectors is None else vectors
    texts = [f"turn {i}" + "?" * (i % 2) for i in range(count)]
    return thread_features(given, speakers or ["AB"[i % 2] for i in range(count)], texts)


def test_a_turn_is_read_beside_what_was_said_before_it_only():
    long, short = features(9), features(5)
    assert long.shape == (9, 5 * D + NUMBERS)
    np.testing.assert_array_equal(long[:5], short)


def test_the_first_turn_has_nothing_before_it():
    [row] = features(1)
    assert not row[D : 5 * D].any()
    assert row[:D].any()


def test_a_repeated_turn_is_nearest_to_its_speakers_own():
    vectors = unit(5)
    vectors[4] = vectors[2]
    numbers = features(5, vectors=vectors)[4, 5 * D :]
    assert numbers[3] == pytest.approx(4, abs=1e-5)
    assert numbers[4] < 4


def test_pooling_gives_the_mean_and_that_of_the_lowest_quarter():
    outputs = np.array([[1, 8], [2, 7], [3, 6], [4, 5], [5, 4], [6, 3], [7, 2], [8, 1]], np.float32)
    np.testing.assert_allclose(pooled(outputs), [4.5, 4.5, 1.5, 1.5])
    np.testing.assert_allclose(pooled(outputs[:1]), [1, 8, 1, 8])


def test_a_head_reads_as_many_features_as_there_are():
    head = Mlp([(np.ones((5 * D + NUMBERS, 2), np.float32), np.zeros(2, np.float32))])
    assert head(features(3)).shape == (3, 2)
