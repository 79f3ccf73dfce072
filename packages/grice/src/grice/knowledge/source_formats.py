"""The formats of files of triples: how a first line looks, and a small reader each."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from grice.errors import RecordError, plural
from grice.knowledge.schema import load_schema
from grice.readers._format import Bad, Line
from grice.readers._json import decode, parsed_lines
from grice.records import Triple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SCHEMAS = ("atomic2020", "conceptnet", "cider", "explagraphs")
"""Inventories that are tried where a format does not say which one it uses."""


class Row(NamedTuple):
    """A triple and its line.

    Attributes:
        skipped: Why it is none to keep, such as another language; else empty.
        renamed: The relation that the file names, where the triple has another one; else empty.
    """

    line: int
    triple: Triple
    skipped: str = ""
    renamed: str = ""


if TYPE_CHECKING:
    Reader: TypeAlias = Callable[
        [Iterator[Line | RecordError], str, str], Iterator[Row | RecordError]
    ]
    """Yields the rows of the lines of a file, given its name and what triples say they are from."""
    Parse: TypeAlias = Callable[[str, int, str], Iterable[Row | Bad]]
    """Yields the rows of a line, given its number and what they say they are from."""


class Source(NamedTuple):
    """One format of triples.

    Attributes:
        schema: The inventory its relations are of; empty if any.
        sniff: Whether a file with this first line is of this format.
    """

    name: str
    summary: str
    schema: str
    sniff: Callable[[str], bool]
    read: Reader


def _line_by_line(make: Callable[[], Parse]) -> Reader:
    """Return the reader of a format whose rows each stand in one line.

    Args:
        make: Makes the parser of one file, which may remember its first line.
    """

    def read(
        lines: Iterator[Line | RecordError], name: str, label: str
    ) -> Iterator[Row | RecordError]:
        parse = make()

        def rows(line: Line) -> Iterator[Row | RecordError]:
            text = line.text()
            for row in parse(text, line.number, label) if text.strip() else ():
                yield row.at(name, line.number) if isinstance(row, Bad) else row

        return parsed_lines(lines, name, rows)

    return read


def _too_short(cells: list[str], needed: str) -> Bad:
    return Bad(None, f"{plural(len(cells), 'column')}, {needed} are needed")


def _in_order(*sides: str) -> Parse:
    """Return the parser of lines of head, relation and tail in some order, parted by tabs."""

    def parse(text: str, number: int, label: str) -> Iterable[Row]:
        cells = text.split("\t")
        if len(cells) < 3:
            raise _too_short(cells, f"{sides[0]}, {sides[1]} and {sides[2]}, parted by tabs,")
        stated = dict(zip(sides, cells, strict=False))
        triple = Triple(stated["head"], stated["relation"], stated["tail"], source=label)
        return [Row(number, triple)]

    return parse


def _table() -> Parse:
    """A header that names head, relation and tail, in any order, and perhaps source."""
    columns: dict[str, int] = {}
    comma = False

    def parse(text: str, number: int, label: str) -> Iterable[Row]:
        nonlocal comma
        if not columns:
            comma = "\t" not in text
            names = _split(text, comma=comma)
            columns.update({cell.strip().lower(): i for i, cell in enumerate(names)})
            return ()
        cells = _split(text, comma=comma)
        if len(cells) <= max(columns["head"], columns["relation"], columns["tail"]):
            raise _too_short(cells, f"{len(columns)} as in the first line")
        place = columns.get("source", -1)
        source = cells[place].strip() if 0 <= place < len(cells) else ""
        head, relation, tail = (cells[columns[side]] for side in ("head", "relation", "tail"))
        return [Row(number, Triple(head, relation, tail, source=source or label))]

    return parse


def _split(text: str, *, comma: bool) -> list[str]:
    return next(csv.reader([text])) if comma else text.split("\t")


def _atomic() -> Parse:
    """ATOMIC (2018): one event a line, a JSON list of tails in the column of each relation."""
    header: list[str] = []

    def parse(text: str, number: int, label: str) -> Iterator[Row | Bad]:
        cells = _split(text, comma=True)
        if not header:
            header.extend(cells)
            return
        if len(cells) != len(header):
            raise _too_short(cells, f"{len(header)} as in the first line")
        for relation, cell in zip(header[1:], cells[1:], strict=True):
            if relation in ("prefix", "split") or not cell.strip():
                continue
            try:
                tails = decode(cell.encode())
            except Bad as bad:
                yield Bad(relation, bad.problem)
                continue
            if not isinstance(tails, list):
                yield Bad(relation, "a JSON list of tails is needed")
                continue
            for tail in tails:
                yield Row(number, Triple(cells[0], relation, str(tail), source=label))

    return parse


def _conceptnet(text: str, number: int, label: str) -> Iterable[Row]:
    """ConceptNet 5's assertions: its own name, relation, start, end, and details as JSON."""
    cells = text.split("\t")
    if len(cells) < 4 or not cells[1].startswith("/r/"):
        raise _too_short(cells, "name, relation (/r/…), start and end")
    ends = [cell.split("/") for cell in cells[2:4]]
    relation = cells[1].removeprefix("/r/")
    english = all(len(end) > 3 and end[1:3] == ["c", "en"] for end in ends)
    head, tail = (end[3].replace("_", " ") if len(end) > 3 else "" for end in ends)
    # dbpedia/… and ExternalURL link to other data bases and say nothing about the world.
    linked = "/" in relation or relation == "ExternalURL"
    skipped = "links to another data base" if linked else "" if english else "not English"
    return [Row(number, Triple(head, relation, tail, source=label), skipped)]


