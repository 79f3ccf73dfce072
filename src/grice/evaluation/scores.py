"""Files of scores and labels, read back line by line.

Conversations are numbered once for all files that are looked at together, so that an item is one
whole number and joining two files is joining two sorted columns: 17 bytes per score, whatever
the order of the lines.
"""

from __future__ import annotations

import gzip
import re
import sys
import zlib
from array import array
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeVar

import msgspec
import numpy as np

from grice.errors import InputError, RecordError, did_you_mean, os_reason
from grice.records import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from grice.stats.clusters import Bounds

__all__ = [
    "STATUSES",
    "TURN_BITS",
    "Ids",
    "MetricScores",
    "ScoreLine",
    "ScoreSet",
    "metric_range",
    "read_rows",
    "read_score_groups",
    "read_score_lines",
    "read_scores",
]

STATUSES: tuple[Status, ...] = ("ok", "abstained", "failed")
_NUMBER = {status: number for number, status in enumerate(STATUSES)}
TURN_BITS = 32
"""Bits of an item's number that hold its turn."""

Row = TypeVar("Row")


class Origin(msgspec.Struct, frozen=True):
    """The one extra field that grice adds itself, where several inputs were scored together."""

    file: str | None = None


class ScoreLine(msgspec.Struct, frozen=True):
    """A :class:`~grice.records.Score` without what only a reader of single scores needs."""

    conversation: str
    turn: int | None
    metric: str
    value: float | None
    status: Status
    signature: str
    meta: Origin = Origin()


