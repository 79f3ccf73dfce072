"""Arrow tables: Parquet files, Arrow files and streams, or a table of a program.

A row is a conversation, a response or a turn.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, TypeAlias

import msgspec

from grice.errors import InputError, RecordError, excerpt, os_reason
from grice.readers._formats import Format, best_format
from grice.readers._input import Input, blocks_of
from grice.readers._json import Line
from grice.readers.table import Header, Row, check_parts, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow

    from grice.readers._formats import Found

    Batches: TypeAlias = Iterable[pyarrow.RecordBatch]
    Columns: TypeAlias = Mapping[str, str]
    Numbered: TypeAlias = "tuple[int, dict[str, Any]] | RecordError"

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
    if _layout(table.to_batches(), header, columns, name) is None and header.group is not None:
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


def _read(
    lines: Iterable[Line | RecordError], name: str, columns: Columns | None = None
) -> Iterator[Found]:
    """Return the conversations of a file: from its place, else by way of a temporary file."""
    check_arrow()
    file = _seekable(lines, name)
    try:
        names, rows, batches = _opened(file)
        if not rows:
            raise InputError(f"{name}: the table has no row; there is no conversation in it")
        watched = _watched(batches, rows, lines, name)
        header = Header(names, columns)
        records = _read_batches(header, watched, name, count(1), columns or {}).records
    except InputError:
        file.close()
        raise
    except (OSError, ValueError) as error:  # of pyarrow, too
        file.close()
        raise InputError(f"{name}: cannot be read: {excerpt(os_reason(error), 300)}") from None
    return _until_broken(records, file, name)


def _opened(file: BinaryIO) -> tuple[Sequence[str], int, Batches]:
    """Return the names of columns, the number of rows, and batches."""
    import pyarrow.ipc

    magic = file.read(len(ARROW))
    if not magic.startswith((PARQUET, ARROW, STREAM)):
        raise ValueError("it begins neither as a Parquet file nor as an Arrow file or stream")
    file.seek(0)
    if magic == ARROW:
        source = pyarrow.ipc.open_file(file)
        held = [source.get_batch(place) for place in range(source.num_record_batches)]
        return source.schema.names, sum(batch.num_rows for batch in held), held
    if magic.startswith(STREAM):
        with pyarrow.ipc.open_stream(file) as counted:
            rows = sum(batch.num_rows for batch in counted)
        file.seek(0)
        stream = pyarrow.ipc.open_stream(file)
        return stream.schema.names, rows, stream
    import pyarrow.parquet

    parquet = pyarrow.parquet.ParquetFile(file, pre_buffer=False)
    batches = parquet.iter_batches(batch_size=ROWS, use_threads=False)
    return parquet.schema_arrow.names, parquet.metadata.num_rows, batches


def _until_broken(records: Iterator[Found], file: BinaryIO, name: str) -> Iterator[Found]:
    with closing(file):
        try:
            yield from records
        except (OSError, ValueError) as error:
            reason = excerpt(os_reason(error), 300)
            problem = f"the file is damaged here ({reason}); what stood before was read"
            yield RecordError(problem, file=name)


def _seekable(lines: Iterable[Line | RecordError], name: str) -> BinaryIO:
    path = Path(name)
    if path.is_file():
        file = path.open("rb")
        if file.read(4) in (PARQUET, ARROW[:4], STREAM):  # and not packed with gzip
            file.seek(0)
            return file
        file.close()
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed by its reader
    for block in blocks_of(lines):
        if isinstance(block, RecordError):
            spool.close()
            raise InputError(str(block))
        spool.write(block)
    spool.seek(0)
    return spool


def _watched(
    batches: Batches, rows: int, lines: Iterable[Line | RecordError], name: str
) -> Iterator[pyarrow.RecordBatch]:
    """Yield batches, and note the progress of reading."""
    size = Path(name).stat().st_size if Path(name).is_file() else 0
    seen = 0
    for batch in batches:
        yield batch
        seen += batch.num_rows
        if isinstance(lines, Input):
            lines.taken = size * seen // rows


def _read_batches(
    header: Header, batches: Batches, name: str, numbers: Iterable[int], columns: Columns
) -> TableRead:
    left = iter(batches)
    first = list(islice(left, 1))
    rows = _rows(chain(first, left), name, numbers)
    if (form := _layout(first, header, columns, name)) is not None:
        lines = (
            row if isinstance(row, RecordError) else Line(row[0], msgspec.json.encode(row[1]))
            for row in rows
        )
        return TableRead("conversation", form.read(lines, name))
    if columns:
        header.checked(columns, name)
    if header.kind is not None:
        cells = (
            row
            if isinstance(row, RecordError)
            else Row(row[0], [_cell(row[1].get(column)) for column in header.names])
            for row in rows
        )
        row_is: RowIs = "turn" if header.is_grouped else "conversation"
        return TableRead(row_is, read_rows(cells, header, name))
    if any(batch.num_rows for batch in first):
        header.checked(columns, name, "a list of turns or messages, or ")
    return TableRead("conversation", iter(()))


def _layout(
    batches: Sequence[pyarrow.RecordBatch], header: Header, columns: Columns, name: str
) -> Format | None:
    """Return the format of JSON whose layout the first rows have; None if columns say more."""
    if columns or (header.kind == "pair" and header.is_grouped):
        return None
    first = [batch.slice(0, LOOK_AT) for batch in batches[:1]]
    rows = (row for row in _rows(first, name, count(1)) if not isinstance(row, RecordError))
    prefix = b"\n".join(msgspec.json.encode(row) for _, row in rows)
    sure, form = best_format(prefix, "json", "table")
    return form if prefix and sure >= 0.5 else None


def _rows(batches: Batches, name: str, numbers: Iterable[int]) -> Iterator[Numbered]:
    """Yield the rows as Python objects with their numbers; a null is a field that is not there."""
    numbered = iter(numbers)
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS):
            yield from _objects(batch.slice(start, ROWS), name, numbered)


def _objects(batch: pyarrow.RecordBatch, name: str, numbers: Iterator[int]) -> Iterator[Numbered]:
    try:
        rows = batch.to_pylist()
    except (ValueError, OverflowError, OSError) as error:
        if batch.num_rows == 1:
            problem = f"holds a value that cannot be read: {os_reason(error)}"
            yield RecordError(problem, file=name, line=next(numbers))
            return
        # One row spoils the conversion of all: each is tried for itself.
        for place in range(batch.num_rows):
            yield from _objects(batch.slice(place, 1), name, numbers)
        return
    for row in rows:
        yield next(numbers), _filled(row)


def _filled(value: Any) -> Any:  # noqa: ANN401 - any value of a table
    """Return a value without the nulls that Arrow puts where a field is missing."""
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
