"""A text read once by the encoder: a vector of any stretch of it without reading it again."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.numeric import unit_vector
from grice.text.tokens import cut_places
from grice_tasks.tokens import WORDS_AND_COMMAS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from grice.models.embedded import HiddenStates
    from grice_tasks.cider.files import Place

    Array: TypeAlias = NDArray[np.float32]

NEW = 700  # Characters of a text that one window reads for the first time
BEFORE = 250  # Characters before them that it reads again, for what they refer to


class TextReading(NamedTuple):
    """The token states of a text."""

    text: str
    states: Array  # shape ``(tokens, dimensions)``
    starts: NDArray[np.int64]  # first character of each token, ascending
    ends: NDArray[np.int64]  # character behind each token

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
    """Yield the parts of a text that are read at once, cut between sentences if there are any."""
    yield from pairwise(cut_places(text, NEW, NEW + BEFORE))


def read_texts(
    texts: Sequence[str], hidden: Callable[[Sequence[str]], Sequence[HiddenStates]]
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
    readings = []
    for text, pieces in zip(texts, pieces_of, strict=True):
        places = np.concatenate([offsets for _, offsets in pieces])
        states = np.concatenate([states for states, _ in pieces])
        readings.append(TextReading(text, states, places[:, 0], places[:, 1]))
    return readings


_CUES = (
    "because since as cause;so therefore then thus;but though although however yet;"
    "if when while unless until;to for;and or ,;is are was were am 's be been;"
    "at in on near from of;not n't no never"
)
CUES = [frozenset(cues.split()) for cues in _CUES.split(";")]
"""Words between two spans that often say how they are linked."""

NEAR = 60  # Characters between two spans up to which words between them count as cues

EDGES = (0, 3, 8, 15, 25, 40, 60, 90, 130, 190, 270, 400, 600)
"""Borders of the bins of distance in characters, each side of the head."""

PLAIN = 17
STRUCTURE = PLAIN + 2 * len(EDGES) + len(CUES)  # Numbers per pair of spans

_MARK = re.compile(r"[.?!]")


class Layout(NamedTuple):
    """Parts of a text that the numbers need."""

    text: str
    marks: Sequence[int]  # positions of its full stops, question and exclamation marks


def layout_of(text: str) -> Layout:
    """Return the layout of a text."""
    return Layout(text, [m.start() for m in _MARK.finditer(text)])


def locate(text: str, span: str) -> Place | None:
    """Return where a span stands first in a text, blanks around it aside; None if nowhere."""
    wanted = span.strip()
    start = text.find(wanted) if wanted else -1
    return None if start < 0 else (start, start + len(wanted))


def structure(
    layout: Layout, head: str, tail: str, head_at: Place | None, tail_at: Place | None
) -> Array:
    """Return the numbers of a pair of spans, shape ``(STRUCTURE,)``."""
    values = np.zeros(STRUCTURE, np.float32)
    length = max(1, len(layout.text))
    first, second = (set(WORDS_AND_COMMAS.findall(span.lower())) for span in (head, tail))
    values[0] = np.log1p(len(head)) / 4
    values[1] = np.log1p(len(tail)) / 4
    values[2] = len(first & second) / max(1, min(len(first), len(second)))
    values[3] = head.split(" ")[0].endswith("ing")
    values[4] = tail.split(" ")[0].endswith("ing")
    values[5] = head_at is None
    values[6] = tail_at is None
    values[7] = head[:1].isupper()
    values[8] = tail[:1].isupper()
    values[9] = np.log1p(length) / 8
    if head_at is not None:
        values[10] = head_at[0] / length
    if tail_at is not None:
        values[11] = tail_at[0] / length
    if head_at is None or tail_at is None:
        return values
    before, after = sorted((head_at, tail_at))
    gap = max(0, after[0] - before[1])
    values[12] = (tail_at[0] - head_at[0]) / length
    values[13] = abs(values[12])
    values[14] = head_at[0] < tail_at[1] and tail_at[0] < head_at[1]
    marks = bisect_left(layout.marks, after[0]) - bisect_left(layout.marks, before[1])
    values[15] = np.log1p(max(0, marks))
    values[16] = marks <= 0
    side = 0 if tail_at[0] >= head_at[0] else len(EDGES)
    values[PLAIN + side + bisect_left(EDGES, gap + 1) - 1] = 1
    if gap <= NEAR:
        between = set(WORDS_AND_COMMAS.findall(layout.text[before[1] : after[0]].lower()))
        between |= {"n't"} if any(word.endswith("n't") for word in between) else set()
        offset = PLAIN + 2 * len(EDGES)
        for i, cue in enumerate(CUES):
            values[offset + i] = not between.isdisjoint(cue)
    return values
