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
from grice.models.mlp import Mlp, single_threaded
from grice.models.protocols import Pair
from grice.numeric import Array, sigmoid, softmax

NEGATIONS = frozenset(
    ("not", "no", "never", "none", "nothing", "nobody", "neither", "nor", "without", "cannot",
     "hardly")
)  # fmt: skip
MOST = 40  # tokens of a sentence that are read
PORTION = 2000
"""Pairs whose token states are held at once: those of a long conversation would fill the memory."""
PARTS = ("project", "attend", "compare", "decide")
"""The parts of a network, in the order in which they are applied."""
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


class _Layers:
    """A part of every network, applied at once to arrays of shape ``(networks, rows, inputs)``."""

    def __init__(self, parts: Sequence[Mlp]) -> None:
        layers = zip(*(part.layers for part in parts), strict=True)
        self._layers = [
            (np.stack([weight for weight, _ in each]), np.stack([bias[None] for _, bias in each]))
            for each in layers
        ]
        self.outputs = self._layers[-1][0].shape[2]

    def __call__(self, features: Array) -> Array:
        for i, (weight, bias) in enumerate(self._layers):
            features = features @ weight
            features += bias
            if i + 1 < len(self._layers):
                np.maximum(features, 0, out=features)
        return features


class DecomposableAttention:
    """The probability that a sentence contradicts an earlier one."""

    def __init__(
        self, folder: ModelFolder, settings: AttentionSettings, loader: ModelLoader
    ) -> None:
        self._encoder = loader.encoder_of(folder, EmbeddedEncoder)
        self._encoder.holds_states = True  # those of the sentences that are chosen by their vectors
        self._cache, self.truncated = self._encoder.cache, self._encoder.truncated
        self.identity = f"{folder.identity}/{self._encoder.identity}"
        self._project, self._attend, self._compare, self._decide = (
            _Layers([Mlp.load(folder.file(f"{part}-{i}.npz")) for i in range(settings.networks)])
            for part in PARTS
        )
        self._scale = np.sqrt(np.float32(self._attend.outputs))

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
            with single_threaded():
                read = {
                    text: own._replace(states=np.tanh(self._project(own.states)))
                    for text, states in zip(texts, hidden, strict=True)
                    for own in [tokens(text, states)]
                }
                values += [self._probability(read[left], read[right]) for left, right in part]
        return values

    def _probability(self, premise: Tokens, hypothesis: Tokens) -> float:
        if not (premise.words and hypothesis.words):
            return 0.0
        before, after = _flagged(premise, hypothesis), _flagged(hypothesis, premise)
        first, second = (np.maximum(self._attend(side), 0) for side in (before, after))
        alike = second @ first.swapaxes(1, 2)
        alike /= self._scale
        pooled = [
            self._compared(after, softmax(alike) @ before),
            self._compared(before, softmax(np.ascontiguousarray(alike.swapaxes(1, 2))) @ after),
        ]
        odds = self._decide(np.concatenate(pooled, axis=1)[:, None])
        return float(sigmoid(np.array(np.mean(odds, dtype=np.float64), np.float32)))

    def _compared(self, own: Array, other: Array) -> Array:
        a, b = own[..., :-FLAGS], other[..., :-FLAGS]
        both = [a, b, np.abs(a - b), a * b, own[..., -FLAGS:], other[..., -FLAGS:]]
        compared = np.maximum(self._compare(np.concatenate(both, axis=2)), 0)
        return np.concatenate([compared.mean(axis=1), compared.max(axis=1)], axis=1)


def _flagged(own: Tokens, other: Tokens) -> Array:
    """Return the states of a sentence's tokens with the flags of each."""
    shared = frozenset(other.words)
    flags = np.array([[word in shared for word in own.words], own.negates], np.float32).T
    networks = len(own.states)
    return np.concatenate([own.states, np.broadcast_to(flags, (networks, *flags.shape))], axis=2)


decomposable_attention = model_type(
    "decomposable-attention", task="contradiction", settings=AttentionSettings
)(DecomposableAttention)
