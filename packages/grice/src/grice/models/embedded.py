"""The shipped engine: CTranslate2 on int8 files, without torch.

The bits of a text's answer are the same in every batch. ``fast`` computes in int8: sums of
integers are exact in any order, and the weights saturate on no processor (``conversion.py``). A
text is padded to the next multiple of four tokens; a batch holds texts of one such width.
``exact`` computes in float32, one text at a time.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeAlias, TypeVar

import ctranslate2
import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from grice.models.cache import cache_key
from grice.models.folder import ModelFolder
from grice.models.loader import ModelLoader, Settings, model_type
from grice.models.protocols import Generated, Vector
from grice.progress import track

Offsets: TypeAlias = list[tuple[int, int]]

Item = TypeVar("Item")
Answer = TypeVar("Answer")

WIDTH = 4
"""Texts are padded to multiples of so many tokens. The engine computes padding in attention only;
4 takes 0.95 of the time of 8."""
MAX_BATCH_TOKENS = 512
"""Tokens of a batch, with padding: larger batches exceed the processor's cache."""
CHARACTERS = 16
"""Characters read per allowed token; the rest of a longer text is not even tokenised."""
HELD = 1 << 15
"""Tokens whose states are held after their vectors were asked for: 50 MB of 384 dimensions."""
BEAMS = 64  # most texts that a generator continues at once
_COMPUTE = {"exact": "float32", "fast": "int8"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def open_tokenizer(folder: ModelFolder) -> Tokenizer:
    """Return the tokenizer of a model, without padding and truncation."""
    tokenizer = Tokenizer.from_file(str(folder.file("tokenizer.json")))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def tokenizable(text: str) -> str:
    """Replace lone surrogates, which tokenizers do not accept."""
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
    # A token covers at least one byte, so short texts need no tokenization.
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


class Engine:
    """A model with a tokenizer, of whose texts ``room`` tokens are read."""

    room = sys.maxsize

    def __init__(self, folder: ModelFolder, loader: ModelLoader, engine: str = "") -> None:
        engine = engine or f"{loader.mode}/ct2-{ctranslate2.__version__}"
        self.identity = f"{folder.identity}/{engine}"
        self.tokenizer = open_tokenizer(folder)
        self.cache, self.threads = loader.cache, loader.workers

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it holds more tokens than are read."""
        return [is_longer(self.tokenizer, text, self.room) for text in texts]

    def encoded(self, text: str) -> Encoding:
        """Return the tokens of a text without special ones."""
        return self.tokenizer.encode(text, add_special_tokens=False)


class HiddenStates(NamedTuple):
    """Hidden states of one text's tokens, shape ``(tokens, dimensions)``."""

    states: NDArray[np.float32]
    offsets: Offsets  # ``(start, end)`` in the text per token; ``(0, 0)`` for special tokens


class EncoderSettings(Settings, frozen=True):
    """Settings of type ``encoder``; ``arithmetic`` of the weights replaces that of the mode."""

    max_tokens: int
    dimensions: int
    arithmetic: str = ""


class EmbeddedEncoder(Engine):
    """An encoder with a cache of its vectors (float16); of a long text the end is used."""

    def __init__(self, folder: ModelFolder, settings: EncoderSettings, loader: ModelLoader) -> None:
        arithmetic = settings.arithmetic or _COMPUTE[loader.mode]
        super().__init__(folder, loader)
        self.identity += f"/width-{WIDTH}"
        self.dimensions = settings.dimensions
        self.room = settings.max_tokens - 2  # beside [CLS] and [SEP]
        self._max_batch_tokens = MAX_BATCH_TOKENS if arithmetic == "int8" else 1
        self.holds_states = False  # of encoded texts, for a model that asks for them next
        self._held: dict[str, HiddenStates] = {}
        self._engine = ctranslate2.Encoder(
            str(folder.path), compute_type=arithmetic, inter_threads=loader.workers, intra_threads=1
        )

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector of half precision per text; zeros for a text without a word."""
        return self.cache.cached_arrays(self.identity, texts, self._vectors, np.float16)

    def hidden_states(self, texts: Sequence[str]) -> list[HiddenStates]:
        """Return the hidden states of each text, and cache the vectors that come with them."""
        # Requests to a service share the encoder: another one may have taken a text.
        held = ((text, self._held.pop(text, None)) for text in dict.fromkeys(texts))
        found = {text: states for text, states in held if states is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        vectors = {}
        for text, (states, vector) in zip(missing, self._forward(missing, _whole), strict=True):
            found[text] = states
            vectors[cache_key(self.identity, text)] = vector.astype(np.float16).tobytes()
        self.cache.put(vectors)
        return [found[text] for text in texts]

    def _vectors(self, texts: Sequence[str]) -> list[Vector]:
        held = 0
        self._held.clear()

        def vector(text: str, states: NDArray[np.float32], offsets: Offsets) -> Vector:
            nonlocal held
            held += len(offsets)
            if self.holds_states and held <= HELD:
                self._held[text] = HiddenStates(states.copy(), offsets)
            return _pool(states)

        return self._forward(texts, vector)

    def _forward(
        self, texts: Sequence[str], use: Callable[[str, NDArray[np.float32], Offsets], Answer]
    ) -> list[Answer]:
        """Return a function of each text, with the states and offsets of its tokens."""
        tokens = self._tokenize(texts)
        nothing = np.zeros((0, self.dimensions), np.float32)
        answers = [use("", nothing, [])] * len(texts)

        def compute(batch: list[int]) -> None:
            rows = [tokens[i][0] for i in batch]
            for i, states in zip(batch, self._states(rows), strict=True):
                answers[i] = use(texts[i], states, tokens[i][1])

        widths = [padded(len(ids)) for ids, _ in tokens]
        run_batches(compute, batches_by_length(widths, self._max_batch_tokens), self.threads)
        return answers

    def _states(self, rows: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Return the states of the tokens of each row; the rows are of one width when padded."""
        lengths = np.array([len(row) for row in rows], np.int32)
        ids = np.zeros((len(rows), padded(len(rows[0]))), np.int32)
        ids[np.arange(ids.shape[1]) < lengths[:, None]] = np.concatenate(rows)
        given = (ctranslate2.StorageView.from_array(array) for array in (ids, lengths))
        states = np.asarray(self._engine.forward_batch(*given).last_hidden_state)
        return [state[:length] for state, length in zip(states, lengths, strict=True)]

    def _tokenize(self, texts: Sequence[str]) -> list[tuple[list[int], Offsets]]:
        room = self.room
        skipped = [max(0, len(text) - room * CHARACTERS) for text in texts]
        encodings = self.tokenizer.encode_batch(
            [tokenizable(text[skip:]) for text, skip in zip(texts, skipped, strict=True)]
        )
        tokens: list[tuple[list[int], Offsets]] = []
        for encoding, skip in zip(encodings, skipped, strict=True):
            ids, offsets = encoding.ids, encoding.offsets
            if len(ids) == 2:  # only [CLS] and [SEP]: no words
                tokens.append(([], []))
                continue
            inner = [(start + skip, end + skip) for start, end in offsets[1:-1][-room:]]
            tokens.append(([ids[0], *ids[1:-1][-room:], ids[-1]], [(0, 0), *inner, (0, 0)]))
        return tokens


def _whole(
    _: str, states: NDArray[np.float32], offsets: Offsets
) -> tuple[HiddenStates, NDArray[np.float32]]:
    return HiddenStates(states.copy(), offsets), _pool(states)


def _pool(states: NDArray[np.float32]) -> Vector:
    """Return the unit vector of the mean state, rounded as the cache stores it."""
    if not len(states):
        return np.zeros(states.shape[1], np.float32)
    mean = states.mean(axis=0)
    vector: Vector = (mean / np.linalg.norm(mean)).astype(np.float16).astype(np.float32)
    return vector


encoder = model_type("encoder", task="sentence vectors", settings=EncoderSettings)(EmbeddedEncoder)


class GeneratorSettings(Settings, frozen=True):
    """Settings of an encoder-decoder; see :class:`EncoderSettings`."""

    max_tokens: int
    max_prompt_tokens: int | None = None
    max_scored_tokens: int | None = None
    arithmetic: str = ""


class EmbeddedGenerator(Engine):
    """An encoder-decoder with beam search; ``begin`` is the first token of each text."""

    def __init__(
        self, folder: ModelFolder, settings: GeneratorSettings, loader: ModelLoader
    ) -> None:
        super().__init__(folder, loader)
        self.room = settings.max_prompt_tokens or self.room
        self._settings = settings
        arithmetic = settings.arithmetic or _COMPUTE[loader.mode]
        self._alone = arithmetic != "int8"
        self._engine = ctranslate2.Translator(
            str(folder.path), compute_type=arithmetic, inter_threads=loader.workers, intra_threads=1
        )

    def generate(
        self, prompts: Sequence[str], *, count: int, begin: Sequence[str] | None = None
    ) -> list[tuple[Generated, ...]]:
        """Return the ``count`` most probable texts per prompt, by beam search of that width."""
        return self.cache.cached(
            f"{self.identity}/generate {count}",
            list(zip(prompts, begin or [""] * len(prompts), strict=True)),
            lambda items: self._generated(items, count),
            tuple[Generated, ...],
        )

    def log_probabilities(
        self, prompts: Sequence[str], texts: Sequence[str], *, begin: Sequence[str] | None = None
    ) -> list[float]:
        """Return the mean log probability of the tokens of each text after its prompt, at most 0.

        The end of the text is one of its tokens.
        """
        return self.cache.cached(
            f"{self.identity}/score",
            list(zip(prompts, texts, begin or [""] * len(prompts), strict=True)),
            lambda items: [
                float(np.mean([value for _, value in tokens]))
                for tokens in self.token_log_probabilities(items)
            ],
            float,
        )

    def _generated(
        self, items: Sequence[tuple[str, str]], count: int
    ) -> list[tuple[Generated, ...]]:
        sources = [self._source(prompt) for prompt, _ in items]
        written: list[tuple[Generated, ...]] = [()] * len(items)

        def compute(batch: list[int]) -> None:
            results = self._engine.translate_batch(
                [sources[i] for i in batch],
                target_prefix=[[items[i][1]] if items[i][1] else [] for i in batch],
                beam_size=count,
                num_hypotheses=count,
                max_decoding_length=self._settings.max_tokens,
                return_scores=True,
            )
            for i, result in zip(batch, results, strict=True):
                hypotheses = zip(result.hypotheses, result.scores, strict=True)
                written[i] = tuple(
                    Generated(self._decode(tokens), float(score)) for tokens, score in hypotheses
                )

        # Padding changes the last bits of attention: a batch holds what is equally long.
        same_length = groups([len(source) for source in sources])
        batches = [part for group in same_length for part in self._split(group, BEAMS)]
        run_batches(compute, batches, self.threads)
        return written

    def token_log_probabilities(
        self, items: Sequence[tuple[str, str, str]]
    ) -> list[list[tuple[str, float]]]:
        """Return the tokens of each text and its end, each with its log probability.

        An item is a prompt, a text and the token that begins it.
        """
        sources = [self._source(prompt) for prompt, _, _ in items]
        targets = [self._target(text, start) for _, text, start in items]
        scored: list[list[tuple[str, float]]] = [[] for _ in items]

        def compute(batch: list[int]) -> None:
            # The engine pads to the longest target: one of the full width keeps that the same.
            source, first = sources[batch[0]], targets[batch[0]]
            filler = [first[i % len(first)] for i in range(padded(len(first)))] if first else []
            results = self._engine.score_batch(
                [source, *(sources[i] for i in batch)], [filler, *(targets[i] for i in batch)]
            )
            for i, result in zip(batch, results[1:], strict=True):
                scored[i] = list(zip(result.tokens, map(float, result.log_probs), strict=True))

        widths = [padded(len(target)) for target in targets]
        batches = [
            part
            for group in groups(list(zip(map(len, sources), widths, strict=True)))
            for part in self._split(group, MAX_BATCH_TOKENS // max(WIDTH, widths[group[0]]))
        ]
        run_batches(compute, batches, self.threads)
        return scored

    def _split(self, group: list[int], most: int) -> list[list[int]]:
        """Return parts of a group of texts; of one text in float32, so that no other changes it."""
        size = 1 if self._alone else max(1, most)
        return [group[start : start + size] for start in range(0, len(group), size)]

    def _source(self, prompt: str) -> list[str]:
        room = self._settings.max_prompt_tokens
        tokens = self.tokenizer.encode(beginning(prompt, room)).tokens
        return tokens if room is None or len(tokens) <= room else [*tokens[: room - 1], tokens[-1]]

    def _target(self, text: str, start: str) -> list[str]:
        room = self._settings.max_scored_tokens
        encoding = self.encoded(beginning(text, room))
        return [*([start] if start else ()), *encoding.tokens[:room]]

    def _decode(self, tokens: list[str]) -> str:
        ids = [self.tokenizer.token_to_id(token) for token in tokens]
        return str(self.tokenizer.decode([i for i in ids if i is not None])).strip()


generator = model_type("generator", task="likelihood", settings=GeneratorSettings)(
    EmbeddedGenerator
)
