"""Tables with a header: a response, a question with its answer, or a turn per row."""

from __future__ import annotations

import csv
import re
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from grice.errors import InputError, RecordError, did_you_mean, excerpt, plural
from grice.readers._build import alternate, conversation
from grice.readers._format import Bad, Format, Found, Line, stem
from grice.readers._rows import Row, rows
from grice.readers.response import (
    ANSWERS,
    HISTORY,
    QUESTIONS,
    RESPONSE,
    exchange,
    pair_of,
    pair_turns,
    question_text,
    response_conversation,
)
from grice.readers.roles import ASSISTANT, USER
from grice.records import Conversation, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grice.records import Json

_DELIMITERS = "\t,;|"
_CONVERSATION = (
    *("conversation_id", "dialogue_id", "dialog_id", "conv_id", "conversation"),
    *("chat_id", "thread_id", "ticket_id", "case_id", "call_id", "session_id"),
    *("thread", "ticket", "session"),
)
_SPEAKER = ("speaker", "name", "author", "agent", "sender", "from")
_TEXT = ("text", "utterance", "message", "content")
_TIME = ("time", "timestamp")
_REFERENCE = re.compile(r"references?(?:_?\d+)?")
PARTS = {
    "conversation": _CONVERSATION,
    "speaker": _SPEAKER,
    "role": ("role",),
    "text": _TEXT,
    "time": _TIME,
    "context": HISTORY,
    "response": RESPONSE,
    "question": QUESTIONS,
    "answer": ANSWERS,
}
"""Known names of the columns by their part; the first that is present counts."""
_ROWS = (("context", "response"), ("question", "answer", "response"), ("text",))
"""Required columns by kind of row."""
MOST_ROWS = 20
"""Rows of a table without a column of conversations that are taken for one conversation."""


class Header(NamedTuple):
    """The columns of a table that mean something; the others are meta.

    ``id`` names a row's conversation or its turn; ``is_one``: the table is one conversation.
    """

    delimiter: str
    names: list[str]
    conversation: int | None
    id: int | None
    context: int | None
    response: int | None
    question: tuple[int, ...]
    answer: int | None
    speaker: int | None
    text: int | None
    time: int | None
    role: int | None
    references: tuple[int, ...]
    is_one: bool

    @property
    def per_row(self) -> str | None:
        """Kind of row: a ``response``, a ``turn``, a ``pair`` of turns, or neither."""
        if self.context is not None and self.response is not None:
            return "response"
        if self.text is not None and (self.speaker is not None or self.role is not None):
            return "turn"
        if self.question and self.answer is not None:
            return "pair"
        if self.text is not None and (self.group is not None or self.is_one):
            return "turn"
        return None

    @property
    def group(self) -> int | None:
        """The column whose rows of the same value are one conversation, if rows are turns."""
        return self.id if self.conversation is None else self.conversation

    @property
    def is_grouped(self) -> bool:
        """Whether several rows may be one conversation."""
        return self.per_row == "turn" or (
            self.per_row == "pair" and (self.conversation is not None or self.is_one)
        )


def header_of(
    names: Sequence[str], delimiter: str = ",", columns: Mapping[str, str] | None = None
) -> Header:
    """Return what the columns of a table mean, by their names and those that the user gives."""
    plain = list(map(_plain, names))
    stated = {part: _place(name, names, plain) for part, name in (columns or {}).items()}
    # The kind of row of which the user names most columns rules out the others.
    counts = [len(stated.keys() & set(parts)) for parts in _ROWS]
    chosen = [parts for parts, n in zip(_ROWS, counts, strict=True) if n == max(counts)]
    passed_over = set().union(*_ROWS).difference(*chosen)

    def column(part: str) -> int | None:
        if part in stated or part in passed_over:
            return stated.get(part)
        return next((plain.index(name) for name in PARTS[part] if name in plain), None)

    question, answer = ((), None) if "question" in passed_over else _pair(plain, stated)
    return Header(
        delimiter,
        list(names),
        column("conversation"),
        None if "conversation" in stated or "id" not in plain else plain.index("id"),
        column("context"),
        column("response"),
        question,
        answer,
        column("speaker"),
        column("text"),
        column("time"),
        column("role"),
        tuple(index for index, name in enumerate(plain) if _REFERENCE.fullmatch(name)),
        (columns or {}).get("conversation") == "",
    )


