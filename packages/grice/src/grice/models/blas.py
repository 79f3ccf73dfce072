"""One thread for matrix products of numpy."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


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
