"""The gain of reading in the order of a score."""

from __future__ import annotations

import numpy as np
import pytest

from grice.errors import InputError
from grice_research.roc import lift_at_random, review_lifts

PERSONS = np.repeat(np.arange(20), 10)


def test_a_lift_is_the_precision_of_the_first_tenth_over_the_rate():
    labels = np.tile([1.0, 0, 0, 0, 0], 40)
    rng = np.random.default_rng(0)
    half = labels * (rng.random(200) < 0.5) + rng.random(200) / 2
    scores = {"label": labels, "reversed": -labels, "half": half, "none": np.zeros(200)}
    read = review_lifts(scores, labels, groups=PERSONS, pairs=[("label", "none")])
    first = np.argsort(-half, kind="stable")[:20]
    assert read.lifts["label"].value == pytest.approx(5)
    assert read.lifts["reversed"].value == 0
    assert read.lifts["half"].value == pytest.approx(labels[first].mean() / 0.2)
    assert read.lifts["none"].value == pytest.approx(1), "ties count by their expectation"
    assert read.differences["label", "none"].value == pytest.approx(4)


def test_intervals_of_lifts_hold_the_lift_of_all():
    """Of 4,000 persons like these the lift is known; intervals of 20 of them should hold it."""
    rng = np.random.default_rng(1)

    def drawn(persons):
        manner = np.repeat(rng.normal(size=persons), 10)
        score = manner + rng.normal(size=persons * 10)
        return score, (score + rng.normal(size=persons * 10) > 1.5).astype(float)

    score, labels = drawn(4000)
    top = np.argsort(-score)[:4000]
    truth = labels[top].mean() / labels.mean()
    held = 0
    for seed in range(60):
        score, labels = drawn(20)
        lift = review_lifts({"score": score}, labels, groups=PERSONS, seed=seed).lifts["score"]
        held += lift.low <= truth <= lift.high
    assert held >= 52  # 57 are expected, and two standard errors are 3.4


def test_random_orders_reach_as_far_as_they_do():
    labels = np.tile([1.0, 0, 0, 0], 50)
    stated = lift_at_random(labels)
    rng = np.random.default_rng(0)
    lifts = [rng.permutation(labels)[:20].mean() / 0.25 for _ in range(4000)]
    assert np.mean([stated.low <= lift <= stated.high for lift in lifts]) >= 0.95
    assert np.mean([stated.low < lift < stated.high for lift in lifts]) <= 0.96


def test_without_a_positive_there_is_no_lift():
    with pytest.raises(InputError, match="none is 1"):
        review_lifts({"score": [1, 2]}, [0, 0], groups="ab")
