"""Causal language models, whatever the engine: tokens, windows, and the decoding loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from grice.errors import InputError
from grice.models.batching import batches_by_length, run_batches
from grice.models.protocols import Segment, TokenScore
from grice.models.tokenization import beginning, ending, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import TypeAlias

    import ctranslate2
    from numpy.typing import NDArray
    from tokenizers import Encoding

    from grice.models.cache import Cache
    from grice.models.folder import ModelFolder
    from grice.models.protocols import Passage, Vector

    Tokens: TypeAlias = Sequence[str]


class PassageTokens(NamedTuple):
    """The tokens of a passage.

    Attributes:
        scored: The number of the segment of each token, -1 if that is not scored.
        offsets: The characters of its segment that each token covers.
    """

    tokens: list[str]
    scored: list[int]
    offsets: list[tuple[int, int]]


class PassageTokenizer:
    """Tokenizer of passages, prompts and continuations."""

    def __init__(self, folder: ModelFolder, max_tokens: int) -> None:
        self._tokenizer = open_tokenizer(folder)
        self._room = max_tokens // 2

    def read(self, passage: Passage) -> PassageTokens:
        """Return the first half window of scored segments, and the last one of others."""
        read = PassageTokens([], [], [])
        for number, segment in enumerate(passage):
            cut = beginning if segment.scored else ending
            kept = slice(self._room) if segment.scored else slice(-self._room, None)
            encoding = self._encoded(cut(segment.text, self._room))
            tokens = encoding.tokens[kept]
            read.tokens.extend(tokens)
            read.scored.extend([number if segment.scored else -1] * len(tokens))
            read.offsets.extend(encoding.offsets[kept])
        return read

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half a window."""
        return [
            len(self._encoded(beginning(text, self._room + 1)).tokens) > self._room
            for text in texts
        ]

    def last_tokens(self, text: str, room: int) -> list[str]:
        """Return the last tokens of a text, as many as there is room for."""
        return self._encoded(ending(text, room)).tokens[-room:]

    def ids(self, text: str, room: int) -> list[int]:
        """Return the ids of the first tokens of a text, as many as there is room for."""
        return self._encoded(beginning(text, room)).ids[:room]

    def end_ids(self, stop: str) -> list[int]:
        """Return the ids of all tokens whose text holds ``stop``, and of special tokens."""
        special = self._tokenizer.get_added_tokens_decoder()
        ids = range(self._tokenizer.get_vocab_size())
        return [i for i in ids if i in special or stop in self._tokenizer.decode([i])]

    def vocabulary(self) -> tuple[str, ...]:
        """Return the token of each id."""
        size = self._tokenizer.get_vocab_size()
        return tuple(self._tokenizer.id_to_token(i) or "" for i in range(size))

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of tokens without special ones."""
        return str(self._tokenizer.decode(list(ids)))

    def _encoded(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)


class WindowedLM(ABC):
    """Scores of tokens; a subclass computes the log probabilities of windows.

    A passage is read once. One that is longer than the model reads is read in windows that overlap
    by half, so that a token has at least half a window before it. The first token of a passage has
    nothing before it and is left out.
    """

    def __init__(
        self,
        folder: ModelFolder,
        identity: str,
        max_tokens: int,
        cache: Cache,
        *,
        batch_tokens: int = 1,
        threads: int = 1,
    ) -> None:
        self.identity = identity
        self._tokenizer = PassageTokenizer(folder, max_tokens)
        self._max_tokens = max_tokens
        self._cache = cache
        self._batch_tokens = batch_tokens
        self._threads = threads

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half of what the model reads."""
        return self._tokenizer.truncated(texts)

    def token_scores(self, passages: Sequence[Passage]) -> list[list[list[TokenScore]]]:
        """Return for each passage the tokens of each of its scored segments, in order."""
        read = [self._tokenizer.read(passage) for passage in passages]
        values = self._cache.cached_arrays(
            self.identity, [tuple(row.tokens) for row in read], self._computed, np.float32
        )
        scores = []
        for passage, row, computed in zip(passages, read, values, strict=True):
            segments: dict[int, list[TokenScore]] = {
                number: [] for number, segment in enumerate(passage) if segment.scored
            }
            for number, (start, end), value in zip(
                row.scored[1:], row.offsets[1:], computed.tolist(), strict=True
            ):
                if number >= 0:
                    segments[number].append(TokenScore(start, end, value))
            scores.append(list(segments.values()))
        return scores

    def log_probabilities(self, prompts: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return the mean log probability of the tokens of each text after its prompt, at most 0.

        Of a long prompt the end is read, of a long text the beginning. A text without tokens has 0.
        """
        if len(prompts) != len(texts):
            raise InputError(f"{len(prompts)} prompts and {len(texts)} texts: as many are needed")
        passages = [
            (Segment(prompt or "\n"), Segment(f" {text.lstrip()}", scored=True))
            for prompt, text in zip(prompts, texts, strict=True)
        ]
        return [
            float(np.mean([token.log_probability for token in tokens])) if tokens else 0.0
            for (tokens,) in self.token_scores(passages)
        ]

    @abstractmethod
    def _window_log_probabilities(self, windows: list[Tokens]) -> Sequence[Sequence[float]]:
        """Return the log probabilities of all tokens but the first of each window."""

    def _computed(self, rows: Sequence[Tokens]) -> list[list[float]]:
        windows = [window for row in rows for window in self._windows(row)]
        values: list[Sequence[float]] = [()] * len(windows)

        def compute(batch: list[int]) -> None:
            computed = self._window_log_probabilities([windows[i] for i in batch])
            for i, window_values in zip(batch, computed, strict=True):
                values[i] = window_values

        lengths = [len(window) for window in windows]
        run_batches(compute, batches_by_length(lengths, self._batch_tokens), self._threads)
        each = iter(values)
        joined = []
        for row in rows:
            # The value of a token is that of the first window that holds it.
            row_values: list[float] = []
            for number, _ in enumerate(self._windows(row)):
                known = len(row_values) - number * (self._max_tokens // 2)
                row_values += map(float, next(each)[known:])
            joined.append(row_values)
        return joined

    def _windows(self, tokens: Tokens) -> Iterator[Tokens]:
        """Yield the windows of a text; none of a single token, which has nothing before it."""
        size, step = self._max_tokens, self._max_tokens // 2
        if len(tokens) > 1:
            for start in range(0, max(1, len(tokens) - size + step), step):
                yield tokens[start : start + size]


class TokenSelector(Protocol):
    """Selects the next token of one text."""

    def __call__(self, logits: Vector, before: Sequence[int]) -> int:
        """Return the id of the next token."""
        ...


class Continuation(NamedTuple):
    """A decoded text.

    Attributes:
        tokens: Number of tokens, the end included.
    """

    text: str
    tokens: int
    ended: bool


class Sampler:
    """Samples tokens from the model's distribution."""

    def __init__(self, temperature: float, seed: Sequence[int]) -> None:
        self._temperature = temperature
        self._random = np.random.default_rng(seed)

    def __call__(self, logits: Vector, before: Sequence[int]) -> int:
        """Return a sampled token."""
        del before
        return sample_token(logits / np.float32(self._temperature), self._random.random())


def sample_token(log_weights: Vector, number: float) -> int:
    """Return the token at quantile ``number`` (0 to 1) of unnormalised log weights."""
    sums = np.exp(log_weights - log_weights.max()).cumsum(dtype=np.float64)
    return int(min(np.searchsorted(sums, number * sums[-1], side="right"), len(sums) - 1))


def decode_tokens(
    engine: ctranslate2.Generator,
    prompt: Sequence[str],
    select: TokenSelector,
    vocabulary: Sequence[str],
    *,
    ends: Collection[int],
    max_tokens: int,
) -> list[int]:
    """Return the ids of the tokens selected after a prompt, the end included.

    The engine keeps its key-value cache only while it decodes by itself. So it decodes greedily and
    shows the logits of every step; as long as the selected token is the greedy one nothing is
    computed twice. At another token it is stopped and begins again after that token, with the
    prompt kept.
    """
    selected: list[int] = []

    def is_over() -> bool:
        return len(selected) >= max_tokens or (bool(selected) and selected[-1] in ends)

    def on_step(step: ctranslate2.GenerationStepResult) -> bool:
        selected.append(select(np.asarray(step.logits)[0], selected))
        return selected[-1] != step.token_id or is_over()

    while not is_over():
        engine.generate_batch(
            [[prompt[-1], *(vocabulary[token] for token in selected)]],
            static_prompt=list(prompt[:-1]) or None,
            include_prompt_in_result=False,
            max_length=max_tokens - len(selected),
            end_token=list(ends),
            return_logits_vocab=True,
            callback=on_step,
        )
    return selected


def logits_before(
    engine: ctranslate2.Generator, prompt: Sequence[str], tokens: Sequence[str]
) -> NDArray[np.float32]:
    """Return the logits before each token after a prompt, shape ``(tokens, vocabulary)``."""
    read = engine.forward_batch([[*prompt, *tokens]], return_log_probs=False)
    logits: NDArray[np.float32] = np.asarray(read)[0, len(prompt) - 1 : -1].astype(np.float32)
    return logits
