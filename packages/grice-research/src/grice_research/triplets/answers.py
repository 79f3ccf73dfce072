"""Where in a text the tail of a head and a relation stands (task 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grice.knowledge.schema import load_schema
from grice_research.surface import EDGES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grice_tasks.cider.reading import TextReading
    from grice_tasks.cider.records import Place

__all__ = ["BINS", "LONGEST", "distance_bins", "question"]

BINS = 2 * len(EDGES) + 2
"""Distances of a token to the head, each side, inside it, and one for a head that is not there."""
LONGEST = 16
"""Most tokens of an answer; one answer in a hundred is longer."""


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
    bins = np.searchsorted(EDGES, gap, side="right") - 1
    bins += np.where(before >= 0, len(EDGES), 0)
    inside = (after < 0) & (before < 0)
    return np.where(inside, BINS - 2, bins).astype(np.int64)
