"""Small networks on encoder vectors, in numpy, with reproducible matrix products.

Floating-point sums depend on their order, and every BLAS kernel adds in another one, by processor
and by the place of a row among the others. Sums of integers below 2**53 are exact in double
precision in any order. So both sides of a product are rounded to integers times a power of two,
each row and each column by its largest element, with as many bits as keep every sum below that
bound: 22 on either side for 384 elements, close to the 24 of float32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Array: TypeAlias = NDArray[np.float32]

EXACT_BITS = 53  # bits of the integers that double precision holds


class Mlp:
    """A multi-layer perceptron with ReLU between its layers and a linear output."""

    def __init__(self, layers: list[tuple[Array, Array]]) -> None:
        self.layers = [
            (np.ascontiguousarray(weight, np.float32), np.asarray(bias, np.float32))
            for weight, bias in layers
        ]
        for (weight, bias), (following, _) in zip(self.layers, self.layers[1:], strict=False):
            if weight.shape[1] != following.shape[0]:
                raise ValueError(f"layer of {weight.shape[1]} outputs before {following.shape}")
            if bias.shape != (weight.shape[1],):
                raise ValueError(f"bias of shape {bias.shape} beside a weight {weight.shape}")

    @classmethod
    def load(cls, path: Path) -> Mlp:
        """Read a network from an ``.npz`` file."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls.of(arrays)

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Mlp:
        """Return the network of the arrays ``weight_0``, ``bias_0``, ``weight_1``, … of a prefix.

        Int8 weights come with ``scale_0``, …, the step of each output.
        """
        layers = []
        for i in range(sum(name.startswith(f"{prefix}weight_") for name in arrays)):
            weight = arrays[f"{prefix}weight_{i}"].astype(np.float32)
            if f"{prefix}scale_{i}" in arrays:
                weight *= arrays[f"{prefix}scale_{i}"]
            layers.append((weight, arrays[f"{prefix}bias_{i}"]))
        return cls(layers)

    def save(self, path: Path, *, int8: bool = False) -> None:
        """Write the layers for :meth:`load`, weights as float16 or int8 (half the size)."""
        arrays: dict[str, Array | NDArray[np.float16] | NDArray[np.int8]] = {}
        for i, (weight, bias) in enumerate(self.layers):
            if int8:
                arrays[f"weight_{i}"], arrays[f"scale_{i}"] = quantized(weight)
            else:
                arrays[f"weight_{i}"] = weight.astype(np.float16)
            arrays[f"bias_{i}"] = bias.astype(np.float32)
        np.savez_compressed(path, allow_pickle=False, **arrays)

    def __call__(self, features: Array) -> Array:
        """Return outputs of shape ``(n, outputs)`` for features of shape ``(n, inputs)``.

        A row has the same bits in any batch and on any processor.
        """
        for i, columns in enumerate(self._columns):
            features = columns.product(features) + self.layers[i][1]
            if i + 1 < len(self.layers):
                features = np.maximum(features, 0)
        return features

    def forward_joint(self, features: Array) -> Array:
        """Return the outputs of rows that always form one batch, such as the tokens of a text.

        It takes half the time of a call, but the bits of a row depend on the other rows.
        """
        with single_threaded():
            for i, (weight, bias) in enumerate(self.layers):
                features = features @ weight + bias
                if i + 1 < len(self.layers):
                    features = np.maximum(features, 0)
        return features.astype(np.float32, copy=False)

    @cached_property
    def _columns(self) -> list[Columns]:
        return [Columns(weight) for weight, _ in self.layers]


def quantized(weight: Array) -> tuple[NDArray[np.int8], Array]:
    """Return a weight as int8, -127 to 127, and the step of each output (symmetric, per column)."""
    scale = np.maximum(np.abs(weight).max(axis=0), np.float32(1e-12)) / np.float32(127)
    return np.rint(weight / scale).astype(np.int8), scale.astype(np.float32)


class Columns:
    """The right side of products, rounded once."""

    def __init__(self, weight: Array) -> None:
        bits = EXACT_BITS - math.ceil(math.log2(max(1, len(weight))))
        integers, units = _integers(weight.T, bits // 2)
        self._integers = np.ascontiguousarray(integers.T)
        self._units = units[:, 0]
        self._row_bits = bits - bits // 2

    def product(self, rows: Array) -> Array:
        """Return ``rows @ weight``, float32, shape ``(n, outputs)``."""
        integers, units = _integers(rows, self._row_bits)
        with single_threaded():
            sums = integers @ self._integers
        sums *= units
        sums *= self._units
        return sums.astype(np.float32)


def _integers(rows: Array, bits: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rows as integers of so many bits, and the power of 2 that each row counts in."""
    largest = np.abs(rows).max(axis=1, initial=0, keepdims=True)
    exponents = np.frexp(largest)[1] - bits
    # Powers of 2 change no digit of what they multiply; np.ldexp on whole rows is ten times slower.
    integers = rows * np.ldexp(1.0, -exponents)
    return np.rint(integers, out=integers), np.ldexp(1.0, exponents)


def single_threaded() -> AbstractContextManager[object]:
    """Return a context in which numpy multiplies matrices on one thread.

    For small products threads are slower, and the partition changes the last bits.
    """
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> ThreadpoolController:
    # Looking for the loaded libraries takes milliseconds, limiting them afterwards none.
    return ThreadpoolController()
