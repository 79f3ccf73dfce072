"""Arrow tables: Parquet files, Arrow files and streams, or a table of a program.

A row is a conversation, a response or a turn.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from difflib import get_close_matches
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from grice.errors import InputError, RecordError, excerpt, os_reason, shortened
from grice.readers._bytes import Lines, blocks_of
from grice.readers._format import Format, Line
from grice.readers._rows import Row
from grice.readers.table import Header, check_parts, checked_header, header_of, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow

    from grice.readers._format import Found

    Batches: TypeAlias = Iterable[pyarrow.RecordBatch]
    Columns: TypeAlias = Mapping[str, str]
    Numbered: TypeAlias = "tuple[int, dict[str, Any]] | RecordError"

RowIs: TypeAlias = Literal["conversation", "turn"]

MISSING = (
    "Parquet files and Arrow tables need pyarrow, which is not installed: "
    'pip install "grice[arrow]"'
)
COLUMNS = ("turns", "messages", "context", "response", "conversation_id", "speaker", "text")
"""Columns that are looked for first; the formats of JSON and of tables name the others."""
ROWS = 256
"""Rows that are held as Python objects at a time."""
MAGIC = b"ARROW1\0\0"
CONTINUED = b"\xff\xff\xff\xff"
"""How each message of a stream begins; no text does."""
LONGEST_SCHEMA = 1 << 24
LOOK_AT = 8
"""Rows that are looked at to see what they are."""


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
        name: What to call it in complaints.
        columns: Names of columns by what they are; see :func:`grice.read`.

    Raises:
        InputError: If its columns hold no conversations.
    """
    columns = columns or {}
    check_parts(columns)
    header = header_of(table.schema.names, columns=columns)
    if _layout_of(table.to_batches(), header, columns, name) is None and header.is_grouped:
        order = _by_conversation(table, header)
        if order != sorted(order):
            table = table.take(order)
        numbers: Iterable[int] = [place + 1 for place in order]
    else:
        numbers = count(1)
    return _read(header, table.to_batches(max_chunksize=ROWS), name, numbers, columns)


def _by_conversation(table: pyarrow.Table, header: Header) -> list[int]:
    """Return the places of the rows in the order in which their conversations begin."""
    if header.group is None:
        return list(range(table.num_rows))
    names = table.column(header.group).to_pylist()
    first: dict[object, int] = {}
    for place, conversation in enumerate(names):
        first.setdefault(conversation, place)
    return sorted(range(len(names)), key=lambda place: first[names[place]])


def read_file(
    lines: Iterable[Line | RecordError],
    name: str,
    batches_of: Callable[[BinaryIO], tuple[Sequence[str], int, Batches]],
    columns: Columns | None = None,
) -> Iterator[Found]:
    """Return the conversations of a file of a table.

    A file under that name is read from where it lies, any other input is first written to a
    temporary file. ``batches_of`` returns the names of columns, the number of rows, and batches.
    """
    check_arrow()
    file = _seekable(lines, name)
    try:
        names, rows, batches = batches_of(file)
        if not rows:
            raise InputError(f"{name}: the table has no row; there is no conversation in it")
        watched = _watched(batches, rows, lines, name)
        header = header_of(names, columns=columns)
        records = _read(header, watched, name, count(1), columns or {}).records
    except InputError:
        file.close()
        raise
    except (OSError, ValueError) as error:  # of pyarrow, too
        file.close()
        raise InputError(f"{name}: cannot be read: {excerpt(os_reason(error), 300)}") from None
    return _until_broken(records, file, name)


def _until_broken(records: Iterator[Found], file: BinaryIO, name: str) -> Iterator[Found]:
    with closing(file):
        try:
            yield from records
        except (OSError, ValueError) as error:
            yield RecordError(
                f"the file is damaged here ({excerpt(os_reason(error), 300)}); what stood before "
                "was read",
                file=name,
            )


def _seekable(lines: Iterable[Line | RecordError], name: str) -> BinaryIO:
    path = Path(name)
    if path.is_file():
        file = path.open("rb")
        if file.read(4) in (b"PAR1", b"ARRO", b"\xff\xff\xff\xff"):  # and not packed with gzip
            file.seek(0)
            return file
        file.close()
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed by whoever reads it
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
    """Yield batches, and tell whoever watches the reading how far it has come."""
    size = Path(name).stat().st_size if Path(name).is_file() else 0
    seen = 0
    for batch in batches:
        yield batch
        seen += batch.num_rows
        if isinstance(lines, Lines):
            lines.taken = size * seen // rows


def _read(
    header: Header, batches: Batches, name: str, numbers: Iterable[int], columns: Columns
) -> TableRead:
    left = iter(batches)
    first = list(islice(left, 1))
    if (form := _layout_of(first, header, columns, name)) is not None:
        rows = _rows(chain(first, left), name, numbers)
        return TableRead("conversation", form.read(_json_lines(rows), name))
    if columns:
        header = checked_header(header, columns, name)
    if header.per_row is not None:
        cells = _cells(_rows(chain(first, left), name, numbers), header.names)
        row_is: RowIs = "turn" if header.is_grouped else "conversation"
        return TableRead(row_is, read_rows(cells, header, name))
    if not sum(batch.num_rows for batch in first):
        return TableRead("conversation", iter(()))
    raise InputError(f"{name}: {_no_layout(header.names)}")


