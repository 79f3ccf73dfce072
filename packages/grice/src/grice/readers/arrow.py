"""Arrow tables: Parquet files, Arrow files and streams, or a table of a program.

A row is a conversation, a response or a turn.
"""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, TypeAlias

import msgspec

from grice.errors import InputError, excerpt, os_reason
from grice.readers._formats import Format, Found, best_format
from grice.readers._json import FieldError, Line, Row
from grice.readers.table import Header, check_parts, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow

    from grice.readers._input import Input

    Batches: TypeAlias = Iterable[pyarrow.RecordBatch]
    Columns: TypeAlias = Mapping[str, str]

RowIs: TypeAlias = Literal["conversation", "turn"]

MISSING = (
    "Parquet files and Arrow tables need pyarrow, which is not installed: "
    'pip install "grice[arrow]"'
)
ROWS = 256
"""Rows that are held as Python objects at a time."""
PARQUET, ARROW, STREAM = b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff"
"""First bytes of each; no text begins as a message of a stream does."""
LONGEST_SCHEMA = 1 << 24
_UNREADABLE = (ValueError, OverflowError, OSError)
LOOK_AT = 8
"""Rows that are looked at to see their layout."""


class TableRead(NamedTuple):
    """The conversations of a table, and whether a row is one; rows that are turns were grouped."""

    row_is: RowIs
    records: Iterator[Found]


