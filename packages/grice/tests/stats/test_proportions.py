"""Shares keep what their interval promises, also where items come in conversations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from grice.stats.systems import proportion


def test_single_items_get_wilsons_interval_but_for_few_degrees_of_freedom():
    estimate = proportion([1.0] * 40 + [0.0] * 960, [1] * 1000)
    wilson = binomtest(40, 1000).proportion_ci(method="wilson")
    assert estimate.value == 0.04
    assert estimate.low == pytest.approx(wilson.low, abs=3e-4)
    assert estimate.high == pytest.approx(wilson.high, abs=3e-4)


def test_one_conversation_has_no_interval_and_none_has_no_share():
    assert proportion([1.0], [4]).low is None
    assert proportion([0.0], [0]) is None


@pytest.mark.parametrize("mean", [0.02, 0.1, 0.5, 0.9])
def test_coverage_among_clustered_items(mean):
    """Beta-binomial conversations of 4 replies, correlation 0.25 within."""
    rng = np.random.default_rng(0)
    runs, inside = 1500, 0
    for _ in range(runs):
        rates = rng.beta(mean * 3, (1 - mean) * 3, 80)
        estimate = proportion(list(rng.binomial(4, rates)), [4] * 80)
        inside += estimate.low <= mean <= estimate.high
    assert 0.93 <= inside / runs <= 0.985