def _layout_of(
    batches: Sequence[pyarrow.RecordBatch], header: Header, columns: Columns, name: str
) -> Format | None:
    """Return the format of JSON in which a row is a conversation; None if columns say more."""
    if columns or (header.per_row == "pair" and header.is_grouped):
        return None
    return _known(batches, name)


def _known(batches: Sequence[pyarrow.RecordBatch], name: str) -> Format | None:
    """Return the format of JSON whose layout the first rows have; None if they have none."""
    from grice.readers._registry import find_formats  # which imports this module

    first = [batch.slice(0, LOOK_AT) for batch in batches[:1]]
    rows = (row for row in _rows(first, name, count(1)) if not isinstance(row, RecordError))
    prefix = b"\n".join(msgspec.json.encode(row) for _, row in rows)
    forms = [form for form in find_formats().formats.values() if form.name not in ("json", "table")]
    best = max(forms, key=lambda form: form.sniff(prefix))
    return best if prefix and best.sniff(prefix) >= 0.5 else None


def _no_layout(columns: Sequence[str]) -> str:
    near = {
        column: match[0]
        for column in columns
        if (match := get_close_matches(shortened(column).lower(), COLUMNS, n=1, cutoff=0.5))
        and match[0] not in columns
    }
    meant = " and ".join(f"{right!r} for {wrong!r}" for wrong, right in [*near.items()][:3])
    return (
        f"no column holds conversations; found {excerpt(', '.join(columns), 200)}; expected a row "
        "a conversation (turns or messages: a list), a row a response (context, response), or a "
        f"row a turn (text with speaker or conversation_id){meant and f'; did you mean {meant}?'}; "
        "or name columns, such as --column text=NAME (columns={'text': NAME} in Python)"
    )


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
            problem = f"holds what cannot be read: {os_reason(error)}"
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


def _json_lines(rows: Iterable[Numbered]) -> Iterator[Line | RecordError]:
    """Yield rows as lines of JSON, which is what they would be in a file of JSON lines."""
    for row in rows:
        if isinstance(row, RecordError):
            yield row
        else:
            yield Line(row[0], msgspec.json.encode(row[1]))


def _cells(rows: Iterable[Numbered], columns: Sequence[str]) -> Iterator[Row | RecordError]:
    for row in rows:
        if isinstance(row, RecordError):
            yield row
        else:
            yield Row(row[0], [_cell(row[1].get(column)) for column in columns])


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode().strip('"')


def _file_batches(file: BinaryIO) -> tuple[Sequence[str], int, Batches]:
    import pyarrow.ipc

    source = pyarrow.ipc.open_file(file)
    batches = [source.get_batch(place) for place in range(source.num_record_batches)]
    return source.schema.names, sum(batch.num_rows for batch in batches), batches


def _stream_batches(file: BinaryIO) -> tuple[Sequence[str], int, Batches]:
    import pyarrow.ipc

    with pyarrow.ipc.open_stream(file) as counted:
        rows = sum(batch.num_rows for batch in counted)
    file.seek(0)
    source = pyarrow.ipc.open_stream(file)
    return source.schema.names, rows, source


def _parquet_batches(file: BinaryIO) -> tuple[Sequence[str], int, Batches]:
    import pyarrow.parquet

    parquet = pyarrow.parquet.ParquetFile(file, pre_buffer=False)
    batches = parquet.iter_batches(batch_size=ROWS, use_threads=False)
    return parquet.schema_arrow.names, parquet.metadata.num_rows, batches


def _is_stream(prefix: bytes) -> float:
    length = int.from_bytes(prefix[4:8], "little", signed=True)
    return float(prefix.startswith(CONTINUED) and 0 < length < LONGEST_SCHEMA)


def _format(
    name: str,
    *,
    summary: str,
    description: str,
    sniff: Callable[[bytes], float],
    batches_of: Callable[[BinaryIO], tuple[Sequence[str], int, Batches]],
) -> Format:
    read = partial(read_file, batches_of=batches_of)
    form = Format(
        name=name,
        summary=f"{summary} (`grice[arrow]`)",
        description=description,
        example="",
        sniff=sniff,
        read=read,
        with_columns=lambda columns: replace(form, read=partial(read, columns=columns)),
    )
    return form


PARQUET = _format(
    "parquet",
    summary="Parquet files: a conversation, a response or a turn per row",
    description="""\
A row is read as the JSON object of its columns would be, in the layout that has such fields:
`turns`, `messages`, `sharegpt`, `response` and so on. Where its columns are those of a **turn per
row**, or of a question and its answer with a conversation (see `table`), rows of one conversation
stand together and are grouped; `--column` names columns as there. A null is a field that is not
there; a line number is the number of the row, from 1. The file is read a few hundred rows at a
time, from where it lies; standard input and gzip are laid into a temporary file first.""",
    sniff=lambda prefix: float(prefix.startswith(b"PAR1")),
    batches_of=_parquet_batches,
)
ARROW = _format(
    "arrow",
    summary="Arrow (Feather) files: a conversation, a response or a turn per row",
    description="""\
Read as `parquet` is. The file is the one with a footer, as `pyarrow.feather.write_feather` and
`pyarrow.ipc.new_file` write it.""",
    sniff=lambda prefix: float(prefix.startswith(MAGIC)),
    batches_of=_file_batches,
)
ARROW_STREAM = _format(
    "arrow_stream",
    summary="Arrow streams, as Hugging Face's `Dataset.save_to_disk` writes them",
    description="""\
Read as `parquet` is. Name the folder that was saved: what describes the data set there is passed
over, and all its splits are read.""",
    sniff=_is_stream,
    batches_of=_stream_batches,
)