def _pair(
    plain: Sequence[str], stated: Mapping[str, int | None]
) -> tuple[tuple[int, ...], int | None]:
    """Return the columns of a question, and the column of its answer."""
    question = stated.get("question")
    answer = stated.get("answer", stated.get("response"))
    if question is not None or answer is not None:  # whatever context there is beside it
        plain = ["" if name in HISTORY else name for name in plain]
    # A column that the user names stands for the first of the known names.
    added = {QUESTIONS[0]: question, ANSWERS[0]: answer}
    pair = pair_of({*plain, *(name for name, place in added.items() if place is not None)})
    if pair is None:
        return (), None
    asked, answered = pair
    return (
        tuple(map(plain.index, asked)) if question is None else (question,),
        plain.index(answered) if answer is None else answer,
    )


def _plain(name: str) -> str:
    """Return a name of a column in lower case with underscores: ``chat_id`` of ``Chat-ID``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s_-]+", "_", words).lower()


def _place(name: str, names: Sequence[str], plain: Sequence[str]) -> int | None:
    """Return where a column stands, by its name or one that differs in case and blanks."""
    if not name:
        return None
    if name in names:
        return list(names).index(name)
    return plain.index(_plain(name)) if _plain(name) in plain else None


def check_parts(columns: Mapping[str, str]) -> None:
    """Raise InputError for a key that is no part of a conversation, or an empty name."""
    for part, name in columns.items():
        if part not in PARTS:
            raise InputError(f"a column cannot be {part[:40]!r}{did_you_mean(part, PARTS)}")
        if not name.strip() and part != "conversation":
            raise InputError(f"the name of the column of {part!r} is empty")


def checked_header(header: Header, columns: Mapping[str, str], name: str) -> Header:
    """Return a header if its columns can be read, else raise InputError."""
    plain = list(map(_plain, header.names))
    for part, wanted in columns.items():
        if wanted and _place(wanted, header.names, plain) is None:
            near = excerpt(did_you_mean(wanted, header.names), 300)
            raise InputError(f"{name}: the table has no column {wanted!r} for {part}{near}")
    if header.per_row is None:
        raise InputError(f"{name}: {_wanted(header.names)}")
    return header


def _shown(names: Sequence[str]) -> str:
    return excerpt(", ".join(names), 200)


def _wanted(names: Sequence[str]) -> str:
    return (
        f"the columns of this table are {_shown(names)}; it needs "
        "text with speaker, role or conversation, or question and answer, or context and response: "
        "say which column is which, as in --column text=NAME --column speaker=NAME --column "
        "conversation=NAME (columns={'text': NAME, …} in Python)"
    )


def unknown_columns(prefix: bytes) -> str | None:
    """Return what is wrong with the first bytes of a table whose columns are unknown.

    None if they are those of no table.
    """
    lines = [line for line in prefix.split(b"\n") if line.strip()][:2]
    try:
        first, second = (line.decode().rstrip("\r") for line in lines)
    except ValueError:  # fewer lines than two, or no UTF-8
        return None
    delimiter = max(_DELIMITERS, key=lambda delimiter: len(_names(first, delimiter)))
    names = _names(first, delimiter)
    is_header = len(names) > 1 and all(name.strip() and len(name) <= 40 for name in names[1:])
    has_cells = len(_names(second, delimiter)) == len(names) or '"' in second
    return _wanted(names) if is_header and has_cells else None


def _names(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return []


def _best_header(text: str, columns: Mapping[str, str]) -> Header:
    """Return the header parted in the way that gives columns with a meaning."""
    headers = [header_of(_names(text, part), part, columns) for part in _DELIMITERS]
    return max(headers, key=lambda header: (header.per_row is not None, len(header.names)))


def _meta(header: Header, cells: list[str], used: set[int | None]) -> dict[str, Json]:
    pairs = zip(header.names, cells, strict=True)
    return {name: cell for index, (name, cell) in enumerate(pairs) if index not in used}


def _cell(cells: list[str], column: int | None) -> str | None:
    return None if column is None else cells[column] or None


def _row_conversation(header: Header, row: Row, default_id: str) -> Conversation:
    """Return the conversation of a row that is a response to its context, or a pair."""
    cells = row.cells
    name = header.conversation if header.id is None else header.id
    used: set[int | None] = {name, *header.references}
    if header.per_row == "pair":
        assert header.answer is not None
        context, response = pair_turns(_question(header, cells), cells[header.answer])
        used |= {header.answer, *header.question}
    else:
        assert header.context is not None
        assert header.response is not None
        context, response = exchange(
            cells[header.context], cells[header.response], names=("context", "response")
        )
        used |= {header.context, header.response}
    others = tuple(cells[index] for index in header.references if cells[index])
    record = _record(_cell(cells, name)) | {"meta": _meta(header, cells, used)}
    return response_conversation(record, context, response, others, default_id)


def _question(header: Header, cells: Sequence[str]) -> str:
    return question_text(cells[index] for index in header.question)


def _record(name: str | None) -> dict[str, Json]:
    return {} if name is None else {"id": name}


class _Turns:
    """Gathers rows of one conversation that stand together."""

    def __init__(self, header: Header, name: str) -> None:
        self._header = header
        self._group = header.group if header.per_row == "turn" else header.conversation
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
        name = _cell(row.cells, self._group)
        ended = None
        if self._turns and (self._group is not None and name != self._id):
            ended = self.end()
        if not self._turns:
            self._id, self._line = name, row.line
            self._broken = None
        elif self._bad_line is not None:
            self._broken = self._bad_line
        self._bad_line = None
        self._turns.extend(self._turns_of(row.cells))
        return ended

    def _turns_of(self, cells: list[str]) -> Iterator[Turn]:
        header = self._header
        used = {self._group, header.time, *header.references}
        time = _cell(cells, header.time)
        others = tuple(cells[index] for index in header.references if cells[index])
        if header.per_row == "pair":
            meta = _meta(header, cells, used | {header.answer, *header.question})
            if (question := _question(header, cells)).strip():
                yield Turn(USER, question, USER, time)
            yield Turn(ASSISTANT, cells[header.answer or 0], ASSISTANT, time, others, meta)
            return
        role = _cell(cells, header.role)
        yield Turn(
            _cell(cells, header.speaker) or role or alternate(len(self._turns)),
            cells[header.text or 0],
            role,
            time,
            others,
            _meta(header, cells, used | {header.speaker, header.text, header.role}),
        )

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
        return conversation(_record(self._id), turns, f"{self._base}:{self._line}")


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


def _read(
    lines: Iterable[Line | RecordError], name: str, columns: Mapping[str, str] | None = None
) -> Iterator[Found]:
    source = iter(lines)
    top = next(
        (line for line in source if isinstance(line, RecordError) or line.data.strip()), None
    )
    if top is None:
        return iter(())
    try:
        if isinstance(top, RecordError):
            raise Bad(top.field, top.problem)
        text = top.text()
    except Bad as bad:
        return iter([bad.at(name, (top.line or 1) if isinstance(top, RecordError) else top.number)])
    header = checked_header(_best_header(text, columns or {}), columns or {}, name)
    return read_rows(_checked(rows(source, name, header.delimiter), header, name), header, name)


def read_rows(checked: Iterable[Row | RecordError], header: Header, name: str) -> Iterator[Found]:
    """Return the conversations of the rows of a table; rows of one stand together."""
    if not header.is_grouped:
        return _single_rows(checked, header, name)
    if header.per_row == "turn" and header.group is None and not header.is_one:
        source = iter(checked)
        first = list(islice(source, MOST_ROWS + 1))
        if len(first) > MOST_ROWS:
            raise InputError(f"{name}: {_many_rows(header.names)}")
        checked = chain(first, source)
    return _grouped_rows(checked, header, name)


def _many_rows(names: Sequence[str]) -> str:
    return (
        f"more than {MOST_ROWS} rows, and no column names the conversation of each; the columns "
        f"are {_shown(names)}; name one with --column conversation=NAME, or write --column "
        "conversation= if all rows are one conversation (columns={'conversation': …} in Python)"
    )


def _single_rows(
    checked: Iterable[Row | RecordError], header: Header, name: str
) -> Iterator[Found]:
    base = stem(name)
    for row in checked:
        if isinstance(row, RecordError):
            yield row
            continue
        try:
            yield _row_conversation(header, row, f"{base}:{row.line}")
        except Bad as bad:
            yield bad.at(name, row.line)


def _grouped_rows(
    checked: Iterable[Row | RecordError], header: Header, name: str
) -> Iterator[Found]:
    turns = _Turns(header, name)
    for row in checked:
        if isinstance(row, RecordError):
            turns.bad(row.line)
            yield row
        elif (ended := turns.add(row)) is not None:
            yield ended
    if (ended := turns.end()) is not None:
        yield ended


def _sniff(prefix: bytes, columns: Mapping[str, str] | None = None) -> float:
    line = next((line for line in prefix.split(b"\n") if line.strip()), b"")
    try:
        header = _best_header(line.decode().rstrip("\r"), columns or {})
    except UnicodeDecodeError:
        return 0.0
    # Named columns mean a table; reading reports one that is missing.
    is_table = header.per_row or (columns and not line.lstrip().startswith((b"{", b"[")))
    return 0.92 if is_table and len(header.names) > 1 else 0.0


def _with_columns(columns: Mapping[str, str]) -> Format:
    return replace(
        FORMAT,
        sniff=partial(_sniff, columns=columns),
        read=partial(_read, columns=columns),
    )


FORMAT = Format(
    name="table",
    summary="CSV or TSV with a header: a response, a question and its answer, or a turn per row",
    description="""\
