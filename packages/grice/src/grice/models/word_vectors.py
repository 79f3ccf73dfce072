"""An embedder without word order: the vector of a text is the mean of those of its words.

What ACCENT's test (Ghazarian et al., Findings of ACL 2023, table 6) owes to the embedder of the
tails shows beside one that reads no sentences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grice.models.loader import NoSettings, model_type
from grice.models.protocols import Encoder
from grice.text.tokens import UNICODE_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Vector

WORDS = 256
"""Most words of a text that count, its last ones, as many as the encoder reads tokens."""


class WordVectors:
    """A :class:`~grice.models.protocols.Encoder` that reads each word by itself."""

    def __init__(self, encoder: Encoder) -> None:
        self.identity = f"words({encoder.identity})"
        self._encoder = encoder

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector of half precision per text; zeros for a text without a word."""
        tokenized = [self._words(text) for text in texts]
        distinct = list(dict.fromkeys(word for words in tokenized for word in words))
        vectors = dict(zip(distinct, self._encoder.encode(distinct), strict=True))
        return [self._mean([vectors[word] for word in words]) for words in tokenized]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it has more words than are read."""
        return [len(UNICODE_WORDS.findall(text)) > WORDS for text in texts]

    def _words(self, text: str) -> list[str]:
        return UNICODE_WORDS.findall(text.lower())[-WORDS:]

    def _mean(self, vectors: list[Vector]) -> Vector:
        if not vectors:
            (nothing,) = self._encoder.encode([""])
            return nothing
        total = np.sum(vectors, axis=0)
        unit = total / max(float(np.sqrt((total * total).sum())), 1e-6)
        return np.asarray(unit.astype(np.float16), np.float32)


@model_type("word-encoder", task="word vectors", protocol=Encoder, settings=NoSettings)
def word_encoder(folder: ModelFolder, _: NoSettings, loader: ModelLoader) -> WordVectors:
    """Open the encoder that reads the words."""
    return WordVectors(loader.encoder_of(folder, Encoder))
