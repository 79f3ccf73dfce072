"""Passages of any length through a causal language model, whichever engine computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.errors import InputError
from grice.models.batching import batches_by_length, run_batches
from grice.models.protocols import Segment, TokenScore
from grice.models.tokenization import beginning, ending, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from tokenizers import Encoding

    from grice.models.bundle import Bundle
    from grice.models.cache import Cache
    from grice.models.protocols import CausalLM, Passage

    Tokens: TypeAlias = Sequence[str]
    Computed: TypeAlias = Callable[[Sequence[tuple[str, ...]]], list[list[float]]]


class Read(NamedTuple):
    """The tokens of a passage.

    Attributes:
        scored: The number of the segment of each token, -1 if that is not scored.
        offsets: The characters of its segment that each token covers.
    """

    tokens: list[str]
    scored: list[int]
    offsets: list[tuple[int, int]]


class PassageTokenizer:
    """Turns passages into tokens."""

    def __init__(self, bundle: Bundle, max_tokens: int) -> None:
        self._tokenizer = open_tokenizer(bundle)
        self._room = max_tokens // 2

    def read(self, passage: Passage) -> Read:
        """Return the tokens of a passage.

        Of a scored segment the first half window is read, of another one the last.
        """
        tokens: list[str] = []
        scored: list[int] = []
        offsets: list[tuple[int, int]] = []
        for number, segment in enumerate(passage):
            cut = beginning if segment.scored else ending
            kept = slice(self._room) if segment.scored else slice(-self._room, None)
            encoding = self._encoded(cut(segment.text, self._room))
            tokens += encoding.tokens[kept]
            scored += [number if segment.scored else -1] * len(encoding.tokens[kept])
            offsets += encoding.offsets[kept]
        return Read(tokens, scored, offsets)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half a window."""
        return [
            len(self._encoded(beginning(text, self._room + 1)).tokens) > self._room
            for text in texts
        ]

    def last_tokens(self, text: str, room: int) -> list[str]:
        """Return the last tokens of a text, as many as there is room for."""
        return self._encoded(ending(text, room)).tokens[-room:]

    def ends(self, stop: str) -> list[int]:
        """Return the ids of all tokens whose text holds ``stop``, and of those of no text."""
        added = self._tokenizer.get_added_tokens_decoder()
        texts = (
            self._tokenizer.decode([token]) for token in range(self._tokenizer.get_vocab_size())
        )
        return [token for token, text in enumerate(texts) if stop in text or token in added]

    def pieces(self) -> list[str]:
        """Return the piece of the vocabulary of each id."""
        size = self._tokenizer.get_vocab_size()
        return [self._tokenizer.id_to_token(token) or "" for token in range(size)]

    def ids(self, text: str, room: int) -> list[int]:
        """Return the ids of the first tokens of a text, as many as there is room for."""
        return self._encoded(beginning(text, room)).ids[:room]

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of tokens; those that stand for no text are left out."""
        return str(self._tokenizer.decode(list(ids)))

    def _encoded(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)


def passage_scores(
    passages: Sequence[Passage],
    tokenizer: PassageTokenizer,
    compute: Computed,
    cache: Cache,
    identity: str,
) -> list[list[list[TokenScore]]]:
    """Return for each passage the tokens of each of its scored segments, in order."""
    read = [tokenizer.read(passage) for passage in passages]
    values = cache.cached_arrays(identity, [tuple(row.tokens) for row in read], compute, np.float32)
    return [
        _by_segment(passage, row, row_values.tolist())
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
