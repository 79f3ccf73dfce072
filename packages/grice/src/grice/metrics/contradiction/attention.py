"""Does one sentence contradict another? Decomposable attention over the states of an encoder.

Parikh et al. (EMNLP 2016): every token of a sentence is compared with what stands for it in the
other, and the comparisons are pooled. Here the tokens are the states of a sentence encoder, pooled
by mean and maximum, and each token is told whether it stands in the other sentence, too, and
whether it negates.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import numpy as np

from grice.models.cache import Cache, CachedEncoder
from grice.models.loader import Settings, model_type
from grice.models.mlp import Mlp
from grice.models.protocols import PairClassifier
from grice.numeric import sigmoid, softmax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice.models.embedded import Hidden
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Pair

    Array = NDArray[np.float32]


NEGATIONS = frozenset(
    ("not", "no", "never", "none", "nothing", "nobody", "neither", "nor", "without", "cannot",
     "hardly")
)  # fmt: skip
MOST = 40
"""Tokens of a sentence that are read."""
PORTION = 2000
"""Pairs whose token states are held at once: those of a long conversation would fill the memory."""
FLAGS = 2
"""Of a token, beside its state: whether it stands in the other sentence; whether it negates."""


class AttentionSettings(Settings, frozen=True):
    """Of a bundle of kind ``decomposable-attention``: how many networks are averaged."""

    networks: Annotated[int, msgspec.Meta(ge=1)]


class Tokens(NamedTuple):
    """The tokens of a sentence.

    Attributes:
        states: Shape ``(tokens, dimensions)``.
        words: What each covers, in lower case.
        negates: Whether it is a negation, 0 or 1.
    """

    states: Array
    words: list[str]
    negates: Array


def tokens(text: str, hidden: Hidden) -> Tokens:
    """Return the first tokens of a sentence that stand for text."""
    inner = [i for i, (start, end) in enumerate(hidden.offsets) if end > start][:MOST]
    low = text.lower()
    places = [hidden.offsets[i] for i in inner]
    negates = [
        low[start:end] in NEGATIONS
        or (low[start:end] == "t" and low[start - 1 : start] in ("'", "’"))
        for start, end in places
    ]
    words = [low[start:end] for start, end in places]
    return Tokens(hidden.states[inner], words, np.array(negates, np.float32))


class _Network(NamedTuple):
    """The parts of one network, in the order in which they are applied."""

    project: Mlp
    attend: Mlp
    compare: Mlp
    decide: Mlp

    def log_odds(self, premise: Tokens, hypothesis: Tokens) -> float:
        before = self._projected(premise, hypothesis)
        after = self._projected(hypothesis, premise)
        alike = self._attended(after) @ self._attended(before).T
        alike /= np.sqrt(np.float32(self.attend.layers[-1][0].shape[1]))
        pooled = [
            self._compared(after, softmax(alike) @ before),
            self._compared(before, softmax(np.ascontiguousarray(alike.T)) @ after),
        ]
        return float(self.decide.together(np.concatenate(pooled)[None])[0, 0])

    def _projected(self, own: Tokens, other: Tokens) -> Array:
        shared = frozenset(other.words)
        flags = np.array([word in shared for word in own.words], np.float32)
        states = np.tanh(self.project.together(own.states))
        return np.column_stack([states, flags, own.negates])

    def _attended(self, own: Array) -> Array:
        return np.maximum(self.attend.together(own), 0)

    def _compared(self, own: Array, other: Array) -> Array:
        a, b = own[:, :-FLAGS], other[:, :-FLAGS]
        both = [a, b, np.abs(a - b), a * b, own[:, -FLAGS:], other[:, -FLAGS:]]
        compared = np.maximum(self.compare.together(np.concatenate(both, axis=1)), 0)
        return np.concatenate([compared.mean(axis=0), compared.max(axis=0)])


class DecomposableAttention:
    """The probability that a sentence contradicts what was said before."""

    def __init__(
        self, bundle: Bundle, settings: AttentionSettings, encoder: CachedEncoder, cache: Cache
    ) -> None:
        self.identity = f"{bundle.identity}/{encoder.identity}"
        self._encoder = encoder
        self._cache = cache
        self._networks = [
            _Network(*(Mlp.load(bundle.path(f"{part}-{i}.npz")) for part in _Network._fields))
            for i in range(settings.networks)
        ]

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability that the right side contradicts the left, 0 to 1."""
        items = [(" ".join(pair.left), pair.right) for pair in pairs]
        values = self._cache.cached_arrays(self.identity, items, self._computed, np.float32)
        return [value.item() for value in values]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long for the encoder."""
        return self._encoder.truncated(texts)

    def _computed(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        parts = (pairs[start : start + PORTION] for start in range(0, len(pairs), PORTION))
        return list(chain.from_iterable(map(self._portion, parts)))

    def _portion(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        texts = list(dict.fromkeys(chain.from_iterable(pairs)))
        read = {
            text: tokens(text, hidden)
            for text, hidden in zip(texts, self._encoder.hidden(texts), strict=True)
        }
        return [self._probability(read[left], read[right]) for left, right in pairs]

    def _probability(self, premise: Tokens, hypothesis: Tokens) -> float:
        if not (premise.words and hypothesis.words):
            return 0.0
        odds = [network.log_odds(premise, hypothesis) for network in self._networks]
        return float(sigmoid(np.array(np.mean(odds), np.float32)))


@model_type(
    "decomposable-attention",
    task="contradiction",
    protocol=PairClassifier,
    settings=AttentionSettings,
)
def decomposable_attention(
    bundle: Bundle, settings: AttentionSettings, loader: ModelLoader
) -> DecomposableAttention:
    """Open the networks and the encoder they stand on."""
    encoder = loader.encoder_of(bundle, CachedEncoder)
    return DecomposableAttention(bundle, settings, encoder, loader.cache)
