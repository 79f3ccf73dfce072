from __future__ import annotations

import numpy as np
import pytest

from grice.errors import InputError
from grice_research.roc import balanced_accuracy

LABELS = [0, 0, 0, 0, 1, 1]
CHANCES = [0.2, 0.6, 0.4, 0.1, 0.7, 0.3]


def test_the_worked_case():
    estimate = balanced_accuracy(CHANCES, LABELS)
    assert estimate.value == 0.625
    assert estimate.n == 6


def test_always_the_same_answer_is_one_half_whatever_the_shares():
    labels = [1] * 90 + [0] * 10
    values = np.linspace(0.6, 0.9, 100)
    assert balanced_accuracy(values, labels).value == 0.5


def test_the_interval_holds_the_truth_and_widens_with_conversations():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 10)
    labels = np.repeat(rng.random(40) < 0.5, 10).astype(float)
    right = np.repeat(rng.random(40) < 0.7, 10)
    values = np.where(right, labels, 1 - labels) * 0.5 + 0.2 + rng.random(400) * 0.1
    plain = balanced_accuracy(values, labels, threshold=0.5)
    grouped = balanced_accuracy(values, labels, threshold=0.5, groups=groups)
    assert grouped.low < plain.low < plain.value < plain.high < grouped.high
    assert grouped.low < 0.7 < grouped.high


def test_labels_that_are_none_are_refused():
    with pytest.raises(InputError, match="1 or 0"):
        balanced_accuracy(CHANCES, [0, 0, 2, 0, 1, 1])


def test_four_items_are_enough_and_three_are_not():
    assert balanced_accuracy(CHANCES[2:], LABELS[2:]).n == 4
    with pytest.raises(InputError, match="at least 4 are needed"):
        balanced_accuracy(CHANCES[3:], LABELS[3:])
