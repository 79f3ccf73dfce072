"""Arithmetic on vectors that packages share.

Functions with the same formula differ in their last bits, on which scores depend.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias, TypeVar


class LazyModule:
    """A module that is imported when one of its names is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    np = numpy
    Precision = TypeVar("Precision", np.float32, np.float64)
else:
    np = LazyModule("numpy")  # metrics, which import this module, are listed without numpy
Array: TypeAlias = "NDArray[np.float32]"
Floats: TypeAlias = "NDArray[np.float64]"
Integers: TypeAlias = "NDArray[np.int64]"


def cosine(first: Array, second: Array) -> float:
    """Return the cosine of two vectors of any length, -1 to 1; 0 if either is zero."""
    size = math.sqrt(float(first @ first) * float(second @ second))
    return 0.0 if size == 0 else max(-1.0, min(1.0, float(first @ second) / size))


def unit_cosine(first: Array, second: Array) -> float:
    """Return the cosine of two unit vectors, at most 1, the same on every machine."""
    return min(1.0, unit_dot(first, second))


def unit_dot(first: Array, second: Array) -> float:
    """Return the product of two vectors, summed in the same order with any BLAS."""
    return float((first * second).sum(dtype=np.float64))


def unit_rows(rows: Array) -> Array:
    """Return the rows of a matrix, shape ``(n, k)``, at unit length; zeros stay zeros."""
    norms = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    unit: Array = rows / np.maximum(norms, np.float32(1e-6))
    return unit


def unit_vector(vector: Array) -> Array:
    """Return one vector at unit length; :func:`unit_rows` sums its squares in another order."""
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)


def logit(probability: float, margin: float) -> float:
    """Return the log odds of a probability, at least a margin from 0 and 1."""
    kept = min(max(probability, margin), 1 - margin)
    return math.log(kept / (1 - kept))


def logits(probabilities: Floats, margin: float) -> Floats:
    """Return the log odds of many; numpy's logarithm differs from that of :func:`logit`."""
    kept = np.clip(probabilities, margin, 1 - margin)
    return np.asarray(np.log(kept / (1 - kept)))


def logistic(logits: NDArray[Precision]) -> NDArray[Precision]:
    """Return ``1 / (1 + exp(-logits))`` without overflow, in the precision of the logits."""
    probabilities: NDArray[Precision] = 0.5 * (1 + np.tanh(0.5 * logits))
    return probabilities


def sigmoid(logits: Array) -> Array:
    """Return ``1 / (1 + exp(-logits))`` without overflow, in single precision."""
    return logistic(logits).astype(np.float32)


def softmax(logits: Array) -> Array:
    """Return probabilities over the last axis."""
    exponents = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities: Array = (exponents / exponents.sum(axis=-1, keepdims=True)).astype(np.float32)
    return probabilities
