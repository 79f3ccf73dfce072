"""Passages of any length through a causal language model, whichever engine computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grice.errors import InputError
from grice.models.batching import batches_by_length, run_batches
from grice.models.memo import remember
from grice.models.protocols import Segment, TokenScore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from grice.models.memo import Memo
    from grice.models.passages import PassageTokenizer, Read
    from grice.models.protocols import CausalLM, Passage

    Tokens: TypeAlias = Sequence[str]
    Computed: TypeAlias = Callable[[Sequence[tuple[str, ...]]], list[list[float]]]


def passage_scores(
    passages: Sequence[Passage],
    tokenizer: PassageTokenizer,
    compute: Computed,
    memo: Memo,
    identity: str,
) -> list[list[list[TokenScore]]]:
    """Return for each passage the tokens of each of its scored segments, in order.

    Args:
        compute: Returns the log probability of each token but the first, of each text.
    """
    read = [tokenizer.read(passage) for passage in passages]
    values = remember(
        memo,
        identity,
        [tuple(row.tokens) for row in read],
        compute,
        lambda row: np.array(row, np.float32).tobytes(),
        lambda kept: np.frombuffer(kept, np.float32).tolist(),
    )
    return [
        _by_segment(passage, row, row_values)
        for passage, row, row_values in zip(passages, read, values, strict=True)
    ]


def _by_segment(passage: Passage, read: Read, values: list[float]) -> list[list[TokenScore]]:
    segments: dict[int, list[TokenScore]] = {
        number: [] for number, segment in enumerate(passage) if segment.scored
    }
    for number, (start, end), value in zip(read.scored[1:], read.offsets[1:], values, strict=True):
        if number >= 0:
            segments[number].append(TokenScore(start, end, value))
    return list(segments.values())


def mean_log_probabilities(
    model: CausalLM, prompts: Sequence[str], texts: Sequence[str]
) -> list[float]:
    """Return the mean log probability of the tokens of each text after its prompt, at most 0.

    Of a long prompt the end is read, of a long text the beginning. A text without tokens has 0.

    Args:
        prompts: What stands before; a space is put between.
    """
    if len(prompts) != len(texts):
        raise InputError(f"{len(prompts)} prompts and {len(texts)} texts: as many are needed")
    scored = model.token_scores(
        [
            (Segment(prompt or "\n"), Segment(f" {text.lstrip()}", scored=True))
            for prompt, text in zip(prompts, texts, strict=True)
        ]
    )
    return [
        float(np.mean([token.log_probability for token in segment])) if segment else 0.0
        for (segment,) in scored
    ]


def read_in_windows(
    rows: Sequence[Tokens],
    read: Callable[[list[Tokens]], Sequence[Sequence[float]]],
    *,
    max_tokens: int,
    together: int,
    threads: int,
) -> list[list[float]]:
    """Return the log probability of each token but the first, of each text.

    Windows overlap by half, so that a token has at least half a window before it.

    Args:
        read: Returns the values of texts of one length, each no longer than a window.
        together: How many tokens are read at once where that changes no bit; 1 reads one window.
    """
    windows = [window for row in rows for window in _windows(row, max_tokens)]
    values: list[Sequence[float]] = [()] * len(windows)

    def compute(batch: list[int]) -> None:
        for i, computed in zip(batch, read([windows[i] for i in batch]), strict=True):
            values[i] = computed

    run_batches(compute, batches_by_length(list(map(len, windows)), together), threads)
    each = iter(values)
    return [_joined(row, each, max_tokens) for row in rows]


def _windows(tokens: Tokens, size: int) -> Iterator[Tokens]:
    """Yield the windows of a text; none of a text of one token, which has nothing before it."""
    step = size // 2
    if len(tokens) > 1:
        for start in range(0, max(1, len(tokens) - size + step), step):
            yield tokens[start : start + size]


def _joined(tokens: Tokens, read: Iterator[Sequence[float]], size: int) -> list[float]:
    """Return the value of each token but the first, by the first window that holds it."""
    values: list[float] = []
    for number, _ in enumerate(_windows(tokens, size)):
        values += map(float, next(read)[len(values) - number * (size // 2) :])
    return values
