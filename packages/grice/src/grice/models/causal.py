"""Causal language models on CTranslate2, and encoders by their middle layers.

Reference scores are float32 (mode ``exact``). In ``fast`` weights and activations are int8; see
``docs/models.md`` for the difference. Nothing is padded, for that changes the last bits of
attention, and activations of int8 turn these into tenths of a nat: a batch holds passages of one
length. In ``exact`` it holds one passage, since in floating point the bits of a row depend on the
rows beside it.
"""

from __future__ import annotations

import math
import zlib
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, TypeVar

import ctranslate2
import msgspec
import numpy as np

from grice.errors import InputError
from grice.models.batching import MAX_BATCH_TOKENS, run_apart, run_batches
from grice.models.decoding import (
    Continuation,
    PassageTokenizer,
    Sampler,
    WindowedLM,
    decode_tokens,
    logits_before,
)
from grice.models.loader import Settings, model_type
from grice.models.protocols import CausalLM, Generated, PassageEncoder
from grice.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from grice.models.cache import Cache
    from grice.models.decoding import Tokens, TokenSelector
    from grice.models.embedded import Mode
    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Passage, Vector

Answer = TypeVar("Answer")

PROMPTS = 32
"""Prompts after which an engine is closed and opened again."""
MIN_TOKENS = 16
"""Smallest number of tokens that a model may read at once."""


class CausalSettings(Settings, frozen=True):
    """Settings of type ``causal-lm``: how many tokens the model reads at once."""

    max_tokens: Annotated[int, msgspec.Meta(ge=MIN_TOKENS)]


def decoder_identity(folder: ModelFolder, mode: Mode) -> str:
    """Return weights and arithmetic of a decoder."""
    return f"{folder.identity}/{mode}/ct2-{ctranslate2.__version__}"


def open_decoder(folder: ModelFolder, mode: Mode, threads: int) -> ctranslate2.Generator:
    """Open a decoder in the format of CTranslate2."""
    return ctranslate2.Generator(
        str(folder.path),
        device="auto",
        compute_type={"exact": "float32", "fast": "int8"}[mode],
        inter_threads=threads,
        intra_threads=1,
    )


