"""Tokenizers of models, and batches of texts; no answer depends on its batch."""

from __future__ import annotations

import re
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from tokenizers import Tokenizer

from grice.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from grice.models.folder import ModelFolder

Item = TypeVar("Item")
Answer = TypeVar("Answer")

WIDTH = 4
"""Texts are padded to multiples of so many tokens. The engine computes padding in attention only;
4 takes 0.95 of the time of 8."""
MAX_BATCH_TOKENS = 512
"""Tokens of a batch, with padding: more leave the processor's cache and run slower."""
CHARACTERS = 16
"""Characters read per allowed token; the rest of a longer text is not even tokenised."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def open_tokenizer(folder: ModelFolder) -> Tokenizer:
    """Return the tokenizer of a model, which neither pads nor cuts."""
    tokenizer = Tokenizer.from_file(str(folder.file("tokenizer.json")))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def tokenizable(text: str) -> str:
    """Replace lone surrogates, which no tokenizer takes."""
    return _SURROGATE.sub("\ufffd", text)


def beginning(text: str, max_tokens: int | None) -> str:
    """Return as much of the beginning of a text as can fill a number of tokens; None is all."""
    return tokenizable(text if max_tokens is None else text[: max_tokens * CHARACTERS])


def ending(text: str, max_tokens: int) -> str:
    """Return as much of the end of a text as can fill a number of tokens."""
    return tokenizable(text[-max_tokens * CHARACTERS :])


def is_longer(tokenizer: Tokenizer, text: str, max_tokens: int) -> bool:
    """Return whether a text has more tokens than a model reads."""
    text = tokenizable(text)
    # A token covers at least one byte, so that a short text needs no look.
    return len(text.encode()) > max_tokens and (
        len(text) > max_tokens * CHARACTERS
        or len(tokenizer.encode(text, add_special_tokens=False)) > max_tokens
    )


def groups(keys: Sequence[Hashable]) -> list[list[int]]:
    """Return the indices of each distinct key."""
    indices: dict[Hashable, list[int]] = defaultdict(list)
    for i, key in enumerate(keys):
        indices[key].append(i)
    return list(indices.values())


def padded(length: int) -> int:
    """Return to how many tokens a text of some tokens is padded."""
    return -(-length // WIDTH) * WIDTH


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
