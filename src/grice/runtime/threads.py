"""How well each turn of a conversation carries its thread on: a small network on turn vectors.

Every turn is encoded by itself, so a conversation of hundreds of turns costs one encoding a turn,
and one more turn costs one more. The network reads a turn beside the turn before it, what its
speaker said last and all that was said; the conversation is judged from its turns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grice.errors import BundleError
from grice.runtime.heads import Mlp, sigmoid
from grice.runtime.protocols import Thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.runtime.bundle import Bundle
    from grice.runtime.protocols import Encoder

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["NUMBERS", "ThreadHead", "pooled", "thread_features"]

DECAY = 0.7
"""Weight of a turn in all that was said, relative to the turn after it."""
LOWEST = 0.25
"""Share of the turns that stand for the worst of a conversation, at least one."""
NUMBERS = 11
"""How many plain numbers the network reads beside the vectors."""


def thread_features(vectors: Array, speakers: Sequence[str | int], texts: Sequence[str]) -> Array:
    """Return what the network reads of each turn, shape ``(turns, 5 * d + NUMBERS)``.

    The blocks are the turn, the turn before it, and the products of the turn with the turn before
    it, with what its speaker said last and with all that was said. Then cosines, of the turn with
    these and with the nearest of the speaker's and of the others' earlier turns, lengths, and
    whether it and the turn before it ask. What is not there is zero.

    Args:
        vectors: Unit vectors of the turns, shape ``(turns, d)``.
        speakers: Who says each turn.
        texts: What is said.
    """
    count, dimensions = vectors.shape
    scale = np.float32(np.sqrt(dimensions))
    before = np.zeros_like(vectors)
    before[1:] = vectors[:-1]
    own, whole = np.zeros_like(vectors), np.zeros_like(vectors)
    nearest = np.zeros((count, 2), np.float32)
    cosines = vectors @ vectors.T
    sum_so_far = np.zeros(dimensions, np.float32)
    last: dict[str | int, int] = {}
    for i, speaker in enumerate(speakers):
        if speaker in last:
            own[i] = vectors[last[speaker]]
        norm = float(np.sqrt(sum_so_far @ sum_so_far))
        whole[i] = sum_so_far / np.float32(norm) if norm > 0 else sum_so_far
        same = np.array([other == speaker for other in speakers[:i]], bool)
        for side, chosen in enumerate((same, ~same)):
            if chosen.any():
                nearest[i, side] = cosines[i, :i][chosen].max()
        last[speaker] = i
        sum_so_far = np.float32(DECAY) * sum_so_far + vectors[i]
    lengths = np.log1p(np.array([len(text.split()) for text in texts], np.float32)) / 3
    asks = np.array(["?" in text for text in texts], np.float32)
    numbers = (
        (vectors * before).sum(axis=1) * 4,
        (vectors * own).sum(axis=1) * 4,
        (vectors * whole).sum(axis=1) * 4,
        nearest[:, 0] * 4,
        nearest[:, 1] * 4,
        (before * own).sum(axis=1) * 4,
        lengths,
        np.concatenate([[0], lengths[:-1]]),
        asks,
        np.concatenate([[0], asks[:-1]]),
        np.log1p(np.arange(count, dtype=np.float32)) / 3,
    )
    blocks = (
        vectors * scale,
        before * scale,
        vectors * before * scale**2,
        vectors * own * scale**2,
        vectors * whole * scale**2,
        np.stack(numbers, axis=1),
    )
    return np.concatenate(blocks, axis=1, dtype=np.float32)


def pooled(outputs: Array) -> Array:
    """Return the mean of each output over the turns, and that of its lowest quarter."""
    count = max(1, int(LOWEST * len(outputs)))
    lowest = np.sort(outputs, axis=0)[:count]
    return np.concatenate([outputs.mean(axis=0), lowest.mean(axis=0)])


class ThreadHead:
    """How well the turns of a conversation, and the whole of it, carry its thread on.

    Args:
        bundle: The opened bundle: ``head.npz`` with two outputs a turn, whether it was broken and
            whether people would call it good; ``weights`` and ``bias`` of its settings make the
            conversation's logit of their :func:`pooled` values.
        encoder: The encoder the network was fitted on.
    """

    def __init__(self, bundle: Bundle, encoder: Encoder) -> None:
        self.identity = f"{bundle.card.name}@{bundle.digest}+{encoder.identity}"
        self._encoder = encoder
        self._head = Mlp.load(bundle.folder / "head.npz")
        settings = bundle.card.settings
        weights = settings.get("weights")
        if not isinstance(weights, list) or len(weights) != 4:
            raise BundleError(f"{bundle.folder}: settings.weights must be four numbers")
        self._weights = np.array(weights, np.float32)
        self._bias = np.float32(float(str(settings.get("bias", 0.0))))

    def read(self, threads: Sequence[Thread]) -> list[tuple[float, tuple[float, ...]]]:
        """Return for each conversation its value and, turn by turn, how well it carries on.

        Both are 0 to 1, higher is better; that of a turn is the probability that it was not put
        there or changed on purpose.
        """
        texts = [text for thread in threads for text in thread.texts]
        vectors = iter(self._encoder.encode(texts))
        found: list[tuple[float, tuple[float, ...]]] = []
        for thread in threads:
            if not thread.texts:
                found.append((0.5, ()))
                continue
            matrix = np.stack([next(vectors) for _ in thread.texts])
            outputs = self._head(thread_features(matrix, thread.speakers, thread.texts))
            logit = pooled(outputs) @ self._weights + self._bias
            turns = sigmoid(outputs[:, 0])
            found.append((float(sigmoid(logit)), tuple(map(float, turns))))
        return found

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        return self._encoder.truncated(texts)
