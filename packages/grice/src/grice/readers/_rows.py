"""Rows of a table in text: quotes, cells over several lines, and going on behind a broken row."""

from __future__ import annotations

import csv
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import RecordError
from grice.readers._format import Bad, Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST_LINES = 1_000
_MOST_BYTES = 1 << 20


class Row(NamedTuple):
    """The cells of a row, and the line it starts on."""

    line: int
    cells: list[str]


def rows(
    lines: Iterable[Line | RecordError], name: str, delimiter: str
) -> Iterator[Row | RecordError]:
    """Yield the rows of a table.

    A row runs over several lines only inside quotes that are closed within 1,000 lines and 1 MiB.
    If they are not, the first line alone is the broken row, and the next line is tried. In a
    table parted by tabs, such a line is taken as it stands, quotes and all.
    """
    source = iter(lines)
    waiting: deque[Line | RecordError] = deque()
    while waiting or (waiting := deque(_next_line(source))):
        line = waiting.popleft()
        if isinstance(line, RecordError):
            yield line
            continue
        if not line.data.strip():
            continue
        held = [line]
        try:
            cells = _cells(held, waiting, source, delimiter)
        except Bad as bad:
            waiting.extendleft(reversed(held[1:]))
            if delimiter == "\t" and isinstance(bad, _Quotes):
                yield Row(line.number, line.text().split("\t"))
            else:
                yield bad.at(name, line.number)
            continue
        yield Row(line.number, cells)


def _next_line(source: Iterator[Line | RecordError]) -> list[Line | RecordError]:
    return [line for line in (next(source, None),) if line is not None]


class _Quotes(Bad):
    """The quotes of a row do not match."""


def _cells(
    held: list[Line],
    waiting: deque[Line | RecordError],
    source: Iterator[Line | RecordError],
    delimiter: str,
) -> list[str]:
    """Return the cells of the row that begins with ``held[0]``; add the lines it takes to held."""
    text = held[0].text()
    size = len(text)
    while True:
        try:
            return _parse(text, delimiter)
        except _Unfinished:
            more = [text]
        while True:
            if not waiting:
                waiting.extend(_next_line(source))
            if not waiting or isinstance(waiting[0], RecordError):
                raise _Quotes(None, "a quote is opened and never closed")
            line = waiting.popleft()
            assert isinstance(line, Line)
            held.append(line)
            size += len(line.data)
            if len(held) > _MOST_LINES or size > _MOST_BYTES:
                raise _Quotes(None, "a quote is opened and not closed within 1,000 lines or 1 MiB")
            try:
                more.append(line.text())
            except Bad:
                raise _Quotes(
                    None, f"a quote is opened, and line {line.number} before its end is not text"
                ) from None
            if '"' in more[-1]:
                break
        text = "\n".join(more)


class _Unfinished(Exception):  # noqa: N818 - control flow of this module
    """The text ends inside quotes."""


def _parse(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error as error:
        reason = str(error)
    if "end of data" in reason:
        raise _Unfinished
    if "field limit" in reason:
        limit = csv.field_size_limit()
        raise Bad(
            None, f"a cell is longer than {limit} characters, which CSV cannot hold; use JSON lines"
        )
    if "new-line" in reason:
        raise _Quotes(None, "a quote is closed inside a cell, or a carriage return stands in it")
    raise _Quotes(None, f"the quotes of a cell do not match ({reason})")
