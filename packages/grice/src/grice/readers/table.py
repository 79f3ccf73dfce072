"""Tables: CSV and TSV, Parquet files, Arrow files and streams, or a table of a program.

A row is a response, a question with its answer or a turn; in Arrow it may also be a conversation.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count, groupby, islice
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, TypeAlias

import msgspec

from grice.data import Turn
from grice.errors import InputError, did_you_mean, excerpt, os_reason, plural
from grice.readers._formats import TABLE_SURE, FieldError, Format, Found, Line, best_format, stem
from grice.readers.layouts import ANSWERS, HISTORY, QUESTIONS, RESPONSE, build, question_text, turn
from grice.readers.roles import ASSISTANT, USER
from grice.readers.text import Part, grouped

if TYPE_CHECKING:
    import pyarrow

    from grice.readers._reading import Input

    Columns: TypeAlias = Mapping[str, str]

_REFERENCE = re.compile(r"references?(?:_?\d+)?")
PARTS = {
    "conversation": (
        *("conversation_id", "dialogue_id", "dialog_id", "conv_id", "conversation"),
        *("chat_id", "thread_id", "ticket_id", "case_id", "call_id", "session_id"),
        *("thread", "ticket", "session"),
    ),
    "speaker": ("speaker", "name", "author", "agent", "sender", "from"),
    "role": ("role",),
    "text": ("text", "utterance", "message", "content"),
    "time": ("time", "timestamp"),
    "context": HISTORY,
    "response": RESPONSE,
    "question": QUESTIONS,
    "answer": ANSWERS,
}
"""Known names of the columns by their part; the first that is present counts."""
_ROWS = {"response": {"context", "response"}, "turn": {"text"}, "pair": {"question", "answer"}}
"""Required columns by kind of row."""
_FIELDS = {
    "response": ("context", "response"),
    "turn": ("text", "speaker", "role", "time"),
    "pair": ("answer", "time"),
}
"""Parts that a row of a kind is made of, beside a question."""
_OPTIONAL = frozenset({"speaker", "role", "time"})
MOST_ROWS = 20
"""Rows of a table without a column of conversations that are taken for one conversation."""

BATCH = 256  # rows that are held as Python objects at a time
PARQUET, ARROW, STREAM = b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff"  # first bytes of each
LOOK_AT = 8  # rows that are looked at to see their layout


class Row(NamedTuple):
    """The cells of a row of a table, and the line it starts on; or why it cannot be read."""

    number: int
    cells: list[Any]
    problem: str | None = None


class Header:
    """The parts of the columns of a table; columns without a part are meta.

    ``kind`` is that of a row; ``group`` the column with the id of the conversation.
    """

    def __init__(
        self, names: Sequence[str], columns: Columns | None = None, delimiter: str = ","
    ) -> None:
        self.names, self.delimiter = list(names), delimiter
        self._plain = plain = list(map(_plain, names))
        columns = columns or {}
        stated = {part: self.place(name) for part, name in columns.items()}
        self.is_one = columns.get("conversation") == ""  # the whole table
        found = {
            part: next((plain.index(name) for name in known if name in plain), None)
            for part, known in PARTS.items()
        } | stated
        found["answer"] = stated.get("answer", stated.get("response", found["answer"]))
        places = {part: place for part, place in found.items() if place is not None}
        named = places.get("conversation")
        row_id = plain.index("id") if "id" in plain and "conversation" not in stated else None
        # The kind of row of which the user names most columns rules out the others.
        chosen = {"answer" if part == "response" else part for part in stated} | stated.keys()
        most = max(len(chosen & parts) for parts in _ROWS.values())
        kinds = [
            kind
            for kind, parts in _ROWS.items()
            if len(chosen & parts) == most and places.keys() >= parts
        ]
        self.kind = kinds[0] if kinds else None
        if self.kind == "turn" and places.keys().isdisjoint(("speaker", "role")):
            has_id = named is not None or row_id is not None or self.is_one
            self.kind = "pair" if "pair" in kinds else "turn" if has_id else None
        self._question = [places["question"]] if self.kind == "pair" else []
        has_input = "question" not in stated and "input" in plain
        if has_input and [plain[place] for place in self._question] == ["instruction"]:
            self._question.append(plain.index("input"))
        in_talk = named is not None or self.is_one
        self.is_grouped = self.kind == "turn" or (self.kind == "pair" and in_talk)
        # Beside a column with the conversation, an id is that of the turn or the pair.
        first, second = (named, row_id) if self.is_grouped else (row_id, named)
        self.group = second if first is None else first
        self._fields = [
            (part, places[part])
            for part in _FIELDS.get(self.kind or "", ())
            if part in places and (part != "time" or self.is_grouped)
        ]
        self._references = [i for i, name in enumerate(plain) if _REFERENCE.fullmatch(name)]
        used = {self.group, *self._question, *self._references, *dict(self._fields).values()}
        self._meta = [(name, i) for i, name in enumerate(self.names) if i not in used]

    def place(self, name: str) -> int | None:
        """Return the place of a column, by its name or one that differs in case and blanks."""
        for names, wanted in ((self.names, name), (self._plain, _plain(name))):
            if name and wanted in names:
                return names.index(wanted)
        return None

    def likely_group(self, rows: Sequence[Row]) -> str | None:
        """Return a column without a part whose values divide rows into runs of two at least."""
        for name, place in self._meta:
            cells = [row.cells[place] for row in rows if place < len(row.cells)]
            runs = [len(list(run)) for _, run in groupby(cells)]
            if len(runs) == len(set(map(str, cells))) > 1 and min(runs) > 1:
                return name
        return None

    def record(self, row: Row) -> dict[str, Any]:
        """Return a row as an object with the fields of the JSON layouts."""
        cells = row.cells
        if row.problem or len(cells) != len(self.names):
            problem = f"found {plural(len(cells), 'cell')}, the header has {len(self.names)}"
            raise FieldError(None, row.problem or problem)
        record: dict[str, Any] = {
            part: cells[place]
            for part, place in self._fields
            if cells[place] or part not in _OPTIONAL
        }
        if self._question:
            record["question"] = question_text([cells[place] for place in self._question])
        if self._references:
            record["references"] = [cells[place] for place in self._references if cells[place]]
        if self._meta:
            record["meta"] = {name: cells[place] for name, place in self._meta}
        return record

    def checked(self, columns: Columns, file: str, others: str = "") -> Header:
        """Return the header if its columns can be read, else raise InputError."""
        for part, name in columns.items():
            if name and self.place(name) is None:
                near = excerpt(did_you_mean(name, self.names), 300)
                raise InputError(f"{file}: the table has no column {name!r} for {part}{near}")
        if self.kind is None:
            raise InputError(
                f"{file}: the columns of this table are {self.shown()}; it needs {others}"
                "text with speaker, role or conversation, or question and answer, or context and "
                "response: say which column is which, as in --column text=NAME --column "
                "speaker=NAME --column conversation=NAME (columns={'text': NAME, …} in Python)"
            )
        return self

    def shown(self) -> str:
        """Return the names of the columns for messages."""
        return excerpt(", ".join(self.names), 200)


def _plain(name: str) -> str:
    """Return a name of a column in lower case with underscores: ``chat_id`` of ``Chat-ID``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s_-]+", "_", words).lower()


