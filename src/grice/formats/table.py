"""Tables with a header: a response per row, or a turn per row."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import RecordError, excerpt, plural
from grice.formats._build import alternate, conversation
from grice.formats._format import Bad, Format, Found, Line, stem
from grice.formats._response import CONTEXT, RESPONSE, exchange, response_conversation
from grice.formats._rows import Row, rows
from grice.records import Conversation, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grice.records import Json

_DELIMITERS = "\t,;|"
_CONVERSATION = ("conversation_id", "dialogue_id", "dialog_id", "conv_id", "conversation")
_SPEAKER = ("speaker", "name", "author", "agent", "sender", "from")
_TEXT = ("text", "utterance", "message", "content")
_TIME = ("time", "timestamp")
_REFERENCE = re.compile(r"references?(?:_?\d+)?")


class Header(NamedTuple):
    """The columns of a table that mean something; the others are meta."""

    delimiter: str
    names: list[str]
    id: int | None
    context: int | None
    response: int | None
    speaker: int | None
    text: int | None
    time: int | None
    role: int | None
    references: tuple[int, ...]

    @property
    def per_row(self) -> str | None:
        """What a row is: a ``response``, a ``turn``, or neither."""
        if self.context is not None and self.response is not None:
            return "response"
        if self.text is not None and (self.speaker is not None or self.id is not None):
            return "turn"
        return None


def header_of(names: list[str], delimiter: str = ",") -> Header:
    """Return what the columns of a table mean, by their names."""
    plain = [re.sub(r"[\s-]+", "_", name.strip().lower()) for name in names]

    def column(known: tuple[str, ...]) -> int | None:
        return next((plain.index(name) for name in known if name in plain), None)

    # Where a row is a turn, `id` may name the turn: what names the conversation comes first.
    single = column(RESPONSE) is not None
    return Header(
        delimiter,
        names,
        column(("id", *_CONVERSATION) if single else (*_CONVERSATION, "id")),
        column(CONTEXT),
        column(RESPONSE),
        column(_SPEAKER),
        column(_TEXT),
        column(_TIME),
        column(("role",)),
        tuple(index for index, name in enumerate(plain) if _REFERENCE.fullmatch(name)),
    )


def _names(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return []


def _best_header(text: str) -> Header:
    """Return the header parted in the way that gives columns with a meaning."""
    headers = [header_of(_names(text, delimiter), delimiter) for delimiter in _DELIMITERS]
    return max(headers, key=lambda header: (header.per_row is not None, len(header.names)))


def _meta(header: Header, cells: list[str], used: set[int | None]) -> dict[str, Json]:
    pairs = zip(header.names, cells, strict=True)
    return {name: cell for index, (name, cell) in enumerate(pairs) if index not in used}


def _cell(cells: list[str], column: int | None) -> str | None:
    return None if column is None else cells[column] or None


def _response_row(header: Header, row: Row, default_id: str) -> Conversation:
    cells = row.cells
    assert header.context is not None
    assert header.response is not None
    context, response = exchange(
        cells[header.context], cells[header.response], names=("context", "response")
    )
    used = {header.id, header.context, header.response, *header.references}
    others = tuple(cells[index] for index in header.references if cells[index])
    record = {"meta": _meta(header, cells, used), "id": _cell(cells, header.id)}
    return response_conversation(record, context, response, others, default_id)


class _Turns:
    """Gathers rows of one conversation that stand together."""

    def __init__(self, header: Header, name: str) -> None:
        self._header = header
        self._name = name
        self._base = stem(name)
        self._id: str | None = None
        self._line = 0
        self._turns: list[Turn] = []
        self._bad_line: int | None = None
        self._broken: int | None = None

    def bad(self, line: int | None) -> None:
        """Take note of a row that cannot be read; it may belong to this conversation."""
        self._bad_line = line or self._line

    def add(self, row: Row) -> Found | None:
        """Add a row; return the conversation before it if the row begins a new one."""
        header, cells = self._header, row.cells
        name = _cell(cells, header.id)
        ended = None
        if self._turns and (header.id is not None and name != self._id):
            ended = self.end()
        if not self._turns:
            self._id, self._line = name, row.line
            self._broken = None
        elif self._bad_line is not None:
            self._broken = self._bad_line
        self._bad_line = None
        used = {header.id, header.speaker, header.text, header.time, header.role}
        self._turns.append(
            Turn(
                _cell(cells, header.speaker) or alternate(len(self._turns)),
                cells[header.text or 0],
                role=_cell(cells, header.role),
                time=_cell(cells, header.time),
                references=tuple(cells[index] for index in header.references if cells[index]),
                meta=_meta(header, cells, used | set(header.references)),
            )
        )
        return ended

    def end(self) -> Found | None:
        """Return the conversation that is open; None if there is none."""
        if not self._turns:
            return None
        turns, self._turns = tuple(self._turns), []
        if self._broken is not None:
            return RecordError(
                f"the conversation that begins here is left out: line {self._broken} inside it "
                "cannot be read",
                file=self._name,
                line=self._line,
            )
        return conversation({"id": self._id}, turns, f"{self._base}:{self._line}")


def _checked(
    rows_read: Iterable[Row | RecordError], header: Header, name: str
) -> Iterator[Row | RecordError]:
    """Replace rows that have not as many cells as the header."""
    expected = len(header.names)
    for row in rows_read:
        if isinstance(row, Row) and len(row.cells) != expected:
            problem = f"found {plural(len(row.cells), 'cell')}, the header has {expected}"
            yield RecordError(problem, file=name, line=row.line)
        else:
            yield row


def _read(lines: Iterable[Line | RecordError], name: str) -> Iterator[Found]:
    source = iter(lines)
    top = next(
        (line for line in source if isinstance(line, RecordError) or line.data.strip()), None
    )
    if top is None:
        return
    try:
        if isinstance(top, RecordError):
            raise Bad(top.field, top.problem)
        header = _best_header(top.text())
        if header.per_row is None:
            raise Bad(
                "header",
                "expected the columns context and response, or text with speaker or "
                f"conversation_id; found {excerpt(', '.join(header.names), 200)}",
            )
    except Bad as bad:
        yield bad.at(name, (top.line or 1) if isinstance(top, RecordError) else top.number)
        return
    checked = _checked(rows(source, name, header.delimiter), header, name)
    if header.per_row == "turn":
        yield from turn_rows(checked, header, name)
        return
    base = stem(name)
    for row in checked:
        if isinstance(row, RecordError):
            yield row
            continue
        try:
            yield _response_row(header, row, f"{base}:{row.line}")
        except Bad as bad:
            yield bad.at(name, row.line)


def turn_rows(checked: Iterable[Row | RecordError], header: Header, name: str) -> Iterator[Found]:
    """Yield the conversations of rows that are a turn each; rows of one stand together."""
    turns = _Turns(header, name)
    for row in checked:
        if isinstance(row, RecordError):
            turns.bad(row.line)
            yield row
        elif (ended := turns.add(row)) is not None:
            yield ended
    if (ended := turns.end()) is not None:
        yield ended


def _sniff(prefix: bytes) -> float:
    line = next((line for line in prefix.split(b"\n") if line.strip()), b"")
    try:
        header = _best_header(line.decode().rstrip("\r"))
    except UnicodeDecodeError:
        return 0.0
    return 0.92 if header.per_row and len(header.names) > 1 else 0.0


FORMAT = Format(
    name="table",
    summary="CSV or TSV with a header: a response per row, or a turn per row",
    description="""\
Cells are parted by tab, comma, semicolon or `|`, whichever gives columns with a meaning; case does
not matter. **A response per row**: `context` (or `history`, `query`, `prompt`; read as in
the format `response`) and `response` (or `reply`, `completion`), with `references` (or
`reference`, `reference_1`, `reference_2`, …) and `id` if wanted; only the response is to be judged.
**A turn per row**: `text` (or `utterance`, `message`, `content`) with `speaker` (or `name`,
`author`, `agent`, `sender`, `from`) or `conversation_id` (or `dialogue_id`, …, `id`) or both; rows
of one conversation stand together, and without an id the table is one conversation. `role` and
`time` are kept; other columns become meta.
A broken row between two rows of one conversation leaves that conversation out. In a table parted
by tabs, quotes that do not match are text. A cell holds at most 131,072 characters, the limit of
Python's `csv` module.""",
    example="""\
id,context,response,reference,system
7,"Hi!
Is it far?",Ten minutes.,No.,m1
8,Is it far?,"Ten, at most.",No.,m2
""",
    sniff=_sniff,
    read=_read,
)
