"""Files of triples, read one triple at a time whatever the format.

Formats are in :mod:`grice.knowledge.source_formats`. What cannot be read is
yielded as a :class:`~grice.errors.RecordError` with file and line, and reading goes on behind it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import InputError, RecordError, did_you_mean
from grice.knowledge.mapping import find_mapping
from grice.knowledge.schema import load_schema
from grice.knowledge.source_formats import SCHEMAS, SOURCES, Row, Source
from grice.readers._bytes import PREFIX, open_input
from grice.readers._format import Line
from grice.records import Triple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grice.knowledge.mapping import Mapping
    from grice.knowledge.schema import Schema

NONE = "none"
"""What ATOMIC's annotators wrote for: nothing follows."""

LONGEST = 1000
"""Characters of a head or tail; a longer one is a text that slipped into the wrong column."""


class TripleFile(NamedTuple):
    """A file of triples whose format is known.

    Attributes:
        rows: Its triples, cleaned and checked, with what is wrong in between.
        close: Closes the file; not needed once the rows were read to their end.
    """

    name: str
    format: str
    schema: Schema
    rows: Iterator[Row | RecordError]
    close: Callable[[], None]


def open_triples(
    path: str,
    *,
    format: str = "",  # noqa: A002 - the flag's name
    schema: str = "",
    into: str = "",
) -> TripleFile:
    """Open a file of triples, gzipped or not; ``-`` is standard input.

    Args:
        schema: Name or path of the inventory; by default that of the format, or the one that
            has the relations of the first lines.
        into: Name of the inventory of the knowledge the triples are read for. Where their format
            states one that is mapped to it (:mod:`grice.knowledge.mapping`), relations are renamed
            and those without a counterpart skipped; else it is taken for theirs too.

    Raises:
        InputError: If it cannot be opened, is of no known format, or several inventories have
            its relations.
    """
    opened = open_input(path, peek=PREFIX, holds="triple")
    label = re.split(r"[/\\]", opened.name)[-1].strip("<>")
    try:
        first = _first_lines(opened.prefix)
        source = _named(format) if format else _recognised(first, opened.name)
        mapping = find_mapping(source.schema, into)
        if into and mapping is None:
            schema = into
        if schema or source.schema:
            inventory = load_schema(schema or source.schema)
        else:
            inventory = _fitting(source, first, opened.name)
    except InputError:
        opened.closing.close()
        raise

    def rows() -> Iterator[Row | RecordError]:
        with opened.closing:
            for source_row in source.read(iter(opened.lines), opened.name, label):
                row = source_row
                if isinstance(row, Row):
                    row = _checked(row, inventory, opened.name)
                if mapping is not None and isinstance(row, Row) and not row.skipped:
                    row = _mapped(row, mapping, into)
                yield row

    schema_of_rows = inventory if mapping is None else load_schema(into)
    return TripleFile(opened.name, source.name, schema_of_rows, rows(), opened.closing.close)


def _mapped(row: Row, mapping: Mapping, into: str) -> Row:
    """Return a row under another inventory's relation, or skipped where that has none."""
    relation = row.triple.relation
    renamed = mapping.renamed(row.triple)
    if renamed is None:
        return row._replace(skipped=f"{into} has no {relation} ({mapping.dropped[relation]})")
    return row._replace(triple=renamed, renamed="" if renamed.relation == relation else relation)


def _first_lines(prefix: bytes) -> list[str]:
    whole = prefix.decode("utf-8", "replace").splitlines()
    if len(whole) > 1 and len(prefix) >= PREFIX:
        whole.pop()
    return [line for line in whole if line.strip()]


def _named(name: str) -> Source:
    known = {source.name: source for source in SOURCES}
    if name not in known:
        raise InputError(f"no format of triples {name!r}{did_you_mean(name, known)}")
    return known[name]


def _recognised(first: list[str], name: str) -> Source:
    for source in SOURCES:
        if first and source.sniff(first[0]):
            return source
    raise InputError(
        f"{name}: not a known file of triples; it begins with {(first or [''])[0][:60]!r}. Known "
        f"are {'; '.join(f'{source.name} ({source.summary})' for source in SOURCES)}"
    )


def _fitting(source: Source, first: list[str], name: str) -> Schema:
    """Return the inventory that has most of the relations of the first lines."""
    lines = (Line(number, text.encode()) for number, text in enumerate(first, 1))
    rows = [row for row in source.read(lines, name, "") if isinstance(row, Row)]
    counts = {
        schema: sum(row.triple.relation in load_schema(schema).relations for row in rows)
        for schema in SCHEMAS
    }
    if not any(counts.values()):
        relations = ", ".join(sorted({repr(row.triple.relation) for row in rows})[:3])
        raise InputError(
            f"{name}: looks like {source.name}, but "
            + (
                f"no inventory has its relations ({relations})"
                if relations
                else "holds no triple there"
            )
            + "; say which relations it has with --schema, a name or a TOML file"
        )
    best = [schema_name for schema_name, count in counts.items() if count == max(counts.values())]
    if len(best) > 1:
        raise InputError(
            f"{name}: the relations of its first lines are in {', '.join(best)}: say which with "
            f"--schema, such as --schema {best[0]}"
        )
    return load_schema(best[0])


def _checked(row: Row, schema: Schema, name: str) -> Row | RecordError:
    """Return a row with its texts cleaned, or what is wrong with it."""
    if row.skipped:
        return row
    triple = schema.renamed(row.triple)
    # Blanks between words say nothing, and a triple should stand once however it was typed.
    head, tail = (" ".join(text.split()) for text in (triple.head, triple.tail))
    triple = Triple(head, triple.relation.strip(), tail, source=triple.source)
    if problems := schema.problems(triple):
        return RecordError("; ".join(problems), file=name, line=row.line)
    for side, text in (("head", head), ("tail", tail)):
        if len(text) > LONGEST:
            return RecordError(
                f"{len(text):,} characters; an event or concept has at most {LONGEST:,}",
                file=name,
                line=row.line,
                field=side,
            )
    if tail.lower() == NONE and schema.name == "atomic2020":
        return row._replace(skipped="tail says none")
    return row._replace(triple=triple)
