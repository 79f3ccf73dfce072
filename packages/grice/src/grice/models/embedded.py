"""The shipped engine: CTranslate2 on int8 files, without torch.

Two modes. ``fast`` computes in int8: sums of integers are exact in any order, and the weights are
such that they saturate on no processor (``conversion/convert.py``). What is left in floating
point reads one token, or the tokens of one text, in arrays of a fixed width. ``exact`` computes in
float32, one text at a time, since there the bits of a row depend on the rows beside it. So in both
the bits of a text's answer are the same in every batch.

In ``fast`` a text is padded to the next multiple of four tokens, whoever its neighbours are, and a
batch holds only texts of one such width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

import ctranslate2
import numpy as np

from grice.errors import InputError
from grice.models.batching import (
    MAX_BATCH_TOKENS,
    WIDTH,
    batches_by_width,
    groups,
    padded,
    run_batches,
)
from grice.models.cache import CachedEncoder
from grice.models.loader import NoSettings, Settings, model_type, read_settings
from grice.models.protocols import Encoder, Generated, TextScorer
from grice.models.tokenization import CHARACTERS, beginning, open_tokenizer, tokenizable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Vector

Mode: TypeAlias = Literal["exact", "fast"]
Answer = TypeVar("Answer")

BEAMS = 64
"""Most texts that a generator continues at once."""


class Hidden(NamedTuple):
    """States of one text's tokens, with the characters each token covers.

    Attributes:
        states: Shape ``(tokens, dimensions)``, float32.
        offsets: ``(start, end)`` in the text per token; ``(0, 0)`` for tokens that stand for
            no text.
    """

    states: NDArray[np.float32]
    offsets: list[tuple[int, int]]


class EncoderSettings(Settings, frozen=True):
    """Settings of type ``encoder``: how much it reads, and the length of its vectors.

    ``arithmetic`` is that of both modes where the weights are stored in it.
    """

    max_tokens: int
    dimensions: int
    arithmetic: str = ""


class GeneratorSettings(Settings, frozen=True):
    """Of a model with an encoder-decoder; see :class:`EmbeddedGenerator`."""

    max_tokens: int
    max_prompt_tokens: int | None = None
    max_scored_tokens: int | None = None
    arithmetic: str = ""


class EmbeddedEncoder:
    """An encoder from a model of type ``encoder``.

    A text longer than the model reads keeps its end, the part nearest to what comes next.
    """

    def __init__(self, folder: ModelFolder, *, mode: Mode, threads: int) -> None:
        engine = f"ct2-{ctranslate2.__version__}/width-{WIDTH}"
        self.identity = f"{folder.identity}/{mode}/{engine}"
        settings = read_settings(folder, EncoderSettings)
        self._tokenizer = open_tokenizer(folder)
        self._max_tokens = settings.max_tokens
        self.dimensions = settings.dimensions
        self._threads = threads
        arithmetic = settings.arithmetic or _COMPUTE[mode]
        self._max_batch_tokens = MAX_BATCH_TOKENS if arithmetic == "int8" else 1
        self._engine = ctranslate2.Encoder(
            str(folder.path),
            device="cpu",
            compute_type=arithmetic,
            inter_threads=threads,
            intra_threads=1,
        )

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector of half precision per text; zeros for a text without a word."""
        return self._run(texts, lambda states, _: _pool(states), self._nothing)

    def hidden(self, texts: Sequence[str]) -> list[tuple[Hidden, Vector]]:
        """Return the token states of each text, and the vector :meth:`encode` gives for it."""
        empty = Hidden(np.zeros((0, self.dimensions), np.float32), [])
        return self._run(
            texts,
            lambda states, offsets: (Hidden(states.copy(), offsets), _pool(states)),
            lambda: (empty, self._nothing()),
        )

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it holds more tokens than the model reads."""
        room = self._max_tokens - 2
        # A token covers at least one character, so a short text needs no look.
        return [
            len(text) > room
            and (
                len(text) > room * CHARACTERS
                or len(self._tokenizer.encode(text, add_special_tokens=False).ids) > room
            )
            for text in texts
        ]

    def _nothing(self) -> Vector:
        return np.zeros(self.dimensions, np.float32)

    def _run(
        self,
        texts: Sequence[str],
        use: Callable[[NDArray[np.float32], list[tuple[int, int]]], Answer],
        nothing: Callable[[], Answer],
    ) -> list[Answer]:
        tokens = self._tokenize(texts)
        answers: list[Answer | None] = [None] * len(texts)

        def compute(batch: list[int]) -> None:
            rows = [tokens[i][0] for i in batch]
            for i, states in zip(batch, self._states(rows), strict=True):
                answers[i] = use(states, tokens[i][1])

        lengths = [len(ids) for ids, _ in tokens]
        run_batches(compute, batches_by_width(lengths, self._max_batch_tokens), self._threads)
        return [nothing() if answer is None else answer for answer in answers]

    def _states(self, rows: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Return the states of the tokens of each row; the rows are of one width when padded."""
        lengths = np.array([len(row) for row in rows], np.int32)
        ids = np.zeros((len(rows), padded(len(rows[0]))), np.int32)
        ids[np.arange(ids.shape[1]) < lengths[:, None]] = np.concatenate(rows)
        given = (ctranslate2.StorageView.from_array(array) for array in (ids, lengths))
        states = np.asarray(self._engine.forward_batch(*given).last_hidden_state)
        return [state[:length] for state, length in zip(states, lengths, strict=True)]

    def _tokenize(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        room = self._max_tokens - 2
        skipped = [max(0, len(text) - room * CHARACTERS) for text in texts]
        encodings = self._tokenizer.encode_batch(
            [tokenizable(text[skip:]) for text, skip in zip(texts, skipped, strict=True)]
        )
        tokens: list[tuple[list[int], list[tuple[int, int]]]] = []
        for encoding, skip in zip(encodings, skipped, strict=True):
            ids, offsets = encoding.ids, encoding.offsets
            if len(ids) == 2:  # [CLS] and [SEP] alone: no word at all
                tokens.append(([], []))
                continue
            inner = [(start + skip, end + skip) for start, end in offsets[1:-1][-room:]]
            tokens.append(([ids[0], *ids[1:-1][-room:], ids[-1]], [(0, 0), *inner, (0, 0)]))
        return tokens


class EmbeddedGenerator:
    """An encoder-decoder from a model of type ``generator``, with beam search."""

    def __init__(self, folder: ModelFolder, *, mode: Mode, threads: int) -> None:
        self.identity = f"{folder.identity}/{mode}/ct2-{ctranslate2.__version__}"
        settings = read_settings(folder, GeneratorSettings)
        arithmetic = settings.arithmetic or _COMPUTE[mode]
        self._tokenizer = open_tokenizer(folder)
        self._max_tokens = settings.max_tokens
        self._max_prompt = settings.max_prompt_tokens
        self._max_scored = settings.max_scored_tokens
        self._alone = arithmetic != "int8"
        self._threads = threads
        self._engine = ctranslate2.Translator(
            str(folder.path),
            device="cpu",
            compute_type=arithmetic,
            inter_threads=threads,
            intra_threads=1,
        )

    def generate(
        self, prompts: Sequence[str], *, count: int, begin: Sequence[str] | None = None
    ) -> list[tuple[Generated, ...]]:
        """Return the ``count`` most probable texts per prompt, by beam search of that width."""
        if not prompts:
            return []
        sources = self._sources(prompts)
        starts = _starts(begin, len(prompts))
        lengths = list(map(len, sources))
        written: list[tuple[Generated, ...]] = [()] * len(prompts)

        def compute(batch: list[int]) -> None:
            results = self._engine.translate_batch(
                [sources[i] for i in batch],
                target_prefix=[starts[i] for i in batch],
                beam_size=count,
                num_hypotheses=count,
                max_decoding_length=self._max_tokens,
                return_scores=True,
            )
            for i, result in zip(batch, results, strict=True):
                hypotheses = zip(result.hypotheses, result.scores, strict=True)
                written[i] = tuple(
                    Generated(self._decode(tokens), float(score)) for tokens, score in hypotheses
                )

        # Padding changes the last bits of attention: a batch holds what is equally long.
        batches = [part for group in groups(lengths) for part in self._split(group, BEAMS)]
        run_batches(compute, batches, self._threads)
        return written

    def log_probabilities(
        self, prompts: Sequence[str], texts: Sequence[str], *, begin: Sequence[str] | None = None
    ) -> list[float]:
        """Return the mean log probability of the tokens of each text after its prompt, at most 0.

        The end of the text is one of its tokens.
        """
        scored = self.piece_log_probabilities(prompts, texts, begin=begin)
        return [float(np.mean([value for _, value in pieces])) for pieces in scored]

    def piece_log_probabilities(
        self, prompts: Sequence[str], texts: Sequence[str], *, begin: Sequence[str] | None = None
    ) -> list[list[tuple[str, float]]]:
        """Return the pieces of each text, its end included, each with its log probability.

        The bits of a text depend on that text and its prompt alone.
        """
        sources, targets = self._read(prompts, texts, begin)
        scored: list[list[tuple[str, float]]] = [[] for _ in texts]

        def compute(batch: list[int]) -> None:
            # The engine pads to the longest target: one of the full width keeps that the same.
            source, first = sources[batch[0]], targets[batch[0]]
            filler = [first[i % len(first)] for i in range(padded(len(first)))] if first else []
            results = self._engine.score_batch(
                [source, *(sources[i] for i in batch)], [filler, *(targets[i] for i in batch)]
            )
            for i, result in zip(batch, results[1:], strict=True):
                scored[i] = list(zip(result.tokens, map(float, result.log_probs), strict=True))

        shapes = [
            (len(source), padded(len(target)))
            for source, target in zip(sources, targets, strict=True)
        ]
        batches = [
            part
            for group in groups(shapes)
            for part in self._split(group, MAX_BATCH_TOKENS // max(WIDTH, shapes[group[0]][1]))
        ]
        run_batches(compute, batches, self._threads)
        return scored

    def _split(self, group: list[int], most: int) -> list[list[int]]:
        """Return parts of a group of texts; of one text in float32, so that no other changes it."""
        size = 1 if self._alone else max(1, most)
        return [group[start : start + size] for start in range(0, len(group), size)]

    def _read(
        self, prompts: Sequence[str], texts: Sequence[str], begin: Sequence[str] | None
    ) -> tuple[list[list[str]], list[list[str]]]:
        if len(prompts) != len(texts):
            raise InputError(f"{len(prompts)} prompts and {len(texts)} texts: as many are needed")
        pieces = [
            self._tokenizer.encode(
                beginning(text, self._max_scored), add_special_tokens=False
            ).tokens
            for text in texts
        ]
        starts = _starts(begin, len(prompts))
        targets = [
            [*start, *text[: self._max_scored]] for start, text in zip(starts, pieces, strict=True)
        ]
        return self._sources(prompts), targets

    def _sources(self, prompts: Sequence[str]) -> list[list[str]]:
        room = self._max_prompt
        tokens = (self._tokenizer.encode(beginning(prompt, room)).tokens for prompt in prompts)
        if room is None:
            return list(tokens)
        return [ids if len(ids) <= room else [*ids[: room - 1], ids[-1]] for ids in tokens]

    def _decode(self, tokens: list[str]) -> str:
        ids = [self._tokenizer.token_to_id(token) for token in tokens]
        return str(self._tokenizer.decode([i for i in ids if i is not None])).strip()


@model_type("encoder", task="sentence vectors", protocol=Encoder, settings=NoSettings)
def encoder(folder: ModelFolder, _: NoSettings, loader: ModelLoader) -> CachedEncoder:
    """Open an encoder whose answers are kept."""
    engine = EmbeddedEncoder(folder, mode=loader.mode, threads=loader.workers)
    return CachedEncoder(engine, loader.cache)


@model_type("generator", task="likelihood", protocol=TextScorer, settings=NoSettings)
def generator(folder: ModelFolder, _: NoSettings, loader: ModelLoader) -> EmbeddedGenerator:
    """Open an encoder-decoder."""
    return EmbeddedGenerator(folder, mode=loader.mode, threads=loader.workers)


_COMPUTE: dict[Mode, str] = {"exact": "float32", "fast": "int8"}


def _starts(begin: Sequence[str] | None, count: int) -> list[list[str]]:
    if begin is not None and len(begin) != count:
        raise InputError(f"{count} prompts and {len(begin)} beginnings: as many are needed")
    return [[] for _ in range(count)] if begin is None else [[piece] for piece in begin]


def _pool(states: NDArray[np.float32]) -> Vector:
    """Return the unit vector of the mean state, rounded to half precision.

    Half precision halves the store of kept vectors; rounding always, not only when a vector is
    kept, makes a kept vector equal to a fresh one.
    """
    mean = states.mean(axis=0)
    vector: Vector = (mean / np.linalg.norm(mean)).astype(np.float16).astype(np.float32)
    return vector
