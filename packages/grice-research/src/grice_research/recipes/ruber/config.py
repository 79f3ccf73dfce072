"""The grid of the thesis: 2 embeddings, 3 ways to one vector, 2 losses."""

from __future__ import annotations

from itertools import product
from typing import Literal, NamedTuple, TypeAlias, get_args

__all__ = ["GRID", "Configuration", "Embedding", "Loss", "Summary"]

Embedding: TypeAlias = Literal["static", "contextual"]
"""Vectors of words out of their context, or the encoder's token vectors."""
Summary: TypeAlias = Literal["bi-rnn", "max", "mean"]
"""How the vectors of a text become one: two layers of bidirectional GRU, or pooling."""
Loss: TypeAlias = Literal["ranking", "cross-entropy"]
"""A margin between the true and the random reply, or their classification."""


class Configuration(NamedTuple):
    """One cell of the grid with everything it is trained with.

    Attributes:
        embedding: See :data:`Embedding`.
        summary: See :data:`Summary`.
        loss: See :data:`Loss`.
        margin: Of the ranking loss; the chapter gives none, public code has 0.5.
        hidden: Widths of the network behind both vectors and their quadratic feature.
        units: GRU units in one direction.
        learning_rate: Of Adam.
        batch: Pairs a step; each gets one random reply of the training part, drawn anew.
        epochs: At most.
        patience: Epochs without a lower validation loss before it stops.
        decay: What the learning rate is multiplied with after five such epochs.
        longest: Tokens read of a text, from its beginning.
    """

    embedding: Embedding
    summary: Summary
    loss: Loss
    margin: float = 0.5
    hidden: tuple[int, ...] = (256, 512, 128)
    units: int = 128
    learning_rate: float = 1e-4
    batch: int = 128
    epochs: int = 40
    patience: int = 20
    decay: float = 0.99
    longest: int = 30

    @property
    def name(self) -> str:
        """The cell in words."""
        return f"{self.embedding}, {self.summary}, {self.loss}"


GRID = tuple(
    Configuration(*cell) for cell in product(get_args(Embedding), get_args(Summary), get_args(Loss))
)
