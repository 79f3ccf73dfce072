"""Integer sums of the shipped models are the same on every processor: none can saturate."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from grice.models.conversion import MAX_PAIR, largest_pair, without_saturation
from grice.models.folder import shipped_models

MODELS = sorted(name for name, folder in shipped_models().items()
                if (folder / "model.bin").exists())  # fmt: skip
INT8 = 1


def read_variables(content):
    """Yield name, type, shape and bytes of each array of a ``model.bin``."""
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
        name, shape = text(), [take("I") for _ in range(take("B"))]
        kind, size = take("B"), take("I")
        yield name, kind, shape, content[place : place + size]
        place += size


@pytest.mark.parametrize("name", MODELS)
def test_no_two_neighbouring_weights_overflow_sixteen_bits(name):
    variables = list(read_variables((shipped_models()[name] / "model.bin").read_bytes()))
    names = {variable[0] for variable in variables}
    decodes = any(name.startswith("decoder/") for name in names)
    matrices = 0
    for variable, kind, shape, data in variables:
        # Tables of an encoder are only looked up.
        if kind == INT8 and f"{variable}_scale" in names and (
            decodes or "embeddings" not in variable
        ):  # fmt: skip
            matrices += 1
            assert 255 * largest_pair(np.frombuffer(data, np.int8).reshape(shape)) < 2**15, variable
    assert matrices


@given(arrays.arrays(np.int8, (3, 8), elements=st.integers(-127, 127)))
def test_lowered_weights_stay_near_and_cannot_saturate(weights):
    lowered, scale = without_saturation(weights)
    assert largest_pair(lowered) <= MAX_PAIR
    assert np.all((scale >= 0.5) & (scale <= 1))
    exact = weights.astype(np.float32)
    halved = np.rint(exact / 2) * 2
    error, plain = (
        ((rounded - exact) ** 2).sum(axis=1) for rounded in (lowered / scale[:, None], halved)
    )
    assert np.all(error <= plain + 1e-2)
