"""What a guide learns from: the positions of replies, as the base model's logits show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.models.blas import single_threaded
from grice.models.mlp import quantized
from grice_tasks.steering.guide import TokenSpace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.protocols import SteerableLM
    from grice_tasks.steering.samples import Labelled

    Array: TypeAlias = NDArray[np.float32]

SPACE_REPLIES = 64
"""Replies whose logits the components are taken from: two thousand positions or so."""
LIKELY = 32
"""Tokens over which the expectation of the next position is taken, renormalised."""
TINY = 1e-8


class Positions(NamedTuple):
    """What is learned from: a row of a token of a reply.

    Attributes:
        features: What the network reads before the token.
        tokens: Ids of the tokens.
        labels: Of the reply, 0 or 1; all are 0 until they are put there.
        replies: Number of the reply.
        contexts: Number of the context.
        written: Part of the reply that stands before the token, 0 to 1.
        last: Whether it is the last one of its reply.
        likely: Ids of the tokens that the base finds likeliest in its place, ``(n, LIKELY)``.
        weights: Their probabilities, which sum to 1.
    """

    features: Array
    tokens: NDArray[np.int64]
    labels: Array
    replies: NDArray[np.int64]
    contexts: NDArray[np.int64]
    written: Array
    last: NDArray[np.bool_]
    likely: NDArray[np.int64]
    weights: Array

    def at(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Positions:
        """Return some of the rows."""
        return Positions(*(column[rows] for column in self))  # type: ignore[arg-type] # each its own


def token_space(model: SteerableLM, samples: Sequence[Labelled], components: int) -> TokenSpace:
    """Return the principal components of the logits before the tokens of some replies.

    Args:
        model: The base model.
        samples: The first few are read.
        components: How many; fewer where there are fewer positions.
    """
    read = samples[:: max(1, len(samples) // SPACE_REPLIES)][:SPACE_REPLIES]
    logits = np.concatenate(
        model.read_logits(
            [sample.prompt for sample in read],
            [sample.text for sample in read],
            lambda logits, _: logits - logits.mean(axis=1, keepdims=True),
        )
    )
    # Not around their mean: how usual a token is is the first thing to know of it.
    with single_threaded():
        values, directions = np.linalg.eigh((logits @ logits.T).astype(np.float64))
        kept = np.flatnonzero(values > TINY * values[-1])[::-1][:components]
        loadings = logits.T @ (directions[:, kept] / np.sqrt(values[kept])).astype(np.float32)
        # Unit variance over the vocabulary, and as they are kept in a file.
        whole, steps = quantized(loadings * np.float32(np.sqrt(len(loadings))))
        vectors = whole.astype(np.float32) * steps
        states = logits @ vectors
        scale = states.std(axis=0) + np.float32(TINY)
        return TokenSpace(vectors, states.mean(axis=0), scale)


def read_positions(
    model: SteerableLM,
    samples: Sequence[Labelled],
    space: TokenSpace,
    temperature: float,
) -> Positions:
    """Return what is learned from, a row of each token of each reply.

    Args:
        model: The base model.
        samples: Replies, each of which is read once.
        space: The states of the model.
        temperature: Of the base distribution.
    """

    def features(logits: Array, ids: list[int]) -> tuple[Array, NDArray[np.int64], Array]:
        vectors = space.vectors[ids]
        sums = np.hstack([vectors, np.ones((len(ids), 1), np.float32)]).cumsum(axis=0)
        before = np.vstack([np.zeros_like(sums[:1]), sums[:-1]])
        count = min(LIKELY, logits.shape[1])
        # A copy: a view would keep the whole vocabulary of every position.
        likely = np.argpartition(-logits, count - 1, axis=1)[:, :count].copy()
        odds = np.take_along_axis(logits, likely, axis=1) / np.float32(temperature)
        weights = np.exp(odds - odds.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        return space.features(space.states(logits), before), likely, weights

    read = model.read_logits(
        [sample.prompt for sample in samples],
        [sample.text for sample in samples],
        lambda logits, ids: (np.array(ids, np.int64), *features(logits, ids)) if ids else None,
    )
    parts = []
    for number, (sample, part) in enumerate(zip(samples, read, strict=True)):
        if part is not None:
            ids, inputs, likely, weights = part
            size = len(ids)
            written = np.arange(size, dtype=np.float32) / size
            alike = np.zeros(size, np.float32), np.full(size, number), np.full(size, sample.context)
            last = np.arange(size) == size - 1
            parts.append((inputs, ids, *alike, written, last, likely, weights))
    return Positions(*(np.concatenate(column) for column in zip(*parts, strict=True)))
