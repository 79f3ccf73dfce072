"""A kernel machine in few bytes: random features of a Gaussian kernel under a linear layer.

Rahimi and Recht 2007: cosines of random projections have inner products that approach the
kernel. The projections come from a seed, so only the linear layer is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.models.products import single_threaded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float32]


class Scaling(NamedTuple):
    """Brings counts and vectors to one scale before their distance is taken.

    Attributes:
        mean: Mean of each element, counts first.
        factor: What each element, less its mean, is multiplied by.
    """

    mean: Array
    factor: Array

    def __call__(self, counts: Array, vectors: Array) -> Array:
        """Return the scaled row."""
        row = (np.concatenate([counts, vectors]) - self.mean) * self.factor
        return np.asarray(row, np.float32)


class KernelHead:
    """Scores of classes for rows of features."""

    def __init__(self, scaling: Scaling, weight: Array, bias: Array, *, seed: int) -> None:
        self.scaling, self.seed = scaling, seed
        self._weight = np.ascontiguousarray(weight, np.float32)
        self._bias = np.asarray(bias, np.float32)
        self._project = projections(len(scaling.mean), len(weight), seed)

    @classmethod
    def load(cls, arrays: Mapping[str, Array], name: str) -> KernelHead:
        """Read ``NAME_mean``, ``NAME_factor``, ``NAME_weight``, ``NAME_bias``, ``NAME_seed``."""
        return cls(
            Scaling(
                arrays[f"{name}_mean"].astype(np.float32),
                arrays[f"{name}_factor"].astype(np.float32),
            ),
            arrays[f"{name}_weight"].astype(np.float32),
            arrays[f"{name}_bias"],
            seed=int(arrays[f"{name}_seed"]),
        )

    def arrays(self, name: str) -> dict[str, NDArray[np.generic]]:
        """Return what :meth:`load` reads back, weights in half precision."""
        return {
            f"{name}_mean": self.scaling.mean.astype(np.float16),
            f"{name}_factor": self.scaling.factor.astype(np.float16),
            f"{name}_weight": self._weight.astype(np.float16),
            f"{name}_bias": self._bias,
            f"{name}_seed": np.array(self.seed),
        }

    def __call__(self, counts: Array, vectors: Array) -> Array:
        """Return scores of shape ``(classes,)`` of one row."""
        with single_threaded():
            row = random_features(self.scaling(counts, vectors)[None], self._project)[0]
            scores: Array = row @ self._weight + self._bias
        return scores


def projections(inputs: int, features: int, seed: int) -> tuple[Array, Array]:
    """Return random directions and shifts; the same for a seed in every version of numpy."""
    draws = np.random.RandomState(seed)
    directions = draws.standard_normal((inputs, features)).astype(np.float32)
    return directions, draws.uniform(0, 2 * np.pi, features).astype(np.float32)


def random_features(rows: Array, project: tuple[Array, Array]) -> Array:
    """Return cosines whose inner products approach ``exp(-|x - y|² / 2)``."""
    directions, shifts = project
    scale = np.float32(np.sqrt(2 / len(shifts)))
    return np.asarray(scale * np.cos(rows @ directions + shifts), np.float32)
