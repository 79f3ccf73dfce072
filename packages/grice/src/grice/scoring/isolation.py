"""Finds the items on which a metric fails, in a bounded number of calls."""

from __future__ import annotations

import warnings
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from grice.errors import LONGEST, GriceError, StoppedError, out_of_memory, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CALLS = 64
"""Calls for one batch at most: enough to find five items of a thousand, wherever they stand."""
MEMORY = "memory ran out; what did not fit is scored in halves"

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Failure(NamedTuple):
    """Why there is no answer to an item.

    Attributes:
        reason: What was raised.
        others: How many items were asked together with it when that was raised.
    """

    reason: str
    others: int


def answers(
    ask: Callable[[Sequence[Item]], Sequence[Answer]], items: Sequence[Item]
) -> list[Answer | Failure]:
    """Return the answer to each item, or why there is none.

    All items are asked together, or in halves where memory runs out. If that fails, the first, the
    middle and the last one are asked alone. If none of them can be answered, whatever answers is
    taken to be broken and is not asked again. Otherwise the items that fail are looked for by
    halving what failed, the largest part first, until :data:`CALLS` calls were made. What has no
    answer by then has failed, with the reason of the smallest part it was asked in.
    """
    search = _Search(_fitting(ask), items)
    if items and not search.succeeds(0, len(items)) and len(items) > 1:
        alone = sorted({0, len(items) // 2, len(items) - 1})
        if any(search.succeeds(place, place + 1) for place in alone):
            search.halve()
    return search.answers


def _fitting(
    ask: Callable[[Sequence[Item]], Sequence[Answer]],
) -> Callable[[Sequence[Item]], Sequence[Answer]]:
    """Return what asks for one half after the other where memory runs out for both at once."""

    def fit(items: Sequence[Item]) -> Sequence[Answer]:
        try:
            return ask(items)
        except Exception as error:
            if len(items) == 1 or not out_of_memory(error):
                raise
        warnings.warn(MEMORY, RuntimeWarning, stacklevel=1)  # from one place: said once
        middle = len(items) // 2
        return [*fit(items[:middle]), *fit(items[middle:])]

    return fit


class _Search(Generic[Item, Answer]):
    """What is known of the items so far."""

    def __init__(
        self, ask: Callable[[Sequence[Item]], Sequence[Answer]], items: Sequence[Item]
    ) -> None:
        self._ask = ask
        self._items = items
        self._calls = 0
        self.answers: list[Answer | Failure] = [Failure("", len(items))] * len(items)

    def succeeds(self, start: int, end: int) -> bool:
        """Ask for items ``start`` to ``end``, keep what comes of it and say whether they answer.

        An item that was asked alone is not asked again, and nothing is after the last call.
        """
        known = self.answers[start]
        if end - start == 1 and not (isinstance(known, Failure) and known.others):
            return not isinstance(known, Failure)
        if self._calls == CALLS:
            return False
        self._calls += 1
        try:
            self.answers[start:end] = self._ask(self._items[start:end])
        except StoppedError:  # no fault of an item: what was answered is kept, and the run ends
            raise
        except Exception as error:  # noqa: BLE001 - what is asked may be anyone's code
            self._fail(start, end, Failure(_reason(error), end - start - 1))
            return False
        return True

    def _fail(self, start: int, end: int, failure: Failure) -> None:
        for place in range(start, end):
            known = self.answers[place]
            if isinstance(known, Failure) and known.others >= failure.others:
                self.answers[place] = failure

    def halve(self) -> None:
        """Look for the items that fail, by halves of what failed."""
        failed = [(-len(self._items), 0)]  # sizes, negative so that the largest comes first; starts
        while failed and self._calls < CALLS:
            size, start = heappop(failed)
            end = start - size
            middle = (start + end) // 2
            if end - start == 1:
                self.succeeds(start, end)
            elif self.succeeds(start, middle):
                heappush(failed, (middle - end, middle))  # so what fails is in the other half
            else:
                heappush(failed, (start - middle, start))
                if not self.succeeds(middle, end):
                    heappush(failed, (middle - end, middle))


def _reason(error: Exception) -> str:
    reason = str(error) if isinstance(error, GriceError) else f"{type(error).__name__}: {error}"
    return shortened(reason, LONGEST)