def check_parts(columns: Columns) -> None:
    """Raise InputError for a key that is no part of a conversation, or an empty name."""
    for part, name in columns.items():
        if part not in PARTS:
            raise InputError(f"a column cannot be {part[:40]!r}{did_you_mean(part, PARTS)}")
        if not name.strip() and part != "conversation":
            raise InputError(f"the name of the column of {part!r} is empty")


def _converted(rows: Iterable[Row], header: Header, name: str) -> Iterator[Found]:
    """Return the conversations of the rows of a table; rows of one stand together."""
    if not header.is_grouped:
        return _single_rows(rows, header, name)
    if header.kind == "turn" and header.group is None and not header.is_one:
        source = iter(rows)
        first = list(islice(source, MOST_ROWS + 1))
        is_long, likely = len(first) > MOST_ROWS, header.likely_group(first)
        if is_long or likely:
            rows_seen = f"more than {MOST_ROWS}" if is_long else str(len(first))
            seems = f", unless it is {likely!r}" if likely else ""
            raise InputError(
                f"{name}: {rows_seen} rows, and no column names the conversation of each{seems}; "
                f"the columns are {header.shown()}; name one with --column conversation=NAME, or "
                "write --column conversation= if all rows are one conversation "
                "(columns={'conversation': …} in Python)"
            )
        rows = chain(first, source)
    return grouped(rows, name, partial(_part, header=header))


