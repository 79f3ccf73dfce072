"""How well each turn of a conversation would come right after each other one: two towers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grice.numeric import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float32]
    Layers: TypeAlias = list[tuple[Array, Array]]

BACK = 4
"""Turns of a history that the towers read."""
ORDER = 9
"""How many numbers say how well a turn stands where it stands."""
SHARPNESS = np.float32(8)
"""What cosines of the towers are multiplied by before one is set against the others."""
NEVER = np.float32(-30)


class Towers:
    """How well each turn of a conversation would come right after each other one.

    Args:
        left: Layers that read a history.
        right: Layers that read a turn.
        decay: Weight of a turn in the whole history, relative to the turn after it.
    """

    def __init__(self, left: Layers, right: Layers, decay: float) -> None:
        self.left, self.right, self.decay = left, right, decay

    def fits(self, vectors: Array) -> Array:
        """Return cosines: in row i how each turn fits after turn i and the turns before it.

        Args:
            vectors: Unit vectors of the turns, shape ``(turns, d)``.
        """
        scale = np.float32(np.sqrt(vectors.shape[1]))
        before = np.zeros_like(vectors)
        before[1:] = vectors[:-1]
        whole = vectors.copy()
        for ago in range(1, BACK):
            whole[ago:] += np.float32(self.decay**ago) * vectors[:-ago]
        whole = unit_rows(whole)
        read = np.concatenate([vectors, whole, before], axis=1) * scale
        asked = unit_rows(whole * scale + run_layers(self.left, read))
        answered = unit_rows(vectors * scale + run_layers(self.right, vectors * scale))
        fits: Array = asked @ answered.T
        return fits


def order_features(fits: Array) -> Array:
    """Return how well each turn stands where it stands, shape ``(turns, ORDER)``.

    For a turn after the one before it, and for the one after it: how well it fits, how much better
    than the other turns would there, and than it would elsewhere. Then how well the turns around
    it would fit without it, and it without the turn before it; and how much better it would fit
    after some other turn.

    Args:
        fits: What :meth:`Towers.fits` gives.
    """
    count = len(fits)
    features = np.zeros((count, ORDER), np.float32)
    if count < 2:
        return features
    sharp = fits * SHARPNESS
    others = sharp.copy()
    np.fill_diagonal(others, NEVER)
    usual = np.float32(np.log(count - 1))
    by_turn, by_place = (_log_sum(others, axis) - usual for axis in (1, 0))
    following = np.diagonal(sharp, 1)
    fit, best, fitting = following / 2, following - by_turn[:-1], following - by_place[1:]
    for column, values in enumerate((fit, best / 2, fitting / 2)):
        features[1:, column], features[:-1, 3 + column] = values, values
    if count > 2:
        skipped = (np.diagonal(sharp, 2) - by_turn[:-2]) / 2
        features[1:-1, 6], features[2:, 7] = skipped, skipped
        places = np.arange(count - 1)
        others[places, places + 1] = NEVER
        features[1:, 8] = (others.max(axis=0)[1:] - following) / 2
    return features


def run_layers(layers: Layers, rows: Array) -> Array:
    """Return the outputs of layers with rectifiers between them, a row for each row."""
    *hidden, last = layers
    for weight, bias in hidden:
        rows = np.maximum(rows @ weight + bias, 0)
    outputs: Array = rows @ last[0] + last[1]
    return outputs


def _log_sum(values: Array, axis: int) -> Array:
    highest = values.max(axis=axis, keepdims=True)
    sums: Array = np.log(np.exp(values - highest).sum(axis=axis)) + highest.squeeze(axis)
    return sums
