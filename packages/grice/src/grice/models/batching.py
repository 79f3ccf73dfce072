"""Batches of texts whose answers do not depend on what else is in the batch."""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from grice.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

Item = TypeVar("Item")
Answer = TypeVar("Answer")

WIDTH = 4
"""Texts are padded to multiples of so many tokens. The engine computes padding in attention only;
4 takes 0.95 of the time of 8."""
MAX_BATCH_TOKENS = 512
"""Tokens of a batch, with padding: more leave the processor's cache and run slower."""


def groups(keys: Sequence[Hashable]) -> list[list[int]]:
    """Return the indices of each distinct key."""
    indices: dict[Hashable, list[int]] = defaultdict(list)
    for i, key in enumerate(keys):
        indices[key].append(i)
    return list(indices.values())


def padded(length: int) -> int:
    """Return to how many tokens a text of some tokens is padded."""
    return -(-length // WIDTH) * WIDTH


def batches_by_width(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Return batches of indices of equal padded length, the widest first; length 0 is left out."""
    return batches_by_length([padded(length) for length in lengths], max_tokens)


def batches_by_length(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Return batches of indices of equal length, the longest first; length 0 is left out."""
    batches = []
    for group in sorted(groups(lengths), key=lambda group: lengths[group[0]], reverse=True):
        if width := lengths[group[0]]:
            size = max(1, max_tokens // width)
            batches += [group[start : start + size] for start in range(0, len(group), size)]
    return batches


def run_batches(
    compute: Callable[[list[int]], None], batches: Sequence[list[int]], threads: int
) -> None:
    """Compute batches, as many at a time as there are threads."""
    texts = sum(map(len, batches))
    if threads == 1 or len(batches) == 1:
        for batch in track(batches, "texts", texts, len):
            compute(batch)
    else:
        with ThreadPoolExecutor(threads) as pool:
            computed = zip(batches, pool.map(compute, batches), strict=True)
            for _ in track(computed, "texts", texts, lambda done: len(done[0])):
                pass


def run_apart(
    compute: Callable[[Item], Answer], items: Sequence[Item], threads: int
) -> list[Answer]:
    """Return what is computed of each item, one item at a time on each thread."""
    answers: dict[int, Answer] = {}

    def keep(batch: list[int]) -> None:
        for i in batch:
            answers[i] = compute(items[i])

    run_batches(keep, [[i] for i in range(len(items))], threads)
    return [answers[i] for i in range(len(items))]
