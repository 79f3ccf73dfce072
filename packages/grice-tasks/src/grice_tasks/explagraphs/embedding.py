"""Likeness of two facts by token vectors: the matching of BERTScore, with any encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from grice.models.embedded import EmbeddedEncoder

BATCH = 4096


class TokenLikeness:
    """Greedy matching of token vectors, F1, 0 to 1; call it with a predicted and a gold fact."""

    def __init__(self, encoder: EmbeddedEncoder, facts: Iterable[str] = ()) -> None:
        self._encoder = encoder
        self._known: dict[str, NDArray[np.float32]] = {}
        self._encode(list(dict.fromkeys(facts)))

    def __call__(self, predicted: str, gold: str) -> float:
        """Return the likeness of two facts; 0 if one has no word."""
        self._encode([fact for fact in (predicted, gold) if fact not in self._known])
        mine, other = self._known[predicted], self._known[gold]
        if not (len(mine) and len(other)):
            return 0.0
        cosines = mine @ other.T
        precision = max(0.0, float(cosines.max(1).mean()))
        recall = max(0.0, float(cosines.max(0).mean()))
        both = precision + recall
        return min(1.0, 2 * precision * recall / both) if both else 0.0

    def _encode(self, facts: Sequence[str]) -> None:
        for start in range(0, len(facts), BATCH):
            part = facts[start : start + BATCH]
            texts = [fact.replace(";", "") for fact in part]
            for fact, hidden in zip(part, self._encoder.hidden_states(texts), strict=True):
                worded = [i for i, (first, last) in enumerate(hidden.offsets) if last > first]
                states = hidden.states[worded]
                lengths = np.linalg.norm(states, axis=1, keepdims=True)
                self._known[fact] = states / np.maximum(lengths, 1e-12)
