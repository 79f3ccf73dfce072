"""Scores of any other tool: a column of a CSV, or a field of JSON lines, as ``FILE#COLUMN``."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import InputError, RecordError, did_you_mean
from grice.stores import is_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from grice.records import Json

NAMED = re.compile(r"(?P<file>.+)#(?P<column>[^#/\\]+)", re.DOTALL)
CONVERSATION = ("conversation", "conversation_id", "id", "session_id", "trace_id", "dialogue_id")
TURN = ("turn", "turn_index")
MISSING = object()
TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


class Column(NamedTuple):
    """Where the scores of another tool stand."""

    file: str
    column: str

    @property
    def is_table(self) -> bool:
        """Whether the file is a table, and not JSON lines."""
        return self.file.lower().endswith(TABLES)


def column_of(name: str) -> Column | None:
    """Return the file and the column that a name means; None for a file that has that very name."""
    match = NAMED.fullmatch(name)
    if match is None or is_url(name) or Path(name).exists():
        return None
    return Column(match["file"], match["column"])


def other_scores(
    place: Column, rows: Iterable[tuple[int, Mapping[str, Any]]]
) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the fields of a score for each row, with its line.

    The metric is called as the column is; a cell that is empty, null or NaN is an abstention.

    Raises:
        RecordError: If a cell holds something else than a number, or no conversation is named.
        InputError: If the first row has no such column.
    """
    known = False
    for line, row in rows:
        cell = _cell(row, place.column)
        if cell is MISSING and not known:
            names = [name for name in row if isinstance(name, str)]
            raise InputError(
                f"{place.file}: no column {place.column!r}{did_you_mean(place.column, names)}; "
                f"there are {', '.join(names[:12])}"
            )
        known = True
        conversation = next((row[name] for name in CONVERSATION if row.get(name)), None)
        if conversation is None:
            problem = f"no conversation is named; one of {', '.join(CONVERSATION)} is needed"
            raise RecordError(problem, file=place.file, line=line)
        value = _number(cell, place, line)
        yield (
            line,
            {
                "conversation": str(conversation),
                "turn": _turn(row, place, line),
                "metric": place.column,
                "value": value,
                "status": "abstained" if value is None else "ok",
                "reason": None,
                "flags": [],
                "evidence": [],
                "signature": f"column:{place.column}",
            },
        )


def _cell(row: Mapping[str, Any], column: str) -> object:
    """Return what a row has in a column, into which dots lead; :data:`MISSING` if nothing."""
    if column in row:
        return row[column]
    inner: object = row
    for part in column.split("."):
        inner = inner.get(part, MISSING) if isinstance(inner, dict) else MISSING
    return inner


def _number(value: object, place: Column, line: int) -> float | None:
    if value in (None, MISSING) or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = float(value)  # type: ignore[arg-type] # whatever is no number raises
    except (TypeError, ValueError):
        problem = f"expected a number, found {value!r:.60}"
        raise RecordError(problem, file=place.file, line=line, field=place.column) from None
    if math.isinf(number):
        problem = f"expected a finite number, found {value!r:.60}"
        raise RecordError(problem, file=place.file, line=line, field=place.column)
    return None if math.isnan(number) else number


def _turn(row: Mapping[str, Any], place: Column, line: int) -> int | None:
    given = next((row[name] for name in TURN if row.get(name) not in (None, "")), None)
    if given is None:
        return None
    try:
        return int(given)
    except (TypeError, ValueError):
        problem = f"expected the number of a turn, found {given!r:.60}"
        raise RecordError(problem, file=place.file, line=line, field="turn") from None