def _single_rows(rows: Iterable[Row], header: Header, name: str) -> Iterator[Found]:
    base = stem(name)
    for row in rows:
        try:
            record = {"meta": {}, **header.record(row)}
            if header.group is not None and row.cells[header.group]:
                record["id"] = row.cells[header.group]
            yield build(record, f"{base}:{row.number}")
        except FieldError as bad:
            yield bad.at(name, row.number)


def _part(row: Row, header: Header) -> Part:
    record = header.record(row)
    group = (row.cells[header.group] or None) if header.group is not None else None
    asked = []
    if header.kind == "pair":
        if (question := record.pop("question")).strip():
            asked = [Turn(USER, question, USER, record.get("time"))]
        record |= {"text": record.pop("answer"), "speaker": ASSISTANT, "role": ASSISTANT}
    return Part(group, [*asked, turn(record, "")])


def _text_rows(source: Iterator[Line], delimiter: str) -> Iterator[Row]:
    """Yield the rows of a table in text.

    A row runs over several lines only inside quotes that are closed within 1,000 lines and 1 MiB.
    Else the first line alone is broken (with tabs: taken as it stands), and the next is tried.
    """
    waiting: deque[Line] = deque()
    held: list[Line] = []  # lines of a row behind its first

    def following() -> Line | None:
        return waiting.popleft() if waiting else next(source, None)

    def texts(first: str) -> Iterator[str]:
        yield first + "\n"
        size = len(first)
        while (line := following()) is not None:
            held.append(line)
            size += len(line.data)
            if len(held) >= 1_000 or size > 1 << 20:
                raise FieldError(None, "a quote is not closed within 1,000 lines or 1 MiB")
            yield line.text() + "\n"

    while (line := following()) is not None:
        if line.is_blank():
            continue
        held.clear()
        text = problem = None
        try:
            text = line.text()
            cells = text.split(delimiter)
            if '"' in text or "\r" in text:
                cells = next(csv.reader(texts(text), delimiter=delimiter, strict=True))
        except (csv.Error, FieldError) as error:
            waiting.extendleft(reversed(held))
            if text is None:
                problem = str(error)
            elif delimiter != "\t":
                problem = f"the quotes of a cell do not match, or it is too long for CSV: {error}"
        yield Row(line.number, [] if problem else cells, problem)


def _best_header(text: str, columns: Columns | None) -> Header:
    """Return the header of the delimiter that gives columns with a part."""
    headers = []
    for delimiter in "\t,;|":
        try:
            names = next(csv.reader([text], delimiter=delimiter), [])
        except csv.Error:
            names = []
        headers.append(Header(names, columns, delimiter))
    return max(headers, key=lambda header: (header.kind is not None, len(header.names)))


def _read_text(lines: Iterable[Line], name: str, columns: Columns | None = None) -> Iterator[Found]:
    source = iter(lines)
    top = next((line for line in source if not line.is_blank()), None)
    if top is None:
        return iter(())
    try:
        text = top.text()
    except FieldError as bad:
        return iter([bad.at(name, top.number)])
    header = _best_header(text, columns).checked(columns or {}, name)
    return _converted(_text_rows(source, header.delimiter), header, name)


def _sniff_text(prefix: bytes) -> float:
    """Return the confidence; 0.3 for unknown columns, which reading reports, 0.1 for any two."""
    lines = [line for line in prefix.split(b"\n", 100) if line.strip()][:2]
    if not lines:
        return 0.0
    try:
        first = lines[0].decode().rstrip("\r")
    except UnicodeDecodeError:
        return 0.0
    # The second line may be cut inside a character, or be a broken row that reading reports.
    others = [line.decode("utf-8", "replace").rstrip("\r") for line in lines[1:]]
    header = _best_header(first, None)
    names = header.names
    if header.kind or len(names) < 2:
        return TABLE_SURE if header.kind and len(names) > 1 else 0.0
    if lines[0].lstrip().startswith((b"{", b"[")) or b"\0" in prefix:
        return 0.0
    is_header = all(name.strip() and len(name) <= 40 for name in names[1:])
    is_row = any(line.count(header.delimiter) == len(names) - 1 or '"' in line for line in others)
    return 0.3 if is_header and is_row else 0.1


