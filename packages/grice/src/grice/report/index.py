"""The compact index that the page sorts and filters by, without unpacking a conversation.

Columns over the conversations of the page:

- ``ids``, ``turns`` (their number), ``cast`` (numbers of the speakers);
- ``cells[metric][conversation]``: for each speaker with scores three entries in a flat list: the
  speaker's number, a bit set of what there is (bit ``b``: a value in bin ``b``; then one bit for
  ``abstained``, one for ``failed``), and the speaker's lowest value or null. A score of the
  whole conversation has speaker -1.

Only the most frequent speakers have numbers; all others share -2.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice.records import Conversation, Score
    from grice.report.svg import Histogram

SPEAKERS = 100
"""Speakers that can be chosen by name."""

WHOLE, OTHER = -1, -2


class Row(NamedTuple):
    """What the index needs of one conversation.

    Attributes:
        cells: Of each score: number of the metric, place of the speaker in ``speakers`` or -1,
            status, value if it is ``ok``.
    """

    id: str
    turns: int
    speakers: list[str]
    cells: Sequence[tuple[int, int, str, float | None]]

    @classmethod
    def of(
        cls, conversation: Conversation, scores: Sequence[Score], numbers: Mapping[str, int]
    ) -> Row:
        """Return the row of a conversation; ``numbers`` gives each metric's number."""
        speakers = list(dict.fromkeys(turn.speaker for turn in conversation.turns))
        cells = [
            (
                numbers[score.metric],
                WHOLE
                if score.turn is None
                else speakers.index(conversation.turns[score.turn].speaker),
                score.status,
                score.value if score.status == "ok" else None,
            )
            for score in scores
        ]
        return cls(conversation.id, len(conversation.turns), speakers, cells)

    def line(self) -> bytes:
        """Return the row as one line; escapes carry text that has no UTF-8 form."""
        return json.dumps(self, separators=(",", ":")).encode()

    @classmethod
    def read(cls, line: bytes) -> Row:
        """Return the row of a line."""
        return cls(*json.loads(line))


class Columns(TypedDict):
    """The index as it goes into the page."""

    ids: list[str]
    turns: list[int]
    cast: list[list[int]]
    speakers: list[str]
    cells: list[list[list[float | int | None]]]


class IndexBuilder:
    """Fills the histograms from every row and the columns from the rows that are kept."""

    def __init__(self, histograms: Sequence[Histogram], speakers: Sequence[str]) -> None:
        self._histograms = histograms
        self._numbers = {name: i for i, name in enumerate(speakers)}
        self.columns = Columns(
            ids=[], turns=[], cast=[], speakers=list(speakers), cells=[[] for _ in histograms]
        )

    def add(self, row: Row, *, keep: bool) -> None:
        """Count a row, and list it if it is kept."""
        summaries: list[dict[int, tuple[int, float | None]]] = [{} for _ in self._histograms]
        for metric, place, status, value in row.cells:
            speaker = WHOLE if place == WHOLE else self._numbers.get(row.speakers[place], OTHER)
            bits, lowest = summaries[metric].get(speaker, (0, None))
            histogram = self._histograms[metric]
            if value is None:
                bits |= 1 << len(histogram.counts) + (status == "failed")
            else:
                bits |= 1 << histogram.add(value)
                lowest = value if lowest is None else min(lowest, value)
            summaries[metric][speaker] = bits, lowest
        if keep:
            self._list(row, summaries)

    def _list(self, row: Row, summaries: list[dict[int, tuple[int, float | None]]]) -> None:
        columns = self.columns
        columns["ids"].append(row.id)
        columns["turns"].append(row.turns)
        columns["cast"].append(sorted({self._numbers.get(name, OTHER) for name in row.speakers}))
        for cells, speakers in zip(columns["cells"], summaries, strict=True):
            flat: list[float | int | None] = []
            for speaker, (bits, lowest) in speakers.items():
                flat += (speaker, bits, None if lowest is None else float(f"{lowest:.5g}"))
            cells.append(flat)