class Ids:
    """Numbers conversations in the order they are met."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, conversation: str) -> int:
        """Return the number of a conversation, a new one if it was not met before."""
        return self.numbers.setdefault(conversation, len(self.numbers))

    def item(self, conversation: str, turn: int | None) -> int:
        """Return the number of an item."""
        return (self.number(conversation) << TURN_BITS) + (0 if turn is None else turn + 1)

    def names(self) -> list[str]:
        """Return the conversations by their numbers."""
        return list(self.numbers)

    def tell(self, item: int) -> str:
        """Return an item in words."""
        name = self.names()[item >> TURN_BITS]
        turn = item & ((1 << TURN_BITS) - 1)
        return f"conversation {name!r}" + (f", turn {turn - 1}" if turn else "")


class MetricScores(NamedTuple):
    """The scores of one metric in a file, sorted by item.

    Attributes:
        items: Numbers of the items, rising.
        given: The values as they stand: the neutral one where the metric abstained, NaN where it
            failed.
        statuses: Index of each status in :data:`STATUSES`.
        signatures: Every signature that occurs.
    """

    items: NDArray[np.int64]
    given: NDArray[np.float64]
    statuses: NDArray[np.int8]
    signatures: tuple[str, ...]

    @property
    def values(self) -> NDArray[np.float64]:
        """The values of status ``ok``; NaN for all others."""
        return np.where(self.statuses == _NUMBER["ok"], self.given, np.nan)

    @property
    def conversations(self) -> NDArray[np.int64]:
        """Number of the conversation of each item."""
        return self.items >> TURN_BITS

    @property
    def turns(self) -> NDArray[np.int64]:
        """Turn of each item; -1 for a whole conversation."""
        return (self.items & ((1 << TURN_BITS) - 1)) - 1

    def count(self, status: Status) -> int:
        """Return how many scores have a status."""
        return int((self.statuses == _NUMBER[status]).sum())


class ScoreSet(NamedTuple):
    """A whole file of scores.

    Attributes:
        file: Its name as given.
        ids: The numbering of its conversations, shared with other files.
        metrics: Scores by metric.
    """

    file: str
    ids: Ids
    metrics: dict[str, MetricScores]

    def named(self, metric: str) -> MetricScores:
        """Return the scores of one metric.

        Raises:
            InputError: If the file has none of it.
        """
        if metric not in self.metrics:
            near = did_you_mean(metric, self.metrics)
            raise InputError(f"{self.file}: no scores of metric {metric!r}{near}")
        return self.metrics[metric]


class _Columns:
    def __init__(self) -> None:
        self.items = array("q")
        self.values = array("d")
        self.statuses = array("b")
        self.signatures: dict[str, None] = {}

    def sorted(self, file: str, metric: str, ids: Ids) -> MetricScores:
        items = np.array(self.items, np.int64)
        order = np.argsort(items, kind="stable")
        items = items[order]
        twice = np.flatnonzero(items[1:] == items[:-1])
        if len(twice):
            raise InputError(
                f"{file}: {metric} scores {ids.tell(int(items[twice[0]]))} more than once; give "
                "scores of one run over one input (score inputs with the same ids each alone)"
            )
        return MetricScores(
            items,
            np.array(self.values, np.float64)[order],
            np.array(self.statuses, np.int8)[order],
            tuple(self.signatures),
        )


def read_scores(file: str, ids: Ids) -> ScoreSet:
    """Return what ``grice score`` wrote, as columns.

    Raises:
        RecordError: For a line that is no score.
        InputError: If the file cannot be read, holds nothing, or scores an item twice.
    """
    columns: dict[str, _Columns] = {}
    for _, line in read_score_lines(file):
        column = columns.setdefault(line.metric, _Columns())
        column.items.append(ids.item(line.conversation, line.turn))
        value = line.value if line.status != "failed" else None
        column.values.append(float("nan") if value is None else value)
        column.statuses.append(_NUMBER[line.status])
        column.signatures[line.signature] = None
    metrics = {name: column.sorted(file, name, ids) for name, column in columns.items()}
    return ScoreSet(file, ids, metrics)


def read_score_lines(file: str) -> Iterator[tuple[int, ScoreLine]]:
    """Yield each line of a file of scores with its number, from 1."""
    for number, line in read_rows(file, ScoreLine):
        if line.turn is not None and not 0 <= line.turn < (1 << TURN_BITS) - 1:
            problem = f"a turn is counted from 0, found {line.turn}"
            raise RecordError(problem, file=_name(file), line=number, field="turn")
        if line.status == "ok" and line.value is None:
            problem = 'a score with status "ok" needs a value, found null'
            raise RecordError(problem, file=_name(file), line=number, field="value")
        yield number, line


def metric_range(name: str, *columns: NDArray[np.float64]) -> Bounds | None:
    """Return the least and the greatest value of a metric.

    None if the metric is not installed here, or if a file has values of another scale.
    """
    from grice.metrics.registry import find_metrics

    metric = find_metrics().metrics.get(name)
    if metric is None:
        return None
    inside = all(((metric.low <= one) & (one <= metric.high)).all() for one in columns)
    return (metric.low, metric.high) if inside else None


def read_score_groups(file: str) -> Iterator[list[ScoreLine]]:
    """Yield the scores of each conversation of a file in turn; its lines must stand together.

    Raises:
        InputError: If a conversation goes on further down, or the file cannot be read.
    """
    seen: set[int] = set()
    group: list[ScoreLine] = []
    current = None
    for number, line in read_score_lines(file):
        # Ids are unique within one input only.
        place = (line.meta.file, line.conversation)
        if place != current:
            if group:
                yield group
            if hash(place) in seen:
                raise InputError(
                    f"{_name(file)}:{number}: conversation {line.conversation!r} began earlier; "
                    "its scores must stand together, as grice score writes them (sort the file "
                    "by conversation, and give each conversation once)"
                )
            seen.add(hash(place))
            group, current = [], place
        group.append(line)
    if group:
        yield group


def read_rows(
    file: str, kind: type[Row], expected: str = "a score as grice score writes it"
) -> Iterator[tuple[int, Row]]:
    """Yield each JSON line of a file as a record of a kind, with its number, from 1.

    Args:
        file: A path, gzipped or not, or ``-`` for standard input.
        kind: A ``msgspec`` record; fields it does not know are passed over.
        expected: What a line should be, for messages.

    Raises:
        RecordError: For a line that is no such record.
        InputError: If the file cannot be read or holds no line.
    """
    decoder = msgspec.json.Decoder(kind)
    number = 0
    some = False
    with _opened(file) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            some = True
            try:
                record = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                problem, field = _said(error)
                said = f"{problem}; {expected} is expected"
                raise RecordError(said, file=_name(file), line=number, field=field) from None
            yield number, record
    if not some:
        raise InputError(f"{_name(file)}: there is no line in it")


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    try:
        if file == "-":
            yield sys.stdin.buffer
        elif file.endswith(".gz"):
            with gzip.open(file, "rb") as packed:
                yield packed  # type: ignore[misc]
        else:
            with Path(file).open("rb") as plain:
                yield plain
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{_name(file)}: cannot be read: {os_reason(error)}") from None


def _name(file: str) -> str:
    return "<stdin>" if file == "-" else file


def _said(error: Exception) -> tuple[str, str | None]:
    """Return the problem and the field that an error of msgspec names."""
    found = re.fullmatch(r"(.*?)(?: - at `\$\.?(.*)`)?", str(error), re.DOTALL)
    problem, place = (found[1], found[2]) if found else (str(error), None)
    if isinstance(error, msgspec.ValidationError):
        return problem, place or None
    return f"not a JSON object on one line ({problem})", None
