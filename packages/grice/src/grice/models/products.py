"""Matrix products whose bits depend on no kernel, no number of threads and no neighbouring row.

Floating-point sums depend on their order, and every BLAS kernel adds in another one, by processor
and by the place of a row among the others. Sums of integers below 2**53 are exact in double
precision in any order. So both sides are rounded to integers times a power of two, each row and
each column by its largest element, with as many bits as keep every sum below that bound: 22 on
either side for 384 elements, close to the 24 of float32.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float32]

EXACT_BITS = 53
"""Bits of the integers that double precision holds."""


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

    Our products are small: several threads would wait for each other far longer than they
    compute (measured: a thousand times, beside other work), and the split would round differently
    on machines with other numbers of cores.
    """
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> ThreadpoolController:
    # Looking for the loaded libraries takes milliseconds, limiting them afterwards none.
    return ThreadpoolController()