class TableRead(NamedTuple):
    """The conversations of a table, and whether a row is one; rows that are turns were grouped."""

    row_is: Literal["conversation", "turn"]
    records: Iterator[Found]


def check_arrow() -> None:
    """Raise InputError if pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise InputError(
            "Parquet files and Arrow tables need pyarrow, which is not installed: "
            'pip install "grice[arrow]"'
        ) from None


def _unreadable() -> tuple[type[Exception], ...]:
    """Return the errors of pyarrow about damaged data."""
    import pyarrow

    return pyarrow.ArrowException, ArithmeticError, MemoryError, OSError, ValueError


def from_table(table: pyarrow.Table, columns: Columns | None = None) -> TableRead:
    """Return the conversations of a table; rows of one conversation need not stand together.

    ``columns`` are as of :func:`grice.read`; InputError if there are no conversations.
    """
    columns = columns or {}
    check_parts(columns)
    header = Header(table.schema.names, columns)
    form = _layout(_arrow_rows(table.slice(0, LOOK_AT).to_batches(), count(1)), header, columns)
    numbers: Iterable[int] = count(1)
    if form is None and header.is_grouped and header.group is not None:
        # In the order in which conversations begin.
        names = table.column(header.group).to_pylist()
        first: dict[object, int] = {}
        order = sorted(range(len(names)), key=lambda place: first.setdefault(names[place], place))
        table, numbers = table.take(order), [place + 1 for place in order]
    rows = _arrow_rows(table.to_batches(max_chunksize=BATCH), iter(numbers))
    return _read_rows(rows, form, header, "table", columns)


def from_frame(frame: Any, columns: Columns | None = None) -> Iterator[Found]:  # noqa: ANN401
    """Return the conversations of a data frame of pandas or polars, or of an Arrow table.

    Its columns are as in a CSV file, or one holds lists of messages; ``columns`` are as of
    :func:`grice.read`. InputError if it is no frame, or its columns are not understood.
    """
    columns = columns or {}
    if hasattr(frame, "to_batches"):
        return from_table(frame, columns).records
    if hasattr(frame, "iter_rows"):  # polars
        cells = frame.iter_rows()
    elif hasattr(frame, "itertuples"):
        if indexed := [name for name in frame.index.names if name not in (None, *frame.columns)]:
            frame = frame.reset_index(indexed)  # an index with a name is a column
        cells = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    else:
        raise InputError(
            f"expected a data frame of pandas or polars, or an Arrow table; found "
            f"{type(frame).__name__}; collect a lazy one first"
        )
    rows = [Row(number, list(map(_plain_value, row))) for number, row in enumerate(cells, 1)]
    header = Header(list(map(str, frame.columns)), columns)
    form = _layout(rows[:LOOK_AT], header, columns)
    if form is None and header.is_grouped and header.group is not None:
        order: dict[object, int] = {}
        group = header.group
        rows.sort(key=lambda row: order.setdefault(str(row.cells[group]), len(order)))
    return _read_rows(rows, form, header, "frame", columns).records


def _plain_value(value: Any) -> Any:  # noqa: ANN401 - a cell of any library
    """Return a value of numpy or pandas as one of Python."""
    for method in ("tolist", "isoformat"):
        if hasattr(value, method):
            return getattr(value, method)()
    return value


def _read_arrow(lines: Input, name: str, columns: Columns | None = None) -> Iterator[Found]:
    check_arrow()
    columns = columns or {}
    try:
        names, batches = _opened(lines.seekable())
        rows = _arrow_rows(batches, count(1))
        first = list(islice(rows, LOOK_AT))
        if not first:
            raise InputError(f"{name}: the table has no rows")
        header = Header(names, columns)
        form = _layout(first, header, columns)
        records = _read_rows(chain(first, rows), form, header, name, columns).records
    except FieldError as bad:
        raise InputError(f"{name}: {bad.problem}") from None
    except _unreadable() as error:
        raise InputError(f"{name}: cannot be read: {excerpt(os_reason(error), 300)}") from None
    return _until_broken(records, name)


def _opened(file: BinaryIO) -> tuple[Sequence[str], Iterable[pyarrow.RecordBatch]]:
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
        return stream.schema.names, stream
    if not magic.startswith(PARQUET):
        raise ValueError("it begins neither as a Parquet file nor as an Arrow file or stream")
    import pyarrow.parquet

    parquet = pyarrow.parquet.ParquetFile(file, pre_buffer=False)
    batches = parquet.iter_batches(batch_size=BATCH, use_threads=False)
    return parquet.schema_arrow.names, batches


def _until_broken(records: Iterator[Found], name: str) -> Iterator[Found]:
    try:
        yield from records
    except _unreadable() as error:
        reason = excerpt(os_reason(error), 300)
        problem = f"the file is damaged here ({reason}); everything before was read"
        yield FieldError(None, problem).at(name)


def _layout(rows: Iterable[Row], header: Header, columns: Columns) -> Format | None:
    """Return the format of JSON whose layout the first rows have; None if columns say more."""
    if columns or (header.kind == "pair" and header.is_grouped):
        return None
    prefix = b"\n".join(_json(header, row) for row in rows if not row.problem)
    sure, form = best_format(prefix, "json", "table")
    return form if prefix and sure >= 0.5 else None


def _read_rows(
    rows: Iterable[Row], form: Format | None, header: Header, name: str, columns: Columns
) -> TableRead:
    if form is not None:
        lines = (Line(row.number, _json(header, row), row.problem) for row in rows)
        return TableRead("conversation", form.read(lines, name))
    header.checked(columns, name, "" if columns else "a list of turns or messages, or ")
    texts = (row._replace(cells=list(map(_cell, row.cells))) for row in rows)
    records = _converted(texts, header, name)
    return TableRead("turn" if header.is_grouped else "conversation", records)


def _arrow_rows(batches: Iterable[pyarrow.RecordBatch], numbers: Iterator[int]) -> Iterator[Row]:
    """Yield the rows with their numbers, their cells as Python objects."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            part = batch.slice(start, BATCH)
            try:
                for cells in _cells(part):
                    yield Row(next(numbers), cells)
            except _unreadable():  # one row fails all: convert each alone
                for place, number in zip(range(part.num_rows), numbers, strict=False):
                    try:
                        yield Row(number, _cells(part.slice(place, 1))[0])
                    except _unreadable() as error:
                        problem = f"holds a value that cannot be read: {os_reason(error)}"
                        yield Row(number, [], problem)


