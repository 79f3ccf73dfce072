"""A text read once by the encoder: a vector of any stretch of it without reading it again."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.numeric import unit_vector
from grice.text.tokens import cut_places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from grice.models.embedded import Hidden
    from grice_tasks.cider.records import Place

    Array: TypeAlias = NDArray[np.float32]

NEW = 700
"""Characters of a text that one window reads for the first time."""
BEFORE = 250
"""Characters before them that it reads again, for what they refer to."""


class TextReading(NamedTuple):
    """The token states of a text.

    Attributes:
        states: Shape ``(tokens, dimensions)``; of a text longer than a window, each token's state
            in the window that reads it first.
        starts: First character of each token, ascending.
        ends: Character behind each token.
    """

    text: str
    states: Array
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def tokens(self, place: Place) -> tuple[int, int]:
        """Return first token of a stretch and the one behind it; equal if it has none."""
        first = int(np.searchsorted(self.ends, place[0], side="right"))
        return first, max(first, int(np.searchsorted(self.starts, place[1], side="left")))

    def vector(self, place: Place) -> Array:
        """Return the mean state of a stretch as a unit vector; zeros if it has no token."""
        first, end = self.tokens(place)
        if first == end:
            return np.zeros(self.states.shape[1], np.float32)
        return unit_vector(self.states[first:end].mean(axis=0, dtype=np.float32))


def stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text that are read at once, cut between sentences where there are any.

    >>> list(stretches("a. " * 400))
    [(0, 699), (699, 1200)]
    """
    yield from pairwise(cut_places(text, NEW, NEW + BEFORE))


def read_texts(
    texts: Sequence[str], hidden: Callable[[Sequence[str]], Sequence[Hidden]]
) -> list[TextReading]:
    """Return each text's token states, as :class:`TextReading` says."""
    parts = [
        (number, start, max(0, start - BEFORE), end)
        for number, text in enumerate(texts)
        for start, end in stretches(text)
    ]
    answers = hidden([texts[number][before:end] for number, _, before, end in parts])
    pieces_of: list[list[tuple[Array, NDArray[np.int64]]]] = [[] for _ in texts]
    for (number, start, before, _), (states, offsets) in zip(parts, answers, strict=True):
        places = np.asarray(offsets, np.int64).reshape(-1, 2)
        fresh = (places[:, 1] > places[:, 0]) & (places[:, 0] + before >= start)
        pieces_of[number].append((states[fresh], places[fresh] + before))
    return [_joined(text, pieces) for text, pieces in zip(texts, pieces_of, strict=True)]


def _joined(text: str, pieces: list[tuple[Array, NDArray[np.int64]]]) -> TextReading:
    states = np.concatenate([states for states, _ in pieces])
    places = np.concatenate([offsets for _, offsets in pieces])
    return TextReading(text, states, places[:, 0], places[:, 1])
