"""Published encoders with a head on CTranslate2: labels of texts and pairs, answers by spans.

What transformers gives in float32 comes out; each text is read by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, NamedTuple, TypeAlias

import ctranslate2
import msgspec
import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding

from grice.models.embedded import beginning, open_tokenizer, run_batches
from grice.models.folder import ModelFolder
from grice.models.loader import ModelLoader, Settings, model_type
from grice.models.protocols import Dialogue
from grice.numeric import softmax
from grice_research.published_models.convert import (
    convert_classifier,
    convert_dialogue_classifier,
    convert_span_reader,
)

Array: TypeAlias = NDArray[np.float32]

LONGEST_ANSWER = 50  # tokens of an answer, as in the released code of CIDER


class ReaderSettings(Settings, frozen=True):
    """Of a model of a published encoder with a head."""

    max_tokens: Annotated[int, msgspec.Meta(ge=3)]  # pieces that it reads at once
    labels: tuple[str, ...] = ()  # names of the labels of a classifier


class Answer(NamedTuple):
    """A span ``text[start:end]`` and the log probability of its first and last token."""

    start: int
    end: int
    log_probability: float


class PublishedReader:
    """The encoder with its head, of labels or of spans.

    Of two texts the longer one is cut, or by ``cut`` always the second.
    """

    def __init__(
        self,
        folder: ModelFolder,
        settings: ReaderSettings,
        loader: ModelLoader,
        cut: str = "longest_first",
    ) -> None:
        self.identity = f"{folder.identity}/float32/ct2-{ctranslate2.__version__}"
        self.labels = settings.labels
        self._most = settings.max_tokens
        self._tokenizer = open_tokenizer(folder)
        self._tokenizer.enable_truncation(self._most, strategy=cut)
        self._cache = loader.cache
        self._threads = loader.workers
        with np.load(folder.file("head.npz"), allow_pickle=False) as arrays:
            self.head = {name: arrays[name] for name in arrays.files}
        self._engine = ctranslate2.Encoder(
            str(folder.path),
            device="cpu",
            compute_type="float32",
            inter_threads=loader.workers,
            intra_threads=1,
        )

    def logits(self, texts: Sequence[tuple[str, str]]) -> list[Array]:
        """Return a number per label for each text; the second of the two may be empty."""
        rows = self._cached("logits", texts, self._logits)
        return [np.array(row, np.float32) for row in rows]

    def answers(self, questions: Sequence[tuple[str, str]]) -> list[Answer]:
        """Return the likeliest span of the text for each question and text."""
        rows = self._cached("answers", questions, self._answer)
        return [Answer(int(start), int(end), value) for start, end, value in rows]

    def read(self, text: str, second: str = "") -> tuple[Array, Encoding]:
        """Return the states of the pieces of a text, or of two, shape ``(pieces, dimensions)``."""
        text, second = beginning(text, self._most), beginning(second, self._most)
        encoding = self._tokenizer.encode(text, second) if second else self._tokenizer.encode(text)
        output = self._engine.forward_batch([encoding.ids], token_type_ids=[encoding.type_ids])
        states = np.asarray(output.last_hidden_state)[0]
        return states.copy(), encoding

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text, read by itself, whether its end is left out."""
        return [
            len(text) > self._most - 2
            and (
                beginning(text, self._most) != text
                or bool(self._tokenizer.encode(text).overflowing)
            )
            for text in texts
        ]

    def _cached(
        self,
        result: str,
        pairs: Sequence[tuple[str, str]],
        compute: Callable[[str, str], list[float]],
    ) -> list[list[float]]:
        def computed(keys: Sequence[str]) -> list[list[float]]:
            rows: list[list[float]] = [[]] * len(keys)

            def one(batch: list[int]) -> None:
                for i in batch:
                    rows[i] = compute(*msgspec.json.decode(keys[i], type=tuple[str, str]))

            run_batches(one, [[i] for i in range(len(keys))], self._threads)
            return rows

        keys = [msgspec.json.encode(pair).decode() for pair in pairs]
        return self._cache.cached(f"{self.identity}/{result}", keys, computed, list[float])

    def _logits(self, text: str, second: str) -> list[float]:
        first = self.read(text, second)[0][0]
        hidden = np.tanh(self.head["dense"] @ first + self.head["dense_bias"])
        return list(map(float, self.head["out"] @ hidden + self.head["out_bias"]))

    def _answer(self, question: str, text: str) -> list[float]:
        states, encoding = self.read(question, text)
        inside = np.array([side == 1 for side in encoding.sequence_ids])
        if not inside.any():
            return [0.0, 0.0, float("-inf")]
        scores = (states @ self.head["out"].T + self.head["out_bias"])[inside]
        starts, ends = (scores - np.logaddexp.reduce(scores, axis=0)).T
        both = np.add.outer(starts, ends)
        distance = np.subtract.outer(np.arange(len(ends)), np.arange(len(starts))).T
        both[(distance < 0) | (distance >= LONGEST_ANSWER)] = -np.inf
        first, last = np.unravel_index(int(both.argmax()), both.shape)
        offsets = np.array(encoding.offsets)[inside]
        return [float(offsets[first, 0]), float(offsets[last, 1]), float(both[first, last])]


text_classifier = model_type(
    "text-classifier", task="labels", settings=ReaderSettings, convert=convert_classifier
)(PublishedReader)
# Of a question and a text the text is cut.
span_reader = model_type(
    "span-reader", task="answers by spans", settings=ReaderSettings, convert=convert_span_reader
)(partial(PublishedReader, cut="only_second"))


COHERENT = 1
LONGEST = 512  # pieces that the paper reads; of a longer conversation the end is left out


class DeamClassifier:
    """A :class:`~grice.models.protocols.DialogueClassifier`, in float32.

    The turns are joined by one blank: the model sees neither speakers nor where a turn ends. It
    says nothing of single turns, each of which gets the value of the conversation.
    """

    def __init__(self, folder: ModelFolder, settings: ReaderSettings, loader: ModelLoader) -> None:
        self._most = min(LONGEST, settings.max_tokens)
        self._reader = PublishedReader(folder, ReaderSettings(max_tokens=self._most), loader)
        self.identity = self._reader.identity
        self._tokenizer = open_tokenizer(folder)

    def read(self, dialogues: Sequence[Dialogue]) -> list[tuple[float, tuple[float, ...]]]:
        """Return the probability that each conversation is coherent, once more for each turn."""
        logits = self._reader.logits([(" ".join(dialogue.texts), "") for dialogue in dialogues])
        values = [float(softmax(row[None])[0, COHERENT]) for row in logits]
        return [
            (value, (value,) * len(dialogue.texts))
            for value, dialogue in zip(values, dialogues, strict=True)
        ]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each turn whether the conversation is cut before the end of it."""
        read, cut = 0, []
        for text in texts:
            read += len(self._tokenizer.encode(f" {text}", add_special_tokens=False).ids)
            cut.append(read > self._most - 2)
        return cut


deam_classifier = model_type(
    "dialogue-classifier",
    task="coherence",
    settings=ReaderSettings,
    convert=convert_dialogue_classifier,
)(DeamClassifier)