def check_arrow() -> None:
    """Raise InputError if pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise InputError(MISSING) from None


def from_table(
    table: pyarrow.Table, name: str = "table", columns: Columns | None = None
) -> TableRead:
    """Return the conversations of a table; rows of one conversation need not stand together.

    Args:
        table: The table.
        name: Name of the table in messages.
        columns: Names of columns by what they are; see :func:`grice.read`.

    Raises:
        InputError: If its columns hold no conversations.
    """
    columns = columns or {}
    check_parts(columns)
    header = Header(table.schema.names, columns)
    numbers: Iterable[int] = count(1)
    if _layout(table.to_batches()[:1], header, columns) is None and header.group is not None:
        # In the order in which conversations begin.
        names = table.column(header.group).to_pylist() if header.is_grouped else []
        first: dict[object, int] = {}
        for place, conversation in enumerate(names):
            first.setdefault(conversation, place)
        order = sorted(range(len(names)), key=lambda place: first[names[place]])
        if order != sorted(order):
            table = table.take(order)
            numbers = [place + 1 for place in order]
    return _read_batches(header, table.to_batches(max_chunksize=ROWS), name, numbers, columns)


def _read(lines: Input, name: str, columns: Columns | None = None) -> Iterator[Found]:
    """Return the conversations of a file."""
    check_arrow()
    try:
        names, batches = _opened(lines.seekable())
        batches = (batch for batch in batches if batch.num_rows)
        first = next(batches, None)
        if first is None:
            raise InputError(f"{name}: the table has no row; there is no conversation in it")
        header = Header(names, columns)
        batches = chain([first], batches)
        records = _read_batches(header, batches, name, count(1), columns or {}).records
    except FieldError as bad:
        raise InputError(f"{name}: {bad.problem}") from None
    except (OSError, ValueError) as error:  # of pyarrow, too
        raise InputError(f"{name}: cannot be read: {excerpt(os_reason(error), 300)}") from None
    return _until_broken(records, name)


def _opened(file: BinaryIO) -> tuple[Sequence[str], Iterator[pyarrow.RecordBatch]]:
    """Return the names of columns, and batches."""
    import pyarrow.ipc

    magic = file.read(len(ARROW))
    file.seek(0)
    if magic == ARROW:
        source = pyarrow.ipc.open_file(file)
        places = range(source.num_record_batches)
        return source.schema.names, (source.get_batch(place) for place in places)
    if magic.startswith(STREAM):
        stream = pyarrow.ipc.open_stream(file)
        return stream.schema.names, iter(stream)
    if not magic.startswith(PARQUET):
        raise ValueError("it begins neither as a Parquet file nor as an Arrow file or stream")
    import pyarrow.parquet

    parquet = pyarrow.parquet.ParquetFile(file, pre_buffer=False)
    batches = parquet.iter_batches(batch_size=ROWS, use_threads=False)
    return parquet.schema_arrow.names, batches


def _until_broken(records: Iterator[Found], name: str) -> Iterator[Found]:
    try:
        yield from records
    except (OSError, ValueError) as error:
        reason = excerpt(os_reason(error), 300)
        problem = f"the file is damaged here ({reason}); what stood before was read"
        yield FieldError(None, problem).at(name)


def _read_batches(
    header: Header, batches: Batches, name: str, numbers: Iterable[int], columns: Columns
) -> TableRead:
    left = iter(batches)
    first = next(left, None)
    if first is None:
        return TableRead("conversation", iter(()))
    rows = _rows(chain([first], left), iter(numbers))
    if (form := _layout([first], header, columns)) is not None:
        lines = (Line(row.number, _json(header, row), row.problem) for row in rows)
        return TableRead("conversation", form.read(lines, name))
    header.checked(columns, name, "" if columns else "a list of turns or messages, or ")
    texts = (row._replace(cells=list(map(_cell, row.cells))) for row in rows)
    row_is: RowIs = "turn" if header.is_grouped else "conversation"
    return TableRead(row_is, read_rows(texts, header, name))


def _layout(
    batches: Sequence[pyarrow.RecordBatch], header: Header, columns: Columns
) -> Format | None:
    """Return the format of JSON whose layout the first rows have; None if columns say more."""
    if columns or (header.kind == "pair" and header.is_grouped):
        return None
    rows = _rows([batch.slice(0, LOOK_AT) for batch in batches], count(1))
    prefix = b"\n".join(_json(header, row) for row in rows if not row.problem)
    sure, form = best_format(prefix, "json", "table")
    return form if prefix and sure >= 0.5 else None


def _rows(batches: Batches, numbers: Iterator[int]) -> Iterator[Row]:
    """Yield the rows with their numbers, their cells as Python objects."""
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS):
            part = batch.slice(start, ROWS)
            try:
                rows = part.to_pylist()
            except _UNREADABLE:  # one row spoils the conversion of all: each is tried for itself
                rows = [_row(part, place) for place in range(part.num_rows)]
            for row in rows:
                if isinstance(row, str):
                    yield Row(next(numbers), [], row)
                else:
                    yield Row(next(numbers), list(row.values()))


def _row(batch: pyarrow.RecordBatch, place: int) -> dict[str, Any] | str:
    try:
        return dict(batch.slice(place, 1).to_pylist()[0])
    except _UNREADABLE as error:
        return f"holds a value that cannot be read: {os_reason(error)}"


def _json(header: Header, row: Row) -> bytes:
    """Return a row as a JSON object, without the nulls that stand where a field is missing."""
    return msgspec.json.encode(_filled(dict(zip(header.names, row.cells, strict=False))))


def _filled(value: Any) -> Any:  # noqa: ANN401 - any value of a table
    if isinstance(value, dict):
        return {name: _filled(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_filled(inner) for inner in value]
    return value


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode().strip('"')


def _is_stream(prefix: bytes) -> bool:
    length = int.from_bytes(prefix[4:8], "little", signed=True)
    return prefix.startswith(STREAM) and 0 < length < LONGEST_SCHEMA


def _format(name: str, summary: str, fits: Callable[[bytes], bool]) -> Format:
    return Format(
        name,
        f"{summary} (`grice[arrow]`)",
        lambda prefix: float(fits(prefix)),
        _read,
        has_columns=True,
    )


FORMATS = (
    _format("parquet", "Parquet files", lambda prefix: prefix.startswith(PARQUET)),
    _format("arrow", "Arrow (Feather) files", lambda prefix: prefix.startswith(ARROW)),
    _format("arrow_stream", "Arrow streams, as of `Dataset.save_to_disk`", _is_stream),
)