def _read_kogito(
    lines: Iterator[Line | RecordError], name: str, label: str
) -> Iterator[Row | RecordError]:
    """JSON lines with head, relation and tails (or tail), as kogito writes its graphs."""
    return parsed_lines(
        lines, name, lambda line: _kogito_rows(decode(line.data), line.number, label)
    )


def _kogito_rows(record: object, number: int, label: str) -> list[Row]:
    if not isinstance(record, dict):
        raise Bad(None, "an object with head, relation and tails is needed")
    for field in ("head", "relation"):
        if not isinstance(record.get(field), str):
            raise Bad(field, "a text is needed")
    tails = record.get("tails", record.get("tail"))
    listed = [tails] if isinstance(tails, str) else tails
    if not isinstance(listed, list) or not all(isinstance(tail, str) for tail in listed):
        raise Bad("tails", "a list of texts is needed")
    source = str(record.get("source") or label)
    head, relation = str(record["head"]), str(record["relation"])
    return [Row(number, Triple(head, relation, str(tail), source=source)) for tail in listed]


def _has_header(line: str) -> bool:
    names = {cell.strip().strip('"').lower() for cell in re.split(r"[\t,]", line)}
    return {"head", "relation", "tail"} <= names


def _column_is(line: str, column: int, schema: str) -> bool:
    cells = line.split("\t")
    return len(cells) >= 3 and cells[column].strip() in load_schema(schema).relations


SOURCES = (
    Source(
        "atomic",
        "the CSV of ATOMIC 2018: event, oEffect, …",
        "atomic2020",
        lambda line: line.startswith("event,"),
        _line_by_line(_atomic),
    ),
    Source(
        "conceptnet",
        "the assertions of ConceptNet 5: /a/[…], /r/IsA, /c/en/…",
        "conceptnet",
        lambda line: line.startswith("/a/["),
        _line_by_line(lambda: _conceptnet),
    ),
    Source(
        "links",
        "JSON lines of grice triplets",
        "cider",
        lambda line: line.lstrip().startswith("{") and '"head_span"' in line,
        _read_kogito,
    ),
    Source(
        "kogito",
        'JSON lines {"head": …, "relation": …, "tails": […]}',
        "",
        lambda line: line.lstrip().startswith("{"),
        _read_kogito,
    ),
    Source(
        "table",
        "tabs or commas, the first line names head, relation, tail, perhaps source",
        "",
        _has_header,
        _line_by_line(_table),
    ),
    Source(
        "atomic2020",
        "head, relation, tail, parted by tabs, no first line",
        "",
        lambda line: any(_column_is(line, 1, schema) for schema in SCHEMAS),
        _line_by_line(lambda: _in_order("head", "relation", "tail")),
    ),
    Source(
        "conceptnet-100k",
        "relation, head, tail, parted by tabs, no first line",
        "conceptnet",
        lambda line: _column_is(line, 0, "conceptnet"),
        _line_by_line(lambda: _in_order("relation", "head", "tail")),
    ),
)
"""The known formats, the surest to recognise first."""
