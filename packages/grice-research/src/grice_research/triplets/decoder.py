"""The lower layers of a language model of Llama's shape, in numpy, read by an encoder's tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from tokenizers import Tokenizer

from grice.errors import BundleError
from grice.models.blas import single_threaded
from grice.models.embedded import Hidden
from grice_research.triplets.layers import MOST

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Encoding

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["Decoder"]

FAR = 6.0
"""Standard deviations that no number of a state is farther from the middle: of a language model a
few are a thousand times as large as all others, and mean nothing."""
LAYER = ("query", "key", "value", "seen", "gate", "wide", "narrow", "before", "between")


class Decoder:
    """A callable that gives states of the words of texts, each having read what stands before it.

    A text is parted into the tokens of an encoder, so that several models can be asked about the
    same tokens; each takes the mean state of the language model's own pieces that it shares letters
    with. States are standardised. A text longer than 512 tokens keeps its beginning.

    Args:
        folder: Has ``lower.npz``: ``words``; of each layer, behind ``0_``, ``1_`` and so on, the
            matrices ``query``, ``key``, ``value``, ``seen`` (behind attention), ``gate``, ``wide``
            and ``narrow``, and the scales ``before`` (attention) and ``between``; ``turns``, by how
            much each pair of a head's numbers turns a token; ``tiny``, added to a mean of squares;
            ``centre`` and ``spread`` of states. ``pieces.json`` is the tokenizer of the language
            model, ``tokenizer.json`` the encoder's.

    Raises:
        BundleError: If arrays are missing.
    """

    def __init__(self, folder: Path) -> None:
        with np.load(folder / "lower.npz", allow_pickle=False) as arrays:
            self._weights = {name: arrays[name].astype(np.float32) for name in arrays.files}
        self._layers = sum(name.endswith("_query") for name in self._weights)
        needed = {"words", "turns", "tiny", "centre", "spread"}
        needed |= {f"{number}_{name}" for number in range(self._layers) for name in LAYER}
        missing = needed - set(self._weights)
        if missing:
            raise BundleError(f"{folder / 'lower.npz'}: there is no array {min(missing)!r}")
        self._tokens, self._pieces = (
            Tokenizer.from_file(str(folder / name)) for name in ("tokenizer.json", "pieces.json")
        )
        for layers in (self._tokens, self._pieces):
            layers.no_padding()
            layers.no_truncation()

    def __call__(self, texts: Sequence[str]) -> list[Hidden]:
        """Return the states of each text's tokens, the marks around it among them."""
        return [self._hidden(text, self._tokens.encode(text)) for text in texts]

    def _hidden(self, text: str, tokens: Encoding) -> Hidden:
        offsets = list(tokens.offsets[:MOST])
        end = max((end for _, end in offsets), default=0)
        pieces = self._pieces.encode(text[:end], add_special_tokens=False)
        if not pieces.ids:
            return Hidden(
                np.zeros((len(offsets), len(self._weights["centre"])), np.float32), offsets
            )
        with single_threaded():
            states = self._read(pieces.ids)
            of_tokens = _shared(offsets, pieces.offsets) @ states
        of_tokens[0], of_tokens[len(offsets) - 1] = states[0], states[-1]
        scaled = (of_tokens - self._weights["centre"]) / self._weights["spread"]
        return Hidden(np.clip(scaled, -FAR, FAR).astype(np.float32), offsets)

    def _read(self, ids: Sequence[int]) -> Array:
        """Return the states behind the last layer, ``(pieces, dimensions)``."""
        w = self._weights
        angles = np.arange(len(ids))[:, None] * np.concatenate([w["turns"]] * 2)
        turned = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        unseen = np.triu(np.full((len(ids), len(ids)), -np.inf, np.float32), 1)
        states = w["words"][list(ids)]
        for number in range(self._layers):
            query, key, value, seen, gate, wide, narrow, before, between = (
                w[f"{number}_{name}"] for name in LAYER
            )
            read = self._scaled(states, before)
            states = (
                states + _attention(read @ query, read @ key, read @ value, turned, unseen) @ seen
            )
            read = self._scaled(states, between)
            opened = read @ gate
            # Far below zero the gate is shut: the exponential need not be exact there.
            opened /= 1 + np.exp(-np.maximum(opened, -80))
            states = states + (opened * (read @ wide)) @ narrow
        return np.asarray(states, np.float32)

    def _scaled(self, states: Array, scale: Array) -> Array:
        size = np.sqrt((states * states).mean(axis=1, keepdims=True) + self._weights["tiny"])
        return np.asarray(states / size * scale, np.float32)


def _attention(
    query: Array, key: Array, value: Array, turned: tuple[Array, Array], unseen: Array
) -> Array:
    """Return what pieces see, of the shape of ``query``; several of its heads share a key."""
    cos, sin = turned
    size = cos.shape[1]

    def split(part: Array) -> Array:
        return np.asarray(part.reshape(len(part), -1, size).transpose(1, 0, 2))

    def rotated(part: Array) -> Array:
        first, second = np.split(part, 2, axis=2)
        return np.asarray(part * cos + np.concatenate([-second, first], axis=2) * sin)

    queries, keys, values = rotated(split(query)), rotated(split(key)), split(value)
    shared = len(queries) // len(keys)
    keys, values = (np.repeat(part, shared, axis=0) for part in (keys, values))
    scores = queries @ keys.transpose(0, 2, 1) / np.float32(size**0.5) + unseen
    scores = np.exp(scores - scores.max(axis=2, keepdims=True))
    scores /= scores.sum(axis=2, keepdims=True)
    return np.asarray((scores @ values).transpose(1, 0, 2).reshape(query.shape))


def _shared(tokens: Sequence[tuple[int, int]], pieces: Sequence[tuple[int, int]]) -> Array:
    """Return what each piece counts in the mean of each token, ``(tokens, pieces)``."""
    starts, ends = np.array(tokens).reshape(-1, 2).T
    first, last = np.array(pieces).reshape(-1, 2).T
    common = (first < ends[:, None]) & (last > starts[:, None]) & (ends > starts)[:, None]
    return np.asarray(common / np.maximum(common.sum(axis=1, keepdims=True), 1), np.float32)
