"""A random sample of a stream of conversations that does not depend on their order."""

from __future__ import annotations

import heapq
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from grice.errors import RecordError
from grice.progress import track
from grice.records import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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
    seen = unusable = 0
    problems: list[str] = []

    def conversations() -> Iterator[Conversation]:
        nonlocal seen, unusable
        for record in records:
            if isinstance(record, RecordError):
                problems.append(str(record))
            elif not usable(record):
                unusable += 1
            else:
                seen += 1
                yield record

    chosen = [conversation for _, conversation in drawn(conversations(), most, seed)]
    return Sample(chosen, seen, unusable, len(problems), tuple(problems[:5]))


def drawn(
    conversations: Iterable[Conversation], most: int, seed: int
) -> list[tuple[int, Conversation]]:
    """Return the conversations whose hashed ids are lowest, the lowest first, with their places."""
    heap: list[tuple[int, str, int, Conversation]] = []
    for place, conversation in enumerate(conversations):
        entry = (-hashed(conversation.id, seed), conversation.id, place, conversation)
        if len(heap) < most:
            heapq.heappush(heap, entry)
        elif entry[0] > heap[0][0]:
            heapq.heapreplace(heap, entry)
    heap.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    return [(place, conversation) for *_, place, conversation in heap]


def hashed(text: str, seed: int) -> int:
    """Return 64 bits that look random and are the same everywhere."""
    data = f"{seed} {text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


def windows(items: Sequence[Item], size: int, unit: str) -> Iterator[Sequence[Item]]:
    """Yield items in their order, at most so many at once: this bounds memory.

    Args:
        items: What is worked on.
        size: The most at once.
        unit: What they are, in the plural, for whoever watches the work.
    """
    starts = range(0, len(items), size)
    yield from track((items[start : start + size] for start in starts), unit, len(items), len)
