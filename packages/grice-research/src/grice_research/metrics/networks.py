"""RUBER's unreferenced score and predictive engagement, as they were published.

A frozen BERT reads query and reply, each by itself; the pooled vectors go through a small network.
Of the history only the last turn is read, as in both papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from grice.models.folder import ModelFolder
from grice.models.loader import ModelLoader, model_type
from grice.models.protocols import Pair
from grice.models.reply_head import Explained
from grice.numeric import sigmoid
from grice_research.published_models.convert import convert_engagement, convert_ruber
from grice_research.published_models.readers import PublishedReader, ReaderSettings

BALANCED = 0.5  # answer without a query or a reply


class NetworkSettings(ReaderSettings, frozen=True):
    """Of a model with a network on two vectors."""

    pooling: Literal["max", "mean"] = "mean"  # of the states of tokens to one vector


class ReplyNetwork:
    """A :class:`~grice.models.protocols.PairClassifier`, and the judge of ``engagement``."""

    def __init__(self, folder: ModelFolder, settings: NetworkSettings, loader: ModelLoader) -> None:
        self._reader = PublishedReader(folder, settings, loader)
        self.identity = self._reader.identity
        self._pool = np.max if settings.pooling == "max" else np.mean
        self._cache = loader.cache
        head = self._reader.head
        self._matrix = head.get("matrix")
        count = sum(name.startswith("weight_") for name in head)
        self._layers = [(head[f"weight_{i}"], head[f"bias_{i}"]) for i in range(count)]

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return for each pair the probability of the positive class, 0 to 1."""
        keys = []
        for pair in pairs:
            said = [segment for segment in pair.left if segment.strip()]
            keys.append(msgspec.json.encode((said[-1] if said else "", pair.right)).decode())
        return self._cache.cached(f"{self.identity}/pairs", keys, self._computed, float)

    def explain(self, pairs: Sequence[Pair]) -> list[Explained]:
        """Return the same without parts, as the network reads no named features."""
        return [Explained(value, ()) for value in self.classify(pairs)]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether its end is left out."""
        return self._reader.truncated(texts)

    def _computed(self, keys: Sequence[str]) -> list[float]:
        pairs = [msgspec.json.decode(key, type=tuple[str, str]) for key in keys]
        texts = dict.fromkeys(text for pair in pairs for text in pair if text.strip())
        vectors = {text: self._pool(self._reader.read(text)[0], axis=0) for text in texts}
        return [
            self._probability(vectors[query], vectors[reply])
            if query in vectors and reply in vectors
            else BALANCED
            for query, reply in pairs
        ]

    def _probability(self, query: np.ndarray, reply: np.ndarray) -> float:
        if self._matrix is None:
            read = (query + reply) / 2
        else:
            quadratic = np.array([(query @ self._matrix) @ reply], np.float32)
            read = np.concatenate([query, quadratic, reply])
        for weight, bias in self._layers[:-1]:
            read = np.tanh(weight @ read + bias)
        weight, bias = self._layers[-1]
        numbers = weight @ read + bias
        odds = numbers[0] if len(numbers) == 1 else numbers[1] - numbers[0]
        return float(sigmoid(np.array([odds], np.float32))[0])


ruber_network = model_type(
    "ruber-network", task="relevance", settings=NetworkSettings, convert=convert_ruber
)(ReplyNetwork)
engagement_network = model_type(
    "engagement-network", task="engagement", settings=NetworkSettings, convert=convert_engagement
)(ReplyNetwork)
