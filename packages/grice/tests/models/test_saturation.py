"""Integer sums of the shipped models are the same on every processor: none can saturate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from grice.models.bundle import shipped_bundles
from grice.models.conversion.convert import (
    MOST,
    largest_pair,
    multiplied,
    variables,
    without_saturation,
)

MODELS = sorted(name for name, folder in shipped_bundles().items()
                if (folder / "model.bin").exists())  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_no_two_neighbouring_weights_overflow_sixteen_bits(name):
    content = (shipped_bundles()[name] / "model.bin").read_bytes()
    tensors = multiplied(variables(content))
    assert tensors
    for tensor in tensors:
        weights = np.frombuffer(content, np.int8, tensor.size, tensor.start).reshape(tensor.shape)
        assert 255 * largest_pair(weights) < 2**15, tensor.name


@given(arrays.arrays(np.int8, (3, 8), elements=st.integers(-127, 127)))
def test_what_is_lowered_stays_near_and_cannot_saturate(weights):
    lowered, scale = without_saturation(weights)
    assert largest_pair(lowered) <= MOST
    assert np.all((scale >= 0.5) & (scale <= 1))
    exact = weights.astype(np.float32)
    halved = np.rint(exact / 2) * 2
    error, plain = (
        ((rounded - exact) ** 2).sum(axis=1) for rounded in (lowered / scale[:, None], halved)
    )
    assert np.all(error <= plain + 1e-2)
