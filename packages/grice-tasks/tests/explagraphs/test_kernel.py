from __future__ import annotations

import numpy as np

from grice_tasks.explagraphs.classifiers import KernelHead, Scaling, projections, random_features


def test_inner_products_approach_the_gaussian_kernel():
    rows = np.random.default_rng(0).standard_normal((20, 6)).astype(np.float32)
    made = random_features(rows, projections(6, 20_000, 0))
    distance = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    assert np.abs(made @ made.T - np.exp(-distance / 2)).max() < 0.04


def test_projections_of_a_seed_never_change():
    directions, shifts = projections(3, 2, 0)
    assert np.allclose(directions[0], [1.7640524, 0.4001572])
    assert 0 <= shifts.min() <= shifts.max() < 2 * np.pi


def test_a_head_comes_back_from_its_arrays_and_answers_row_by_row():
    draws = np.random.default_rng(1)
    scaling = Scaling(np.zeros(5, np.float32), np.full(5, 0.5, np.float32))
    weight = draws.standard_normal((64, 3)).astype(np.float16).astype(np.float32)
    head = KernelHead(scaling, weight, np.ones(3, np.float32), seed=3)
    again = KernelHead.load(head.arrays("x"), "x")
    rows = draws.standard_normal((4, 5)).astype(np.float32)
    for row in rows:
        assert (head(row[:2], row[2:]) == again(row[:2], row[2:])).all()
    assert head(rows[0][:2], rows[0][2:]).shape == (3,)