def _cells(batch: pyarrow.RecordBatch) -> list[list[Any]]:
    for column in batch.columns:
        _check(column)
    return [list(row.values()) for row in batch.to_pylist()]


def _check(array: Any) -> None:  # noqa: ANN401 - an array of any type
    """Raise ValueError if a value lies outside of the data, where reading it ends the process."""
    from pyarrow import LargeListArray, LargeStringArray, ListArray, StringArray, StructArray, nulls

    try:
        array.validate(full=True)
    except ValueError as error:
        if "UTF8" not in str(error):
            raise
        # A text that is not UTF-8 costs its row alone; the rest of a nested array was not checked.
        if isinstance(array, (ListArray, LargeListArray)):
            type(array).from_arrays(array.offsets, nulls(len(array.values))).validate(full=True)
            _check(array.values)
        elif isinstance(array, StructArray):
            for place in range(array.type.num_fields):
                _check(array.field(place))
        elif not isinstance(array, (LargeStringArray, StringArray)):
            raise


def _json(header: Header, row: Row) -> bytes:
    """Return a row as a JSON object, without the nulls that stand for missing fields."""
    record = dict(zip(header.names, row.cells, strict=False))
    line = msgspec.json.encode(record)
    return msgspec.json.encode(_filled(record)) if b":null" in line else line


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


def _sniff_stream(prefix: bytes) -> float:
    length = int.from_bytes(prefix[4:8], "little", signed=True)
    return float(prefix.startswith(STREAM) and 0 < length < 1 << 24)


FORMATS = (
    Format(
        "table",
        "CSV or TSV: a response, a pair or a turn per row",
        _sniff_text,
        _read_text,
        has_columns=True,
    ),
    *(
        Format(name, f"{summary} (`grice[arrow]`)", sniff, _read_arrow, has_columns=True)
        for name, summary, sniff in (
            ("parquet", "Parquet files", lambda prefix: float(prefix.startswith(PARQUET))),
            ("arrow", "Arrow (Feather) files", lambda prefix: float(prefix.startswith(ARROW))),
            ("arrow_stream", "Arrow streams, as of `Dataset.save_to_disk`", _sniff_stream),
        )
    ),
)
