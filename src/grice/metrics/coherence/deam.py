"""DEAM's classifier as it was published: a RoBERTa that reads a whole conversation as one text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import ctranslate2
import msgspec
import numpy as np

from grice.metrics.coherence.protocol import DialogueClassifier
from grice.numeric import softmax
from grice.runtime.batching import run_batches
from grice.runtime.memo import remember
from grice.runtime.registry import Settings, model_kind
from grice.runtime.store.published import convert_classifier
from grice.runtime.tokenization import beginning, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.metrics.coherence.protocol import Dialogue
    from grice.runtime.bundle import Bundle
    from grice.runtime.memo import Memo
    from grice.runtime.registry import Opener

COHERENT = 1
LONGEST = 512
"""Pieces that the paper reads; of a longer conversation the end is left out."""


class DeamSettings(Settings, frozen=True):
    """Of a bundle of kind ``dialogue-classifier``: how many pieces it reads at once."""

    max_tokens: Annotated[int, msgspec.Meta(ge=3)]


class DeamClassifier:
    """A :class:`~grice.metrics.coherence.protocol.DialogueClassifier`, in float32.

    The turns are joined by one blank: the model sees neither speakers nor where a turn ends. It
    says nothing of single turns, each of which gets the value of the conversation.

    Args:
        bundle: The opened bundle.
        settings: What its card states.
        memo: What was read before.
        threads: How many conversations are read at the same time.
    """

    def __init__(self, bundle: Bundle, settings: DeamSettings, memo: Memo, *, threads: int) -> None:
        self.identity = f"{bundle.identity}/float32/ct2-{ctranslate2.__version__}"
        self._tokenizer = open_tokenizer(bundle)
        self._most = min(LONGEST, settings.max_tokens)
        self._memo = memo
        self._threads = threads
        with np.load(bundle.path("head.npz"), allow_pickle=False) as arrays:
            self._head = {name: arrays[name] for name in ("dense", "dense_bias", "out", "out_bias")}
        self._engine = ctranslate2.Encoder(
            str(bundle.folder),
            device="cpu",
            compute_type="float32",
            inter_threads=threads,
            intra_threads=1,
        )

    def read(self, dialogues: Sequence[Dialogue]) -> list[tuple[float, tuple[float, ...]]]:
        """Return the probability that each conversation is coherent, once more for each turn."""
        values = remember(
            self._memo,
            self.identity,
            [" ".join(dialogue.texts) for dialogue in dialogues],
            self._computed,
            msgspec.json.encode,
            msgspec.json.Decoder(float).decode,
        )
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

    def _computed(self, texts: Sequence[str]) -> list[float]:
        values = [0.0] * len(texts)

        def compute(batch: list[int]) -> None:
            for i in batch:
                values[i] = self._probability(texts[i])

        run_batches(compute, [[i] for i in range(len(texts))], self._threads)
        return values

    def _probability(self, text: str) -> float:
        ids = self._tokenizer.encode(beginning(text, self._most)).ids
        if len(ids) > self._most:
            ids = [*ids[: self._most - 1], ids[-1]]
        given = ctranslate2.StorageView.from_array(np.array([ids], np.int32))
        lengths = ctranslate2.StorageView.from_array(np.array([len(ids)], np.int32))
        first = np.asarray(self._engine.forward_batch(given, lengths).last_hidden_state)[0, 0]
        hidden = np.tanh(self._head["dense"] @ first + self._head["dense_bias"])
        logits = self._head["out"] @ hidden + self._head["out_bias"]
        return float(softmax(logits[None].astype(np.float32))[0, COHERENT])


@model_kind(
    "dialogue-classifier",
    answers="coherence",
    protocol=DialogueClassifier,
    settings=DeamSettings,
    convert=convert_classifier,
)
def deam_classifier(bundle: Bundle, settings: DeamSettings, opener: Opener) -> DeamClassifier:
    """Open a classifier of conversations."""
    return DeamClassifier(bundle, settings, opener.memo, threads=opener.workers)
