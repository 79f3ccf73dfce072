"""Integer sums of the shipped models are the same on every processor: none can saturate."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from grice.models.conversion import MAX_PAIR, without_saturation
from grice.models.folder import shipped_models

MODELS = sorted(name for name, folder in shipped_models().items()
                if (folder / "model.bin").exists())  # fmt: skip
INT8 = 1


def read_variables(content):
    """Yield name, type and bytes of each array of a ``model.bin``."""
    place = 0

    def take(form):
        nonlocal place
        values = struct.unpack_from(f"<{form}", content, place)
        place += struct.calcsize(f"<{form}")
        return values[0] if len(values) == 1 else values

    def text():
        return take(f"{take('H')}s")[:-1].decode()

    take("I"), text(), take("I")
    for _ in range(take("I")):
        name, _ = text(), [take("I") for _ in range(take("B"))]
        kind, size = take("B"), take("I")
        yield name, kind, content[place : place + size]
        place += size


def largest_pairs(rows):
    """Return the largest sum of two neighbouring weights of one sign of each row."""
    pairs = rows.astype(int).reshape(len(rows), -1, 2)
    return np.maximum(abs(pairs.sum(axis=2)), abs(pairs).max(axis=2)).max(axis=1)


@pytest.mark.parametrize("name", MODELS)
def test_no_two_neighbouring_weights_overflow_sixteen_bits(name):
    variables = list(read_variables((shipped_models()[name] / "model.bin").read_bytes()))
    names = {variable[0] for variable in variables}
    decodes = any(name.startswith("decoder/") for name in names)
    matrices = 0
    for variable, kind, data in variables:
        # Tables of an encoder are only looked up.
        if kind == INT8 and f"{variable}_scale" in names and (
            decodes or "embeddings" not in variable
        ):  # fmt: skip
            matrices += 1
            weights = np.frombuffer(data, np.int8).reshape(1, -1)
            assert 255 * largest_pairs(weights) < 2**15, variable
    assert matrices


@given(arrays.arrays(np.int8, (3, 8), elements=st.integers(-127, 127)))
def test_lowered_weights_cannot_saturate_and_have_the_scale_of_the_smallest_error(weights):
    lowered, scale = without_saturation(weights)
    assert np.all(largest_pairs(lowered) <= MAX_PAIR)
    found = np.square(lowered / scale[:, None] - weights).sum(axis=1)
    for factor in np.arange(1, 0.49, -0.05):
        tried = np.rint(weights * factor)
        error = np.square(tried / factor - weights).sum(axis=1)
        assert np.all((largest_pairs(tried) > MAX_PAIR) | (found <= error + 1e-2))
