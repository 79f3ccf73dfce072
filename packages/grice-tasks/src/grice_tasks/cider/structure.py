"""Where two spans stand to each other in a text: numbers that know no word but a few connectives.

In CIDER such numbers alone say much of what is entailed, and more than half of the right options.
They are inputs of the models here, and the floor that a model has to beat.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice_tasks.tokens import WORDS_AND_COMMAS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice_tasks.cider.records import Place

    Array: TypeAlias = NDArray[np.float32]

CUES = (
    ("because", "since", "as", "cause"),
    ("so", "therefore", "then", "thus"),
    ("but", "though", "although", "however", "yet"),
    ("if", "when", "while", "unless", "until"),
    ("to", "for"),
    ("and", "or", ","),
    ("is", "are", "was", "were", "am", "'s", "be", "been"),
    ("at", "in", "on", "near", "from", "of"),
    ("not", "n't", "no", "never"),
)
"""Words between two spans that often say how they are linked."""

NEAR = 60
"""Characters between two spans up to which words between them count as cues."""

EDGES = (0, 3, 8, 15, 25, 40, 60, 90, 130, 190, 270, 400, 600)
"""Borders of the bins of distance in characters, each side of the head."""

PLAIN = 17
STRUCTURE = PLAIN + 2 * len(EDGES) + len(CUES)
"""Numbers per pair of spans."""

_MARK = re.compile(r"[.?!]")


class Layout(NamedTuple):
    """What of a text the numbers need.

    Attributes:
        marks: Positions of its full stops, question and exclamation marks.
    """

    text: str
    marks: Sequence[int]


def layout_of(text: str) -> Layout:
    """Return the layout of a text."""
    return Layout(text, [m.start() for m in _MARK.finditer(text)])


def locate(text: str, span: str) -> Place | None:
    """Return where a span stands first in a text, blanks around it aside; None if nowhere.

    >>> locate("I missed the bus.", " the bus ")
    (9, 16)
    """
    wanted = span.strip()
    start = text.find(wanted) if wanted else -1
    return None if start < 0 else (start, start + len(wanted))


def structure(
    layout: Layout, head: str, tail: str, head_at: Place | None, tail_at: Place | None
) -> Array:
    """Return the numbers of a pair of spans, shape ``(STRUCTURE,)``."""
    values = np.zeros(STRUCTURE, np.float32)
    length = max(1, len(layout.text))
    first, second = (_words(span) for span in (head, tail))
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


def _words(text: str) -> set[str]:
    return set(WORDS_AND_COMMAS.findall(text.lower()))
