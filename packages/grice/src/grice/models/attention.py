"""Contradiction of two sentences, by decomposable attention (Parikh et al., EMNLP 2016).

Every token of a sentence is compared with its soft alignment in the other one, and the comparisons
are pooled by mean and maximum. Tokens are hidden states of a sentence encoder, each with two flags:
whether it occurs in the other sentence, too, and whether it is a negation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
import numpy as np

from grice.models.embedded import EmbeddedEncoder, HiddenStates
from grice.models.folder import ModelFolder
from grice.models.loader import ModelLoader, Settings, model_type
from grice.models.mlp import Mlp
from grice.models.protocols import Pair
from grice.numeric import Array, sigmoid, softmax

NEGATIONS = frozenset(
    ("not", "no", "never", "none", "nothing", "nobody", "neither", "nor", "without", "cannot",
     "hardly")
)  # fmt: skip
MOST = 40  # tokens of a sentence that are read
PORTION = 2000
"""Pairs whose token states are held at once: those of a long conversation would fill the memory."""
FLAGS = 2  # flags of a token: it occurs in the other sentence; it is a negation


class AttentionSettings(Settings, frozen=True):
    """Settings of a model of type ``decomposable-attention``: the number of its networks."""

    networks: Annotated[int, msgspec.Meta(ge=1)]


class Tokens(NamedTuple):
    """The tokens of a sentence."""

    states: Array  # shape ``(tokens, dimensions)``
    words: list[str]  # text of each in lower case
    negates: Array  # whether it is a negation, 0 or 1


def tokens(text: str, hidden: HiddenStates) -> Tokens:
    """Return the first tokens of a sentence that stand for text."""
    inner = [i for i, (start, end) in enumerate(hidden.offsets) if end > start][:MOST]
    low = text.lower()
    places = [hidden.offsets[i] for i in inner]
    words = [low[start:end] for start, end in places]
    negates = [
        word in NEGATIONS or (word == "t" and low[start - 1 : start] in ("'", "’"))
        for word, (start, _) in zip(words, places, strict=True)
    ]
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
        return float(self.decide.forward_joint(np.concatenate(pooled)[None])[0, 0])

    def _projected(self, own: Tokens, other: Tokens) -> Array:
        shared = frozenset(other.words)
        flags = np.array([word in shared for word in own.words], np.float32)
        states = np.tanh(self.project.forward_joint(own.states))
        return np.column_stack([states, flags, own.negates])

    def _attended(self, own: Array) -> Array:
        return np.maximum(self.attend.forward_joint(own), 0)

    def _compared(self, own: Array, other: Array) -> Array:
        a, b = own[:, :-FLAGS], other[:, :-FLAGS]
        both = [a, b, np.abs(a - b), a * b, own[:, -FLAGS:], other[:, -FLAGS:]]
        compared = np.maximum(self.compare.forward_joint(np.concatenate(both, axis=1)), 0)
        return np.concatenate([compared.mean(axis=0), compared.max(axis=0)])


class DecomposableAttention:
    """The probability that a sentence contradicts an earlier one."""

    def __init__(
        self, folder: ModelFolder, settings: AttentionSettings, loader: ModelLoader
    ) -> None:
        self._encoder = loader.encoder_of(folder, EmbeddedEncoder)
        self._cache, self.truncated = self._encoder.cache, self._encoder.truncated
        self.identity = f"{folder.identity}/{self._encoder.identity}"
        self._networks = [
            _Network(*(Mlp.load(folder.file(f"{part}-{i}.npz")) for part in _Network._fields))
            for i in range(settings.networks)
        ]

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability that the right side contradicts the left, 0 to 1."""
        items = [(" ".join(pair.left), pair.right) for pair in pairs]
        values = self._cache.cached_arrays(self.identity, items, self._computed, np.float32)
        return [value.item() for value in values]

    def _computed(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        values: list[float] = []
        for start in range(0, len(pairs), PORTION):
            part = pairs[start : start + PORTION]
            texts = list(dict.fromkeys(text for pair in part for text in pair))
            hidden = self._encoder.hidden_states(texts)
            read = {text: tokens(text, own) for text, own in zip(texts, hidden, strict=True)}
            values += [self._probability(read[left], read[right]) for left, right in part]
        return values

    def _probability(self, premise: Tokens, hypothesis: Tokens) -> float:
        if not (premise.words and hypothesis.words):
            return 0.0
        odds = [network.log_odds(premise, hypothesis) for network in self._networks]
        return float(sigmoid(np.array(np.mean(odds), np.float32)))


decomposable_attention = model_type(
    "decomposable-attention", task="contradiction", settings=AttentionSettings
)(DecomposableAttention)
