"""A random sample of a stream of conversations that does not depend on their order."""

from __future__ import annotations

import heapq
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grice.records import Conversation


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
