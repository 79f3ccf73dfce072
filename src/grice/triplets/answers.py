"""Where in a text the tail of a head and a relation stands (task 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grice.knowledge.schema import load_schema
from grice.runtime.blas import single_threaded
from grice.triplets.heads import SCALE
from grice.triplets.structure import EDGES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.triplets.reading import TextReading
    from grice.triplets.records import Place

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["BINS", "LONGEST", "AnswerHead", "best_spans", "distance_bins", "question"]

BINS = 2 * len(EDGES) + 2
"""Distances of a token to the head, each side, inside it, and one for a head that is not there."""
LONGEST = 16
"""Most tokens of an answer; one answer in a hundred is longer."""
CANDIDATES = 24
"""Starts, and ends, that are tried with each other."""


def question(head: str, relation: str) -> str:
    """Return the question for the tail of a head; empty for a negated relation, which has none.

    >>> question("missed the bus", "Causes")
    "What does 'missed the bus' cause?"

    Raises:
        InputError: If the relation is unknown.
    """
    template = load_schema("cider")[relation].question
    return template.replace("'X'", f"'{head}'")


def distance_bins(reading: TextReading, head_at: Place | None) -> NDArray[np.int64]:
    """Return for each token the bin of its distance in characters to the head."""
    if head_at is None:
        return np.full(len(reading.starts), BINS - 1, np.int64)
    after = reading.starts - head_at[1]
    before = head_at[0] - reading.ends
    gap = np.maximum(np.maximum(after, before), 0)
    found = np.searchsorted(EDGES, gap, side="right") - 1
    found += np.where(before >= 0, len(EDGES), 0)
    inside = (after < 0) & (before < 0)
    return np.where(inside, BINS - 2, found).astype(np.int64)


def best_spans(
    reading: TextReading, logits: Array, length: Array, *, count: int
) -> list[tuple[float, Place]]:
    """Return the best answers with their log scores, best first.

    No answer goes beyond the end of a sentence.

    Args:
        reading: The text.
        logits: Of each token to begin and to end the answer, shape ``(tokens, 2)``.
        length: Of an answer of so many tokens, shape ``(LONGEST,)``.
        count: How many.
    """
    first = np.argsort(-logits[:, 0], kind="stable")[:CANDIDATES]
    last = np.argsort(-logits[:, 1], kind="stable")[:CANDIDATES]
    pairs = [(i, j) for i in first for j in last if i <= j < i + LONGEST]
    marks = np.cumsum([reading.text[a:b] in ".?!" for a, b in
                       zip(reading.starts, reading.ends, strict=True)])  # fmt: skip
    pairs = [(i, j) for i, j in pairs if marks[max(i, j - 1)] == marks[i]]
    if not pairs:
        pairs = [(int(first[0]), int(first[0]))]
    scored = [
        (float(logits[i, 0] + logits[j, 1] + length[j - i]),
         (int(reading.starts[i]), int(reading.ends[j])))
        for i, j in pairs
    ]  # fmt: skip
    return sorted(scored, reverse=True)[:count]


class AnswerHead:
    """A network that says of each token how well the answer begins and ends with it.

    Args:
        path: An ``.npz`` with the arrays of the network.
    """

    def __init__(self, path: Path) -> None:
        with np.load(path, allow_pickle=False) as arrays:
            self._weights: dict[str, Array] = {
                name: arrays[name].astype(np.float32) for name in arrays.files
            }
        self._relations = tuple(load_schema("cider").relations)

    def __call__(
        self, reading: TextReading, vector: Array, relation: str, head_at: Place | None
    ) -> Array:
        """Return the logits of start and end of each token, shape ``(tokens, 2)``.

        Args:
            reading: The text.
            vector: Of the head, in the text and then on its own.
            relation: One of the 31 relations.
            head_at: Where the head stands; None if it does not.
        """
        w, name = self._weights, self._relations.index(relation)
        with single_threaded():
            query = w["query_weight"] @ vector + w["query_bias"] + w["relation_weight"][name]
            factor = w["queryfactor_weight"] @ vector + w["queryfactor_bias"]
            factor = factor + w["relationfactor_weight"][name]
            states = reading.states.astype(np.float32)
            added = states @ w["token_weight"].T + w["token_bias"] + query
            added = np.maximum(added + w["distance_weight"][distance_bins(reading, head_at)], 0)
            times = (states @ w["factor_weight"].T + w["factor_bias"]) * factor
            joined = np.concatenate([added, times], axis=1)
            found: Array = joined @ w["out_weight"].T + w["out_bias"]
        return found

    def head_vector(
        self,
        reading: TextReading,
        head: str,
        head_at: Place | None,
        alone: Callable[[Sequence[str]], Sequence[Array]],
    ) -> Array:
        """Return what this head reads of a head span: its vector in the text, then on its own.

        Args:
            reading: The text.
            head: The span.
            head_at: Where it stands; None if it does not.
            alone: Gives vectors of texts.
        """
        own = np.asarray(alone([head])[0], np.float32)
        here = own if head_at is None else reading.vector(head_at)
        return np.concatenate([here, own]) * SCALE

    @property
    def length(self) -> Array:
        """Of an answer of so many tokens, shape ``(LONGEST,)``."""
        return self._weights["length"]
