"""How far long work has come, told to whoever listens: nobody, unless a command does.

Whoever loops over what takes long wraps it in :func:`track`, and says of what it is how many. One
that runs within another is not told: the outermost one knows how much there is in all.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")


class Watcher(Protocol):
    """Is told how far work has come."""

    def begin(self, unit: str, total: int | None) -> None:
        """Learn that work on so many of something begins; None if nobody knows how many."""

    def advance(self, done: int, part: float | None) -> None:
        """Learn that so many more are done, and which part of all that is, 0 to 1, if asked."""

    def end(self) -> None:
        """Learn that the work has ended, finished or not."""


WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher | None) -> Iterator[None]:
    """Tell a watcher of the work in this block; None tells nobody."""
    token = WATCHER.set(watcher)
    try:
        yield
    finally:
        WATCHER.reset(token)


def track(
    items: Iterable[Item],
    unit: str,
    total: int | None = None,
    size: Callable[[Item], int] = lambda _: 1,
    part: Callable[[], float] | None = None,
) -> Iterator[Item]:
    """Yield items, and tell the watcher of each once it is done with."""
    watcher = WATCHER.get()
    if watcher is None:
        yield from items
        return
    WATCHER.set(None)
    watcher.begin(unit, total)
    try:
        for item in items:
            yield item
            watcher.advance(size(item), part() if part else None)
    finally:
        watcher.end()
        WATCHER.set(watcher)
