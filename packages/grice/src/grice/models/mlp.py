"""Small networks on top of encoder vectors, in numpy."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grice.models.products import Columns, single_threaded

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float32]


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
        """Read ``weight_0``, ``bias_0``, ``weight_1``, … from an ``.npz`` file.

        Int8 weights come with ``scale_0``, …, the step of each output.
        """
        with np.load(path, allow_pickle=False) as arrays:
            count = sum(name.startswith("weight_") for name in arrays.files)
            layers = []
            for i in range(count):
                weight = arrays[f"weight_{i}"].astype(np.float32)
                if f"scale_{i}" in arrays.files:
                    weight *= arrays[f"scale_{i}"]
                layers.append((weight, arrays[f"bias_{i}"]))
            return cls(layers)

    def save(self, path: Path, *, int8: bool = False) -> None:
        """Write the layers for :meth:`load`, weights as float16 or int8 (half the size).

        An int8 weight is off by at most half a step of its output.
        """
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

        The bits of a row depend on that row alone, on any processor.
        """
        for i, columns in enumerate(self._columns):
            features = columns.product(features) + self.layers[i][1]
            if i + 1 < len(self.layers):
                features = np.maximum(features, 0)
        return features

    def forward_joint(self, features: Array) -> Array:
        """Return the outputs of rows that always come together, such as the tokens of a text.

        In half the time of calling, but the bits of a row depend on all of them.
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
