"""Layers of an encoder in numpy: BERT's, and MPNet's, which CTranslate2 has no converter for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from tokenizers import Tokenizer

from grice.errors import BundleError
from grice.models.blas import single_threaded
from grice.models.embedded import Hidden

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["MOST", "Layer", "Tower"]

HEADS = 12
"""Heads of attention of a layer."""
TINY = 1e-12
"""What BERT adds to a variance; another model's arrays say what theirs adds."""
MOST = 512
"""Most tokens of a text."""


class Layer:
    """One layer, on the states of one text.

    Args:
        weights: Arrays ``query``, ``key``, ``value``, ``seen`` (behind attention), ``wide`` and
            ``narrow``, each with ``_weight`` and ``_bias``; ``_scale`` and ``_shift`` of ``seen``
            and ``narrow``. Where there is ``near``, shape ``(2 * most tokens - 1, heads)``, it is
            added to attention by how far behind a token another stands; where there is ``tiny``,
            to a variance.
        prefix: What the names of this layer's arrays begin with; not of ``near`` and ``tiny``.
    """

    def __init__(self, weights: Mapping[str, Array], prefix: str = "") -> None:
        self._weights, self._prefix = weights, prefix
        self._tiny = np.float32(weights.get("tiny", np.float32(TINY)))

    def __call__(self, states: Array) -> Array:
        """Return the states behind the layer, of the same shape ``(tokens, dimensions)``."""
        size = states.shape[1] // HEADS

        def split(name: str) -> Array:
            projected = self._linear(states, name).reshape(len(states), HEADS, size)
            return np.asarray(projected.transpose(1, 0, 2))

        query, key, value = split("query"), split("key"), split("value")
        scores = query @ key.transpose(0, 2, 1) / np.float32(size**0.5)
        if "near" in self._weights:
            scores += _near(self._weights["near"], len(states))
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        scores /= scores.sum(axis=2, keepdims=True)
        seen = (scores @ value).transpose(1, 0, 2).reshape(states.shape)
        states = self._normal(states + self._linear(seen, "seen"), "seen")
        wide = _gelu(self._linear(states, "wide"))
        return self._normal(states + self._linear(wide, "narrow"), "narrow")

    def _linear(self, values: Array, name: str) -> Array:
        w, name = self._weights, self._prefix + name
        return np.asarray(values @ w[f"{name}_weight"] + w[f"{name}_bias"])

    def _normal(self, states: Array, name: str) -> Array:
        return _normal(states, self._weights, self._prefix + name, self._tiny)


class Tower:
    """Embeddings and lower layers of an encoder: a callable that gives the states of texts.

    A text longer than 512 tokens keeps its beginning.

    Args:
        folder: Has ``lower.npz``, with ``words``, ``places`` (of the first token, and so on),
            ``first_scale``, ``first_shift``, the arrays of layers as :class:`Layer` names them
            behind ``0_``, ``1_`` and so on, and ``reads``: behind how many layers the states are
            taken that are put side by side; and ``tokenizer.json``.

    Raises:
        BundleError: If arrays or layers are missing.
    """

    def __init__(self, folder: Path) -> None:
        with np.load(folder / "lower.npz", allow_pickle=False) as arrays:
            self._weights = {name: arrays[name].astype(np.float32) for name in arrays.files}
        needed = {"words", "places", "first_scale", "first_shift", "reads"}
        missing = needed - set(self._weights)
        if missing:
            raise BundleError(f"{folder / 'lower.npz'}: there is no array {min(missing)!r}")
        count = sum(name.endswith("_query_weight") for name in self._weights)
        self._reads = {int(layer) for layer in self._weights["reads"]}
        if not self._reads <= set(range(1, count + 1)):
            raise BundleError(f"{folder / 'lower.npz'}: states behind layers that are not there")
        self._layers = [Layer(self._weights, f"{number}_") for number in range(count)]
        self._tiny = np.float32(self._weights.get("tiny", np.float32(TINY)))
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def __call__(self, texts: Sequence[str]) -> list[Hidden]:
        """Return the states of each text's tokens, the marks around it among them."""
        outputs = []
        for read in self._tokenizer.encode_batch(list(texts)):
            ids = read.ids[:MOST]
            with single_threaded():
                states = self._weights["words"][ids] + self._weights["places"][: len(ids)]
                states = _normal(states, self._weights, "first", self._tiny)
                inputs = []
                for number, layer in enumerate(self._layers, 1):
                    states = layer(states)
                    if number in self._reads:
                        inputs.append(states)
            outputs.append(Hidden(np.concatenate(inputs, axis=1), list(read.offsets[:MOST])))
        return outputs


def _normal(states: Array, weights: Mapping[str, Array], name: str, tiny: np.float32) -> Array:
    centred = states - states.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + tiny)
    scaled = centred / spread * weights[f"{name}_scale"] + weights[f"{name}_shift"]
    return np.asarray(scaled, np.float32)


def _near(table: Array, tokens: int) -> Array:
    """Return what is added to attention, ``(heads, tokens, tokens)``."""
    at = np.arange(tokens)
    return np.asarray(table[at - at[:, None] + len(table) // 2].transpose(2, 0, 1))


def _gelu(values: Array) -> Array:
    """Return each value times the share of a normal distribution below it.

    The error function is approximated to 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26).
    """
    size = np.abs(values) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.zeros_like(t)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + np.float32(factor)) * t
    erf = np.sign(values) * (1 - series * np.exp(-size * size))
    return np.asarray(values * np.float32(0.5) * (1 + erf), np.float32)
