"""A causal language model: how probable the tokens of a passage are, read once from left to right.

Reference scores are float32 (mode ``exact``). In ``fast`` weights and activations are int8: how far
that moves the mean log probability of a text stands in ``docs/models.md``. Nothing is padded, for
that changes the last bits of attention, and activations of int8 turn these into tenths of a nat: a
batch holds passages of one length. In ``exact`` it holds one, since in floating point the bits of a
row depend on the rows beside it.
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
from grice.models.loader import Settings, model_type
from grice.models.passages import (
    PassageTokenizer,
    mean_log_probabilities,
    passage_scores,
    read_in_windows,
)
from grice.models.protocols import CausalLM, Generated, PassageEncoder
from grice.models.stepwise import Chosen, Sampler, choose_tokens, logits_before
from grice.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice.models.cache import Cache
    from grice.models.embedded import Mode
    from grice.models.loader import ModelLoader
    from grice.models.passages import Read
    from grice.models.protocols import Passage, TokenScore, Vector
    from grice.models.stepwise import Chooser

Answer = TypeVar("Answer")

KEPT = 32
"""Prompts after which an engine is closed and opened again."""
FEWEST = 16
"""Tokens that a model must at least be able to read."""
COMPUTE = {"exact": "float32", "fast": "int8"}


class CausalSettings(Settings, frozen=True):
    """Of a bundle of kind ``causal-lm``: how many tokens it reads at once."""

    max_tokens: Annotated[int, msgspec.Meta(ge=FEWEST)]


def decoder_identity(bundle: Bundle, mode: Mode) -> str:
    """Return what the answers of a decoder depend on."""
    return f"{bundle.identity}/{mode}/ct2-{ctranslate2.__version__}"


def open_decoder(bundle: Bundle, mode: Mode, threads: int) -> ctranslate2.Generator:
    """Open a decoder in the format of CTranslate2."""
    return ctranslate2.Generator(
        str(bundle.folder),
        device="auto",
        compute_type=COMPUTE[mode],
        inter_threads=threads,
        intra_threads=1,
    )


class EmbeddedCausalLM:
    """A causal language model."""

    def __init__(
        self, bundle: Bundle, settings: CausalSettings, cache: Cache, *, mode: Mode, threads: int
    ) -> None:
        self.identity = decoder_identity(bundle, mode)
        self._tokenizer = PassageTokenizer(bundle, settings.max_tokens)
        self._max_tokens, self._cache, self._threads = settings.max_tokens, cache, threads
        self._open = partial(open_decoder, bundle, mode, threads)
        self._engine = self._open()
        self._together = MAX_BATCH_TOKENS if mode == "fast" else 1

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half of what the model reads."""
        return self._tokenizer.truncated(texts)

    def token_scores(self, passages: Sequence[Passage]) -> list[list[list[TokenScore]]]:
        """Return for each passage the tokens of each of its scored segments, in order.

        A passage is read once. One that is longer than the model reads is read in windows that
        overlap by half, so that a token has at least half a window before it. Of a scored segment
        the first half window is read, of another one the last. The first token of a passage has
        nothing before it and is left out.
        """
        return passage_scores(passages, self._tokenizer, self._computed, self._cache, self.identity)

    def log_probabilities(self, prompts: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return the mean log probability of the tokens of each text after its prompt, at most 0.

        See :func:`~grice.models.passages.mean_log_probabilities`.
        """
        return mean_log_probabilities(self, prompts, texts)

    def alternatives(
        self, prompts: Sequence[str], *, count: int, stop: str = "\n", max_tokens: int = 64
    ) -> list[tuple[Generated, ...]]:
        """Return continuations; see :class:`~grice.models.protocols.CausalGenerator`."""
        self._check(count, max_tokens)
        return self._cache.cached(
            f"{self.identity}/alternatives {count} {max_tokens}",
            [("", prompt, stop) for prompt in prompts],
            lambda items: self._parted([item[1] for item in items], count, stop, max_tokens),
            tuple[Generated, ...],
        )

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The piece of each token id."""
        return tuple(self._tokenizer.pieces())

    def choose(
        self,
        prompts: Sequence[str],
        choosers: Sequence[Chooser],
        *,
        stop: str = "\n",
        max_tokens: int = 64,
    ) -> list[Chosen]:
        """Return continuations; see :class:`~grice.models.protocols.SteerableLM`.

        Of a prompt the end is read, a quarter of a window.
        """
        self._check(1, max_tokens)
        ends = frozenset(self._tokenizer.ends(stop))
        written = [Chosen("", 0, ended=False)] * len(prompts)

        def compute(batch: list[int]) -> None:
            for i in batch:
                before = self._tokenizer.last_tokens(prompts[i], self._max_tokens // 4)
                if before:
                    ids = choose_tokens(
                        self._engine,
                        before,
                        choosers[i],
                        self.vocabulary,
                        ends=ends,
                        max_tokens=max_tokens,
                    )
                    text = self._tokenizer.text(ids).partition(stop)[0].strip()
                    written[i] = Chosen(text, len(ids), ended=ids[-1] in ends)

        self._run_apart(compute, len(prompts))
        return written

    def _run_apart(self, compute: Callable[[list[int]], None], count: int) -> None:
        """Compute each of so many prompts, with an engine that keeps no more than a few of them.

        It keeps what it has read of every prompt, some 20 MB of one of a hundred tokens, and
        forgets it only when it is closed.
        """
        starts = range(0, count, KEPT)
        groups = [range(start, min(start + KEPT, count)) for start in starts]
        for group in track(groups, "texts", count, len):
            run_batches(compute, [[i] for i in group], self._threads)
            if len(group) == KEPT:
                self._engine = self._open()

    def sample(
        self,
        prompts: Sequence[str],
        *,
        count: int,
        seed: int,
        temperature: float = 1.0,
        stop: str = "\n",
        max_tokens: int = 64,
    ) -> list[tuple[Chosen, ...]]:
        """Return texts that are drawn; see :class:`~grice.models.protocols.SteerableLM`."""
        self._check(count, max_tokens)
        if not (math.isfinite(temperature) and temperature > 0):
            raise InputError(f"a temperature is above 0, found {temperature}")

        def draw(items: Sequence[str]) -> list[tuple[Chosen, ...]]:
            repeated = [prompt for prompt in items for _ in range(count)]
            samplers = [
                Sampler(temperature, [seed, zlib.crc32(prompt.encode()), number])
                for prompt in items
                for number in range(count)
            ]
            drawn = iter(self.choose(repeated, samplers, stop=stop, max_tokens=max_tokens))
            return [tuple(islice(drawn, count)) for _ in items]

        return self._cache.cached(
            f"{self.identity}/sample {count} {seed} {temperature} {max_tokens} {stop}",
            prompts,
            draw,
            tuple[Chosen, ...],
        )

    def read_logits(
        self,
        prompts: Sequence[str],
        texts: Sequence[str],
        use: Callable[[NDArray[np.float32], list[int]], Answer],
    ) -> list[Answer]:
        """Return what a function makes of each text; see ``SteerableLM``.

        Of a prompt the end is read, and of a text the beginning, a quarter of a window each.
        """
        room = self._max_tokens // 4

        def read(both: tuple[str, str]) -> Answer:
            prompt, text = both
            before = self._tokenizer.last_tokens(prompt, room)
            ids = self._tokenizer.ids(text, room)
            if not before or not ids:
                return use(np.zeros((0, len(self.vocabulary)), np.float32), [])
            pieces = [self.vocabulary[token] for token in ids]
            return use(logits_before(self._engine, before, pieces), ids)

        return run_apart(read, list(zip(prompts, texts, strict=True)), self._threads)

    def _check(self, texts: int, max_tokens: int) -> None:
        if texts < 1 or not 1 <= max_tokens <= self._max_tokens // 2:
            raise InputError(
                f"{texts} texts of {max_tokens} tokens: at least one text is needed, "
                f"of 1 to {self._max_tokens // 2} tokens"
            )

    def _parted(
        self, prompts: Sequence[str], count: int, stop: str, max_tokens: int
    ) -> list[tuple[Generated, ...]]:
        """Return for each prompt the texts that begin with its likeliest next tokens."""
        ends = self._tokenizer.ends(stop)
        written: list[tuple[Generated, ...]] = [()] * len(prompts)

        def compute(batch: list[int]) -> None:
            for i in batch:
                before = self._tokenizer.last_tokens(prompts[i], self._max_tokens // 4)
                if not before:
                    continue
                first = self._search(before, (), count, 1, ends)
                texts = []
                for (token,), (begun,), score in zip(
                    first.sequences, first.sequences_ids, first.scores, strict=True
                ):
                    if begun in ends:
                        continue  # nothing would be said
                    rest = self._search([token], before, 1, max(1, max_tokens - 1), ends)
                    ids = [begun, *rest.sequences_ids[0]][:max_tokens]
                    text = self._tokenizer.text(ids).partition(stop)[0].strip()
                    texts.append(Generated(text, score))
                written[i] = tuple(texts)

        self._run_apart(compute, len(prompts))
        return written

    def _search(
        self,
        tokens: Sequence[str],
        before: Sequence[str],
        width: int,
        max_tokens: int,
        ends: Sequence[int],
    ) -> ctranslate2.GenerationResult:
        """Return the likeliest continuations of tokens; what stands before them is read once."""
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

    def _computed(self, rows: Sequence[tuple[str, ...]]) -> list[list[float]]:
        def read(windows: list[Sequence[str]]) -> list[list[float]]:
            results = self._engine.score_batch([list(window) for window in windows])
            return [result.log_probs for result in results]

        return read_in_windows(
            rows,
            read,
            max_tokens=self._max_tokens,
            together=self._together,
            threads=self._threads,
        )


@model_type("causal-lm", task="likelihood", protocol=CausalLM, settings=CausalSettings)
def causal_lm(bundle: Bundle, settings: CausalSettings, loader: ModelLoader) -> EmbeddedCausalLM:
    """Open a decoder."""
    return EmbeddedCausalLM(
        bundle, settings, loader.cache, mode=loader.mode, threads=loader.workers
    )


class StateSettings(CausalSettings, frozen=True):
    """Of a bundle of kind ``causal-states``; ``scale`` has a digit per dimension."""

    layers: int
    scale: str


class EmbeddedStates:
    """A decoder without its last layers and its vocabulary: a reader of passages, no writer.

    What a language model knows of sense stands in its middle layers more than in the probabilities
    it ends with; small heads read it from there, at half the cost of the whole model.
    """

    def __init__(
        self, bundle: Bundle, settings: StateSettings, cache: Cache, *, mode: Mode, threads: int
    ) -> None:
        self.identity = decoder_identity(bundle, mode)
        self.dimensions = len(settings.scale)
        self._tokenizer = PassageTokenizer(bundle, settings.max_tokens)
        self._max_tokens, self._cache, self._threads = settings.max_tokens, cache, threads
        self._engine = open_decoder(bundle, mode, threads)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half of what the model reads."""
        return self._tokenizer.truncated(texts)

    def mean_states(self, passages: Sequence[Passage]) -> list[list[Vector]]:
        """Return for each passage the mean state of each of its scored segments, in order.

        A passage is read once, in windows that overlap by half where it is longer than the model
        reads. A segment without tokens has a state of zeros. States are of half precision.
        """
        read = [self._tokenizer.read(passage) for passage in passages]
        means = self._cache.cached_arrays(
            self.identity,
            [(tuple(row.tokens), tuple(row.scored)) for row in read],
            self._computed,
            np.float16,
        )
        return [
            self._by_segment(passage, row, mean)
            for passage, row, mean in zip(passages, read, means, strict=True)
        ]

    def _by_segment(self, passage: Passage, read: Read, means: Vector) -> list[Vector]:
        rows = means.reshape(-1, self.dimensions)
        vectors = dict(zip(_segments(read.scored), rows, strict=True))
        nothing = np.zeros(self.dimensions, np.float32)
        return [vectors.get(i, nothing) for i, segment in enumerate(passage) if segment.scored]

    def _computed(
        self, rows: Sequence[tuple[tuple[str, ...], tuple[int, ...]]]
    ) -> list[NDArray[np.float16]]:
        return run_apart(
            lambda row: _means(self._states(row[0]), np.array(row[1])), rows, self._threads
        )

    def _states(self, tokens: Sequence[str]) -> NDArray[np.float32]:
        parts: list[NDArray[np.float32]] = []
        done = start = 0
        while done < len(tokens):
            window = list(tokens[start : start + self._max_tokens])
            states = np.asarray(self._engine.forward_batch([window], return_log_probs=False))[0]
            parts.append(states[done - start :].astype(np.float32))
            done = start + len(window)
            start += self._max_tokens // 2
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), np.float32)


def _means(states: NDArray[np.float32], scored: NDArray[np.int_]) -> NDArray[np.float16]:
    """Return the mean state of each segment that has tokens, in order."""
    means = [states[scored == number].mean(axis=0) for number in _segments(scored.tolist())]
    return np.array(means, np.float16).reshape(-1, states.shape[1])


def _segments(scored: Sequence[int]) -> list[int]:
    """Return the numbers of the scored segments that have tokens."""
    return sorted({*scored} - {-1})


@model_type("causal-states", task="states", protocol=PassageEncoder, settings=StateSettings)
def causal_states(bundle: Bundle, settings: StateSettings, loader: ModelLoader) -> EmbeddedStates:
    """Open the first layers of a decoder."""
    return EmbeddedStates(bundle, settings, loader.cache, mode=loader.mode, threads=loader.workers)
