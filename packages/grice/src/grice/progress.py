"""Progress of long work: loops wrap their items in :func:`track`, and the outermost is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

Advance: TypeAlias = Callable[[int], None]
Part: TypeAlias = Callable[[], float]
Watcher: TypeAlias = Callable[[str, int | None, Part | None], AbstractContextManager[Advance]]
"""Open a progress report on ``units`` of work, if known; ``part`` is the finished share."""

Item = TypeVar("Item")
WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher | None) -> Iterator[None]:
    """Report the work in this block to a watcher; None reports nothing."""
    token = WATCHER.set(watcher)
    try:
        yield
    finally:
        WATCHER.reset(token)


@contextmanager
def tracking(unit: str, total: int | None = None, part: Part | None = None) -> Iterator[Advance]:
    """Report a block of work; the block calls the result with numbers of finished units."""
    watcher = WATCHER.get()
    if watcher is None:
        yield lambda _: None
        return
    with watched(None), watcher(unit, total, part) as advance:
        yield advance


def track(
    items: Iterable[Item],
    unit: str,
    total: int | None = None,
    size: Callable[[Item], int] = lambda _: 1,
    part: Part | None = None,
) -> Iterator[Item]:
    """Yield items and report each once it is finished."""
    with tracking(unit, total, part) as advance:
        for item in items:
            yield item
            advance(size(item))