Cells are parted by tab, comma, semicolon or `|`, whichever yields known column names; case, spaces
and hyphens do not matter. `--column PART=NAME` (`columns={PART: NAME}` in Python) names a column
that has another name; PART is `conversation`, `speaker`, `role`, `text`, `time`, `context`,
`response`, `question` or `answer`.

**A response per row**: `context` (or `history`; read as in the format `response`) and `response`
(or `reply`, `completion`), with `references` (or `reference`, `reference_1`, `reference_2`, …) and
`id` if wanted; only the response is to be judged.
**A question and its answer per row**: the columns are those of the format `response`, such as
`question,answer`, `prompt,response` or `input,output`; only the answer is to be judged. With a
column that names the conversation, rows of one conversation follow each other in it.
**A turn per row**: `text` (or `utterance`, `message`, `content`) with `speaker` (or `name`,
`author`, `agent`, `sender`, `from`), `role`, or a column that names the conversation:
`conversation_id` (or `dialogue_id`, `dialog_id`, `conv_id`, `conversation`, `chat_id`, `thread_id`,
`ticket_id`, `case_id`, `call_id`, `session_id`, `thread`, `ticket`, `session`, `id`). Rows of one
conversation stand together. Without such a column a table of at most 20 rows is one conversation,
and a longer one is refused; `--column conversation=` reads it as one.
`role` and `time` are kept; other columns become meta.

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
    with_columns=_with_columns,
)
