"""Causal language models on CTranslate2, and encoders from their middle layers.

Reference scores are float32 (mode ``exact``); in ``fast`` weights and activations are int8.
Padding changes the last bits of attention, and int8 turns these into tenths of a nat: a batch
holds prompts of one length, in ``exact`` one prompt.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, NamedTuple, TypeAlias

import ctranslate2
import msgspec
import numpy as np
from numpy.typing import NDArray

from grice.models.embedded import (
    MAX_BATCH_TOKENS,
    Engine,
    batches_by_length,
    beginning,
    ending,
    run_batches,
)
from grice.models.folder import ModelFolder
from grice.models.loader import Mode, ModelLoader, Settings, model_type
from grice.models.protocols import Prompt, TokenScore, Vector

Tokens: TypeAlias = Sequence[str]
Read: TypeAlias = tuple[Tokens, Sequence[int]]  # tokens with the number of each one's target
MIN_TOKENS = 16  # smallest allowed context length of a model


class CausalSettings(Settings, frozen=True):
    """Settings of type ``causal-lm``: the context length of the model."""

    max_tokens: Annotated[int, msgspec.Meta(ge=MIN_TOKENS)]


def open_decoder(folder: ModelFolder, mode: Mode, threads: int) -> ctranslate2.Generator:
    """Open a decoder in the format of CTranslate2."""
    return ctranslate2.Generator(
        str(folder.path),
        device="auto",
        compute_type={"exact": "float32", "fast": "int8"}[mode],
        inter_threads=threads,
        intra_threads=1,
    )


class PromptTokens(NamedTuple):
    """The tokens of a prompt."""

    tokens: list[str]
    targets: list[int]  # number of each token's part; -1 if that is not a target
    offsets: list[tuple[int, int]]


class PromptReader(Engine):
    """A language model with a limited context length."""

    def __init__(
        self, folder: ModelFolder, settings: CausalSettings, loader: ModelLoader, engine: str = ""
    ) -> None:
        super().__init__(folder, loader, engine)
        self.max_tokens = settings.max_tokens
        self.room = settings.max_tokens // 2

    def read_prompt(self, prompt: Prompt) -> PromptTokens:
        """Return the first half window of each target, and the last one of each other part."""
        read = PromptTokens([], [], [])
        for number, part in enumerate(prompt):
            cut = beginning if part.target else ending
            kept = slice(self.room) if part.target else slice(-self.room, None)
            encoding = self.encoded(cut(part.text, self.room))
            tokens = encoding.tokens[kept]
            read.tokens.extend(tokens)
            read.targets.extend([number if part.target else -1] * len(tokens))
            read.offsets.extend(encoding.offsets[kept])
        return read


class WindowedLM(PromptReader):
    """Scores of tokens; a subclass computes the log probabilities of windows.

    A prompt that is longer than the model reads is read in windows that overlap by half. The first
    token of a prompt has nothing before it and is left out.
    """

    _batch_tokens = 1

    def token_scores(self, prompts: Sequence[Prompt]) -> list[list[list[TokenScore]]]:
        """Return for each prompt the tokens of each of its target spans, in order."""
        read = [self._from_targets(self.read_prompt(prompt)) for prompt in prompts]
        values = self.cache.cached_arrays(
            self.identity, [tuple(row.tokens) for row in read], self._computed, np.float32
        )
        scores = []
        for prompt, row, computed in zip(prompts, read, values, strict=True):
            targets: dict[int, list[TokenScore]] = {
                number: [] for number, part in enumerate(prompt) if part.target
            }
            for number, (start, end), value in zip(
                row.targets[1:], row.offsets[1:], computed.tolist(), strict=True
            ):
                if number >= 0:
                    targets[number].append(TokenScore(start, end, value))
            scores.append(list(targets.values()))
        return scores

    def _from_targets(self, read: PromptTokens) -> PromptTokens:
        """Leave out windows before the one that has the value of the first target's first token."""
        first, step = (
            next((i for i, n in enumerate(read.targets) if n >= 0), 0),
            self.max_tokens // 2,
        )
        skipped = max(0, (first - self.max_tokens) // step + 1) * step
        return PromptTokens(read.tokens[skipped:], read.targets[skipped:], read.offsets[skipped:])

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
        run_batches(compute, batches_by_length(lengths, self._batch_tokens), self.threads)
        each = iter(values)
        joined = []
        for row in rows:
            # The value of a token is that of the first window that holds it.
            row_values: list[float] = []
            for number, _ in enumerate(self._windows(row)):
                known = len(row_values) - number * (self.max_tokens // 2)
                row_values += map(float, next(each)[known:])
            joined.append(row_values)
        return joined

    def _windows(self, tokens: Tokens) -> Iterator[Tokens]:
        """Yield the windows of a text; none of a single token, which has nothing before it."""
        size, step = self.max_tokens, self.max_tokens // 2
        if len(tokens) > 1:
            for start in range(0, max(1, len(tokens) - size + step), step):
                yield tokens[start : start + size]


class EmbeddedCausalLM(WindowedLM):
    """A causal language model on CTranslate2, whose decoder ``open_engine`` opens again."""

    def __init__(self, folder: ModelFolder, settings: CausalSettings, loader: ModelLoader) -> None:
        super().__init__(folder, settings, loader)
        self._batch_tokens = MAX_BATCH_TOKENS if loader.mode == "fast" else 1
        self.open_engine = partial(open_decoder, folder, loader.mode, loader.workers)
        self.engine = self.open_engine()

    def _window_log_probabilities(self, windows: list[Tokens]) -> list[list[float]]:
        results = self.engine.score_batch([list(window) for window in windows])
        return [result.log_probs for result in results]


causal_lm = model_type("causal-lm", task="likelihood", settings=CausalSettings)(EmbeddedCausalLM)


class StateSettings(CausalSettings, frozen=True):
    """Settings of type ``causal-states``; ``scale`` has a digit per dimension."""

    layers: int
    scale: str


class LanguageModelEncoder(PromptReader):
    """A decoder without its last layers and its vocabulary, as an encoder of prompts.

    Middle layers represent the meaning of a text better than the final probabilities.
    """

    def __init__(self, folder: ModelFolder, settings: StateSettings, loader: ModelLoader) -> None:
        super().__init__(folder, settings, loader)
        self.dimensions = len(settings.scale)
        self._batch_tokens = MAX_BATCH_TOKENS if loader.mode == "fast" else 1
        self._engine = open_decoder(folder, loader.mode, loader.workers)

    def mean_states(self, prompts: Sequence[Prompt]) -> list[list[Vector]]:
        """Return for each prompt the mean hidden state of each of its target spans.

        A span without tokens has zeros. States are of half precision.
        """
        read = [self.read_prompt(prompt) for prompt in prompts]
        means = self.cache.cached_arrays(
            self.identity,
            [(tuple(row.tokens), tuple(row.targets)) for row in read],
            self._computed,
            np.float16,
        )
        nothing = np.zeros(self.dimensions, np.float32)
        vectors = []
        for prompt, row, mean in zip(prompts, read, means, strict=True):
            rows = mean.reshape(-1, self.dimensions).astype(np.float32)
            known = dict(zip(_numbers(row.targets), rows, strict=True))
            vectors.append([known.get(i, nothing) for i, part in enumerate(prompt) if part.target])
        return vectors

    def _computed(self, rows: Sequence[Read]) -> list[NDArray[np.float16]]:
        means = [np.zeros((0, self.dimensions), np.float16)] * len(rows)

        def compute(batch: list[int]) -> None:
            for i, mean in zip(batch, self._means([rows[i] for i in batch]), strict=True):
                means[i] = mean

        lengths = [len(tokens) for tokens, _ in rows]
        run_batches(compute, batches_by_length(lengths, self._batch_tokens), self.threads)
        return means

    def _means(self, rows: Sequence[Read]) -> list[NDArray[np.float16]]:
        """Return the mean states of the target spans of rows of one length."""
        numbers = np.array([targets for _, targets in rows])
        count = numbers.shape[1]
        states = np.zeros((*numbers.shape, self.dimensions), np.float32)
        done = start = 0
        while done < count:
            end = min(count, start + self.max_tokens)
            if (numbers[:, done:end] >= 0).any():  # no mean needs the states of other windows
                windows = [list(tokens[start:end]) for tokens, _ in rows]
                read = self._engine.forward_batch(windows, return_log_probs=False)
                states[:, done:end] = np.asarray(read)[:, done - start :]
            done, start = end, start + self.max_tokens // 2
        return [
            np.array([own[places == n].mean(axis=0) for n in _numbers(targets)], np.float16)
            for own, places, (_, targets) in zip(states, numbers, rows, strict=True)
        ]


def _numbers(targets: Sequence[int]) -> list[int]:
    """Return the numbers of the target spans that have tokens."""
    return sorted({*targets} - {-1})


causal_states = model_type("causal-states", task="states", settings=StateSettings)(
    LanguageModelEncoder
)
