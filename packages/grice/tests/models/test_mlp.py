"""Small networks and products give a row the same bits wherever it stands."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grice.models.mlp import Columns, Mlp


@given(st.integers(0, 2**32 - 1), st.integers(0, 40))
def test_outputs_of_a_network_do_not_depend_on_the_batch(seed, count):
    draw = np.random.default_rng(seed)
    network = Mlp(
        [
            (draw.standard_normal((n, m)).astype(np.float32), draw.standard_normal(m))
            for n, m in ((50, 20), (20, 3))
        ]
    )
    rows = draw.standard_normal((count, 50)).astype(np.float32)
    outputs = network(rows)
    assert outputs.shape == (count, 3)
    assert outputs.dtype == np.float32
    for row, output in zip(rows, outputs, strict=True):
        assert np.array_equal(network(row[None])[0], output)
        (first, bias), (second, last) = network.layers
        plain = np.maximum(row @ first + bias, 0) @ second + last
        assert np.allclose(plain, output, atol=1e-4)


def test_weights_come_back_from_int8_within_half_a_step(tmp_path):
    draw = np.random.default_rng(0)
    weight = draw.standard_normal((300, 4)).astype(np.float32)
    weight[:, 2] = 0  # an output that reads nothing has no step
    network = Mlp([(weight, draw.standard_normal(4))])
    network.save(tmp_path / "small.npz", int8=True)
    network.save(tmp_path / "plain.npz")
    ((restored, bias),) = Mlp.load(tmp_path / "small.npz").layers
    steps = np.abs(weight).max(axis=0) / 127
    assert np.all(np.abs(restored - weight) <= 0.5001 * steps)
    assert np.array_equal(bias, network.layers[0][1])
    assert (tmp_path / "small.npz").stat().st_size < (tmp_path / "plain.npz").stat().st_size


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 700), st.integers(1, 260))
def test_a_row_has_its_own_bits_whatever_its_place_and_company(seed, count, inputs, outputs):
    draw = np.random.default_rng(seed)
    rows = (draw.standard_normal((count, inputs)) * 10.0 ** draw.integers(-6, 6)).astype(np.float32)
    rows[:1] = 0
    weight = draw.standard_normal((inputs, outputs)).astype(np.float32)
    order, columns = draw.permutation(count), Columns(weight)
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
    weight, order = draw.standard_normal((inputs, 1)).astype(np.float32), draw.permutation(inputs)
    assert Columns(weight[order]).product(row[:, order]) == Columns(weight).product(row)
