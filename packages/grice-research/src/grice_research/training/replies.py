"""Fitting the head of a :class:`~grice.models.reply_head.ReplyHead`.

Log odds of a reply being of the positive class, linear in countable features and in frozen
vectors. Labels of several sources can be fitted together: each keeps a level of its own, and all
weigh the same, so that a source with mild raters does not teach its topic as a merit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grice.files import make_folder, replacing
from grice.models.folder import CardValue, check_folder, write_card
from grice.models.mlp import Mlp
from grice.models.protocols import Encoder, Pair, PairClassifier
from grice.models.reply_head import (
    BLOCKS,
    Scale,
    block_sizes,
    last_utterance,
    part_names,
    reply_features,
    reply_scalars,
)
from grice_research.training.logistic import Linear, balanced, fit_logistic

Array = NDArray[np.float32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FOLDS = 5


class Readings(NamedTuple):
    """Input of the head for some replies."""

    scalars: Floats
    last: Array
    reply: Array

    def at(self, rows: NDArray[np.generic]) -> Readings:
        """Return those of some rows."""
        return Readings(self.scalars[rows], self.last[rows], self.reply[rows])


class Penalty(NamedTuple):
    """Penalty on the coefficients of the scalars and on those of the vectors."""

    scalars: float = 1e-4
    vectors: float = 0.03


GRID = tuple(
    Penalty(scalars, vectors) for scalars in (0.01, 0.1, 1.0) for vectors in (0.1, 1.0, 100.0)
)


class Head(NamedTuple):
    """A fitted head."""

    linear: Linear
    scale: Scale
    average: tuple[float, ...]

    def __call__(self, readings: Readings) -> Floats:
        """Return the log odds, shape ``(n,)``."""
        return self.linear(_features(readings, self.scale))

    def save(self, folder: Path) -> dict[str, list[float]]:
        """Write ``head.npz`` and return the settings that the card must state."""
        weights = self.linear.weights.astype(np.float32)[:, None]
        with replacing(folder / "head.npz") as temporary:
            Mlp([(weights, np.array([self.linear.bias], np.float32))]).save(temporary)
        return {
            "centre": [round(value, 6) for value in self.scale.centre],
            "spread": [round(value, 6) for value in self.scale.spread],
            "average": [round(value, 6) for value in self.average],
        }


def read_replies(
    pairs: Sequence[Pair], encoder: Encoder, base: PairClassifier | None = None
) -> Readings:
    """Return what the head reads of pairs with words on both sides."""
    texts = list(
        dict.fromkeys(text for pair in pairs for text in (last_utterance(pair), pair.right))
    )
    vectors = dict(zip(texts, encoder.encode(texts), strict=True))
    last = np.stack([vectors[last_utterance(pair)] for pair in pairs])
    reply = np.stack([vectors[pair.right] for pair in pairs])
    base_scores = None if base is None else base.classify(pairs)
    return Readings(reply_scalars(pairs, last, reply, base_scores), last, reply)


def fit_head(
    readings: Readings, labels: Floats, penalty: Penalty, *, sources: Integers | None = None
) -> Head:
    """Return the head of least cross entropy, both classes and all sources weighed alike."""
    number = np.zeros(len(labels), np.int64) if sources is None else sources
    scale = Scale.of(readings.scalars)
    features = _features(readings, scale)
    levels = (number[:, None] == np.arange(number.max() + 1)).astype(np.float32)
    weights = np.empty(len(labels))
    for column in range(levels.shape[1]):
        rows = number == column
        weights[rows] = balanced(labels[rows]) / rows.sum()
    weights *= len(labels) / weights.sum()
    k = readings.scalars.shape[1]
    vectors = features.shape[1] - k
    ridge = np.repeat([penalty.scalars, penalty.vectors, 1e-4], [k, vectors, levels.shape[1]])
    fitted = fit_logistic(np.hstack([features, levels]), labels, penalties=ridge, weights=weights)
    split = fitted.weights[: k + vectors], fitted.weights[k + vectors :]
    # A reply without a source has the mean level of the sources.
    linear = Linear(split[0], fitted.bias + float(split[1].mean()))
    return Head(linear, scale, _average(features, linear, readings))


def folds_of(groups: Sequence[object], count: int = FOLDS, seed: int = 0) -> Integers:
    """Return the fold of each item; a group is in one fold only."""
    order = {group: place for place, group in enumerate(dict.fromkeys(groups))}
    shuffled = np.random.default_rng(seed).permutation(len(order)) % count
    return np.array([shuffled[order[group]] for group in groups], np.int64)


def _features(readings: Readings, scale: Scale) -> Array:
    return reply_features(scale(readings.scalars), readings.last, readings.reply)


def _average(features: Array, linear: Linear, readings: Readings) -> tuple[float, ...]:
    has_base = readings.scalars.shape[1] > len(part_names(base=False)) - len(BLOCKS)
    sizes = block_sizes(0, base=has_base)
    scalars = sum(sizes)
    dimensions = (features.shape[1] - scalars) // len(BLOCKS)
    mean = features.mean(axis=0)[scalars:] * linear.weights[scalars:]
    return tuple(mean.reshape(len(BLOCKS), dimensions).sum(axis=1).tolist())


def save_head(
    folder: Path,
    head: Head,
    facts: Mapping[str, CardValue],
    training: Mapping[str, CardValue],
    settings: Mapping[str, CardValue],
    quality: Iterable[Mapping[str, CardValue]] = (),
) -> None:
    """Write ``head.npz`` and ``card.toml``."""
    check_folder(folder)
    make_folder(folder)
    scale = head.save(folder)
    write_card(folder, facts, training, {**settings, **scale}, quality, files=["head.npz"])