class EmbeddedCausalLM(WindowedLM):
    """A :class:`~grice.models.protocols.SteerableLM`.

    Of a prompt to continue the last quarter of a window is read.
    """

    def __init__(
        self,
        folder: ModelFolder,
        settings: CausalSettings,
        cache: Cache,
        *,
        mode: Mode,
        threads: int,
    ) -> None:
        super().__init__(
            folder,
            decoder_identity(folder, mode),
            settings.max_tokens,
            cache,
            batch_tokens=MAX_BATCH_TOKENS if mode == "fast" else 1,
            threads=threads,
        )
        self._open = partial(open_decoder, folder, mode, threads)
        self._engine = self._open()

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The token of each id."""
        return self._tokenizer.vocabulary()

    def _window_log_probabilities(self, windows: list[Tokens]) -> list[list[float]]:
        results = self._engine.score_batch([list(window) for window in windows])
        return [result.log_probs for result in results]

    def alternatives(
        self, prompts: Sequence[str], *, count: int, stop: str = "\n", max_tokens: int = 64
    ) -> list[tuple[Generated, ...]]:
        """Return continuations; see :class:`~grice.models.protocols.CausalGenerator`."""
        self._check(count, max_tokens)

        def compute(items: Sequence[tuple[str, ...]]) -> list[tuple[Generated, ...]]:
            ends = self._tokenizer.end_ids(stop)

            def write(_: int, before: list[str]) -> tuple[Generated, ...]:
                first = self._search(before, (), count, 1, ends)
                texts = []
                for (token,), (begun,), score in zip(
                    first.sequences, first.sequences_ids, first.scores, strict=True
                ):
                    if begun not in ends:
                        rest = self._search([token], before, 1, max(1, max_tokens - 1), ends)
                        ids = [begun, *rest.sequences_ids[0]][:max_tokens]
                        texts.append(Generated(self._text(ids, stop), score))
                return tuple(texts)

            return self._continued([prompt for _, prompt, _ in items], write, ())

        return self._cache.cached(
            f"{self.identity}/alternatives {count} {max_tokens}",
            [("", prompt, stop) for prompt in prompts],
            compute,
            tuple[Generated, ...],
        )

    def decode(
        self,
        prompts: Sequence[str],
        selectors: Sequence[TokenSelector],
        *,
        stop: str = "\n",
        max_tokens: int = 64,
    ) -> list[Continuation]:
        """Return continuations; see :class:`~grice.models.protocols.SteerableLM`."""
        self._check(1, max_tokens)
        ends = frozenset(self._tokenizer.end_ids(stop))

        def write(i: int, before: list[str]) -> Continuation:
            ids = decode_tokens(
                self._engine,
                before,
                selectors[i],
                self.vocabulary,
                ends=ends,
                max_tokens=max_tokens,
            )
            return Continuation(self._text(ids, stop), len(ids), ended=ids[-1] in ends)

        return self._continued(prompts, write, Continuation("", 0, ended=False))

    def sample(
        self,
        prompts: Sequence[str],
        *,
        count: int,
        seed: int,
        temperature: float = 1.0,
        stop: str = "\n",
        max_tokens: int = 64,
    ) -> list[tuple[Continuation, ...]]:
        """Return samples; see :class:`~grice.models.protocols.SteerableLM`."""
        self._check(count, max_tokens)
        if not (math.isfinite(temperature) and temperature > 0):
            raise InputError(f"a temperature is above 0, found {temperature}")

        def draw(items: Sequence[str]) -> list[tuple[Continuation, ...]]:
            repeated = [(prompt, number) for prompt in items for number in range(count)]
            samplers = [
                Sampler(temperature, [seed, zlib.crc32(prompt.encode()), number])
                for prompt, number in repeated
            ]
            texts = [prompt for prompt, _ in repeated]
            drawn = iter(self.decode(texts, samplers, stop=stop, max_tokens=max_tokens))
            return [tuple(islice(drawn, count)) for _ in items]

        return self._cache.cached(
            f"{self.identity}/sample {count} {seed} {temperature} {max_tokens} {stop}",
            prompts,
            draw,
            tuple[Continuation, ...],
        )

    def read_logits(
        self,
        prompts: Sequence[str],
        texts: Sequence[str],
        use: Callable[[NDArray[np.float32], list[int]], Answer],
    ) -> list[Answer]:
        """Return a function of the logits of each text; see ``SteerableLM``.

        Of a text the first quarter of a window is read.
        """
        room = self._max_tokens // 4

        def read(both: tuple[str, str]) -> Answer:
            prompt, text = both
            before = self._tokenizer.last_tokens(prompt, room)
            ids = self._tokenizer.ids(text, room)
            if not before or not ids:
                return use(np.zeros((0, len(self.vocabulary)), np.float32), [])
            tokens = [self.vocabulary[token] for token in ids]
            return use(logits_before(self._engine, before, tokens), ids)

        return run_apart(read, list(zip(prompts, texts, strict=True)), self._threads)

    def _check(self, texts: int, max_tokens: int) -> None:
        if texts < 1 or not 1 <= max_tokens <= self._max_tokens // 2:
            raise InputError(
                f"{texts} texts of {max_tokens} tokens: at least one text is needed, "
                f"of 1 to {self._max_tokens // 2} tokens"
            )

    def _text(self, ids: Sequence[int], stop: str) -> str:
        return self._tokenizer.text(ids).partition(stop)[0].strip()

    def _continued(
        self, prompts: Sequence[str], write: Callable[[int, list[str]], Answer], nothing: Answer
    ) -> list[Answer]:
        """Continue each prompt that has tokens.

        The engine keeps what it has read of every prompt, some 20 MB of one of a hundred tokens,
        until it is closed. So it is opened again after some prompts.
        """
        written = [nothing] * len(prompts)

        def compute(batch: list[int]) -> None:
            for i in batch:
                before = self._tokenizer.last_tokens(prompts[i], self._max_tokens // 4)
                if before:
                    written[i] = write(i, before)

        starts = range(0, len(prompts), PROMPTS)
        groups = [range(start, min(start + PROMPTS, len(prompts))) for start in starts]
        for group in track(groups, "texts", len(prompts), len):
            run_batches(compute, [[i] for i in group], self._threads)
            if len(group) == PROMPTS:
                self._engine = self._open()
        return written

    def _search(
        self,
        tokens: Sequence[str],
        before: Sequence[str],
        width: int,
        max_tokens: int,
        ends: Sequence[int],
    ) -> ctranslate2.GenerationResult:
        """Return the most probable continuations of tokens after others, by beam search."""
        (result,) = self._engine.generate_batch(
            [list(tokens)],
            static_prompt=list(before) or None,
            include_prompt_in_result=False,
            beam_size=width,
            num_hypotheses=width,
            max_length=max_tokens,
            end_token=ends,
            return_end_token=True,  # it may hold more than what ends a text
            return_scores=True,
        )
        return result


@model_type("causal-lm", task="likelihood", protocol=CausalLM, settings=CausalSettings)
def causal_lm(
    folder: ModelFolder, settings: CausalSettings, loader: ModelLoader
) -> EmbeddedCausalLM:
    """Open a decoder."""
    return EmbeddedCausalLM(
        folder, settings, loader.cache, mode=loader.mode, threads=loader.workers
    )


class StateSettings(CausalSettings, frozen=True):
    """Settings of type ``causal-states``; ``scale`` has a digit per dimension."""

    layers: int
    scale: str


class EmbeddedStates:
    """A decoder without its last layers and its vocabulary, as an encoder of passages.

    Its middle layers show more of the sense of a text than the final probabilities do; small heads
    read it from there, at half the cost of the whole model.
    """

    def __init__(
        self,
        folder: ModelFolder,
        settings: StateSettings,
        cache: Cache,
        *,
        mode: Mode,
        threads: int,
    ) -> None:
        self.identity = decoder_identity(folder, mode)
        self.dimensions = len(settings.scale)
        self._tokenizer = PassageTokenizer(folder, settings.max_tokens)
        self._max_tokens, self._cache, self._threads = settings.max_tokens, cache, threads
        self._engine = open_decoder(folder, mode, threads)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half of what the model reads."""
        return self._tokenizer.truncated(texts)

    def mean_states(self, passages: Sequence[Passage]) -> list[list[Vector]]:
        """Return for each passage the mean hidden state of each of its scored segments.

        A passage is read once, in windows that overlap by half where it is longer than the model
        reads. A segment without tokens has zeros. States are of half precision.
        """
        read = [self._tokenizer.read(passage) for passage in passages]
        means = self._cache.cached_arrays(
            self.identity,
            [(tuple(row.tokens), tuple(row.scored)) for row in read],
            lambda rows: run_apart(self._means, rows, self._threads),
            np.float16,
        )
        nothing = np.zeros(self.dimensions, np.float32)
        vectors = []
        for passage, row, mean in zip(passages, read, means, strict=True):
            rows = mean.reshape(-1, self.dimensions).astype(np.float32)
            known = dict(zip(_segments(row.scored), rows, strict=True))
            vectors.append([known.get(i, nothing) for i, part in enumerate(passage) if part.scored])
        return vectors

    def _means(self, row: tuple[tuple[str, ...], tuple[int, ...]]) -> NDArray[np.float16]:
        """Return the mean state of each scored segment that has tokens, in order."""
        tokens, scored = row
        parts = [np.zeros((0, self.dimensions), np.float32)]
        done = start = 0
        while done < len(tokens):
            window = list(tokens[start : start + self._max_tokens])
            states = np.asarray(self._engine.forward_batch([window], return_log_probs=False))[0]
            parts.append(states[done - start :].astype(np.float32))
            done = start + len(window)
            start += self._max_tokens // 2
        states, numbers = np.concatenate(parts), np.array(scored)
        means = [states[numbers == number].mean(axis=0) for number in _segments(scored)]
        return np.array(means, np.float16).reshape(-1, self.dimensions)


def _segments(scored: Sequence[int]) -> list[int]:
    """Return the numbers of the scored segments that have tokens."""
    return sorted({*scored} - {-1})


@model_type("causal-states", task="states", protocol=PassageEncoder, settings=StateSettings)
def causal_states(
    folder: ModelFolder, settings: StateSettings, loader: ModelLoader
) -> EmbeddedStates:
    """Open the first layers of a decoder."""
    return EmbeddedStates(folder, settings, loader.cache, mode=loader.mode, threads=loader.workers)
