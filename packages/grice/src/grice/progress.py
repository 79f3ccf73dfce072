"""Progress of long work, reported to a watcher that a command may set.

Loops over long work wrap their items in :func:`track`. Only the outermost loop is reported.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")


class Watcher(Protocol):
    """Receiver of progress."""

    def begin(self, unit: str, total: int | None) -> None:
        """Begin work on so many units; None if the number is not known."""

    def advance(self, done: int, part: float | None) -> None:
        """Add finished units; ``part`` is the finished share, 0 to 1."""

    def end(self) -> None:
        """End the work, finished or not."""


WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher | None) -> Iterator[None]:
    """Report the work in this block to a watcher; None reports to nobody."""
    token = WATCHER.set(watcher)
    try:
        yield
    finally:
        WATCHER.reset(token)


@contextmanager
def tracking(
    unit: str, total: int | None = None, part: Callable[[], float] | None = None
) -> Iterator[Callable[[int], None]]:
    """Report a block of work; the block calls the result with numbers of finished units."""
    watcher = WATCHER.get()
    if watcher is None:
        yield lambda _: None
        return
    WATCHER.set(None)
    watcher.begin(unit, total)
    try:
        yield lambda done: watcher.advance(done, part() if part else None)
    finally:
        watcher.end()
        WATCHER.set(watcher)


def track(
    items: Iterable[Item],
    unit: str,
    total: int | None = None,
    size: Callable[[Item], int] = lambda _: 1,
    part: Callable[[], float] | None = None,
) -> Iterator[Item]:
    """Yield items and report each once it is finished."""
    with tracking(unit, total, part) as advance:
        for item in items:
            yield item
            advance(size(item))
