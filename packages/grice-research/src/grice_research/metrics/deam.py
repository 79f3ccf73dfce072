"""DEAM's classifier as it was published: a RoBERTa that reads a whole conversation as one text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from grice.metrics.coherence import DialogueClassifier
from grice.models.loader import Settings, model_type
from grice.models.tokenization import open_tokenizer
from grice.numeric import softmax
from grice_research.published_models.convert import convert_dialogue_classifier
from grice_research.published_models.readers import PublishedReader, ReaderSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.metrics.coherence import Dialogue
    from grice.models.cache import Cache
    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader

COHERENT = 1
LONGEST = 512
"""Pieces that the paper reads; of a longer conversation the end is left out."""


class DeamSettings(Settings, frozen=True):
    """Settings of type ``dialogue-classifier``: how many pieces it reads at once."""

    max_tokens: Annotated[int, msgspec.Meta(ge=3)]


class DeamClassifier:
    """A :class:`~grice.metrics.coherence.DialogueClassifier`, in float32.

    The turns are joined by one blank: the model sees neither speakers nor where a turn ends. It
    says nothing of single turns, each of which gets the value of the conversation.
    """

    def __init__(
        self, folder: ModelFolder, settings: DeamSettings, cache: Cache, *, threads: int
    ) -> None:
        most = min(LONGEST, settings.max_tokens)
        stated = ReaderSettings(max_tokens=most)
        self._reader = PublishedReader(folder, stated, cache, threads=threads)
        self.identity = self._reader.identity
        self._tokenizer = open_tokenizer(folder)
        self._most = most

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


@model_type(
    "dialogue-classifier",
    task="coherence",
    protocol=DialogueClassifier,
    settings=DeamSettings,
    convert=convert_dialogue_classifier,
)
def deam_classifier(
    folder: ModelFolder, settings: DeamSettings, loader: ModelLoader
) -> DeamClassifier:
    """Open a classifier of conversations."""
    return DeamClassifier(folder, settings, loader.cache, threads=loader.workers)
