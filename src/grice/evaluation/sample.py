"""A random sample of a stream of conversations that does not depend on their order."""

from __future__ import annotations

import heapq
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from grice.errors import RecordError
from grice.records import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["Sample", "hashed", "sample", "windows"]

Item = TypeVar("Item")


class Sample(NamedTuple):
    """Conversations drawn from an input.

    Attributes:
        conversations: The drawn ones, in an order of their own.
        seen: How many the input has that can be used.
        unusable: How many it has that cannot.
        broken: How many records could not be read.
        problems: The first of these, as one line each.
    """

    conversations: list[Conversation]
    seen: int
    unusable: int
    broken: int
    problems: tuple[str, ...]


def sample(
    records: Iterable[Conversation | RecordError],
    most: int,
    seed: int,
    usable: Callable[[Conversation], bool] = lambda _: True,
) -> Sample:
    """Return up to ``most`` usable conversations: those whose hashed ids are lowest.

    Memory holds ``most`` conversations, however long the input is.
    """
    heap: list[tuple[int, str, Conversation]] = []
    seen = unusable = 0
    problems: list[str] = []
    for record in records:
        if isinstance(record, RecordError):
            problems.append(str(record))
        elif not usable(record):
            unusable += 1
        else:
            seen += 1
            entry = (-hashed(record.id, seed), record.id, record)
            if len(heap) < most:
                heapq.heappush(heap, entry)
            elif entry[0] > heap[0][0]:
                heapq.heapreplace(heap, entry)
    drawn = [entry[2] for entry in sorted(heap, key=lambda entry: (-entry[0], entry[1]))]
    return Sample(drawn, seen, unusable, len(problems), tuple(problems[:5]))


def hashed(text: str, seed: int) -> int:
    """Return 64 bits that look random and are the same everywhere."""
    data = f"{seed} {text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


def windows(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Yield items in their order, at most so many at once: this bounds memory."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
