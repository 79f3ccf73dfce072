"""The mean of several head-conditioned layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.errors import InputError
from grice_research.triplets.answers import LONGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice_research.triplets.head_conditioned import (
        HeadConditionedLayer,
        HeadConditionedReading,
    )
    from grice_tasks.cider.heads import Sides
    from grice_tasks.cider.records import Place

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["Answer", "EnsembleReading", "HeadConditionedEnsemble"]


class Answer(NamedTuple):
    """A stretch that may be the tail.

    Attributes:
        score: Log probability among all short stretches of the text, a mean over networks.
        place: Where it stands.
        numbers: How sure the link is, how good the tail is among several, and which relation it
            is, of the relation asked for.
    """

    score: float
    place: Place
    numbers: Array


class HeadConditionedEnsemble:
    """The weighted mean of several head-conditioned layers.

    Args:
        layers: One or more, on encoders that part a text into the same tokens.
        weights: What each counts in the mean, positive; all alike if there are none.

    Raises:
        InputError: If there are not as many weights as layers.
    """

    def __init__(
        self, layers: Sequence[HeadConditionedLayer], weights: Sequence[float] = ()
    ) -> None:
        self._layers = tuple(layers)
        self._weights = tuple(weights or [1.0] * len(layers))
        if len(self._weights) != len(self._layers):
            raise InputError(f"{len(weights)} weights for {len(layers)} layers")

    def read(self, text: str, sides: Sides) -> EnsembleReading:
        """Return a text with its spans, read by each."""
        return EnsembleReading([layer.read(text, sides) for layer in self._layers], self._weights)


class EnsembleReading:
    """One text, encoded by several layers."""

    def __init__(
        self, readings: Sequence[HeadConditionedReading], weights: Sequence[float]
    ) -> None:
        self._readings, self._weights = tuple(readings), tuple(weights)

    def links(self, pairs: Sequence[tuple[int, int]]) -> Array:
        """Return the mean numbers of pairs of spans, as :class:`LinkHead` does."""
        return self._mean([reading.links(pairs) for reading in self._readings])

    def tail_overlaps(self, triples: Sequence[tuple[int, str, int]]) -> list[float]:
        """Return the expected token overlap of each tail with the answers to its head, as a log.

        Args:
            triples: Number of the head among the spans, the relation, and number of the tail.
        """
        overlaps = []
        chances: dict[tuple[int, str], Array] = {}
        for head, relation, tail in triples:
            if (head, relation) not in chances:
                chances[head, relation] = self._chances(head, relation)
            overlaps.append(self._readings[0].tail_overlap(chances[head, relation], tail))
        return overlaps

    def _chances(self, head: int, relation: str) -> Array:
        return self._mean([reading.chances(head, relation) for reading in self._readings])

    def _mean(self, values: Sequence[Array]) -> Array:
        return np.asarray(np.average(values, axis=0, weights=self._weights), np.float32)

    def answers(self, head: int, relation: str, *, count: int) -> list[Answer]:
        """Return the best answers to a head span and a relation, best first.

        Args:
            head: Number of the head among the spans.
            relation: One of the 31 relations.
            count: How many.
        """
        first = self._readings[0]
        name = first.relations.index(relation)
        flat = self._chances(head, relation).ravel()
        listed = [int(at) for at in np.argsort(-flat, kind="stable")[:count]]
        listed = [at for at in listed if np.isfinite(flat[at])]
        taken = [(at // LONGEST, at // LONGEST + at % LONGEST + 1) for at in listed]
        values = self._mean([reading.tails(head, taken) for reading in self._readings])[:, :, name]
        return [
            Answer(float(flat[at]), first.place(tokens), row)
            for at, tokens, row in zip(listed, taken, values, strict=True)
        ]
