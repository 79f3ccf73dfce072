"""Tables in text (CSV, TSV): a response, a question with its answer, or a turn per row."""

from __future__ import annotations

import csv
import re
from collections import deque
from difflib import get_close_matches
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from grice.data import Turn
from grice.errors import InputError, did_you_mean, excerpt, plural, shortened
from grice.readers._formats import TABLE_SURE, Format, Found
from grice.readers._json import FieldError, Line, Row, stem
from grice.readers.layouts import turn
from grice.readers.responses import ANSWERS, HISTORY, QUESTIONS, RESPONSE, build, question_text
from grice.readers.roles import ASSISTANT, USER
from grice.readers.text import Part, grouped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_DELIMITERS = "\t,;|"
_MOST_LINES = 1_000
_MOST_BYTES = 1 << 20
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
_ROWS = ({"context", "response"}, {"question", "answer", "response"}, {"text"})
"""Required columns by kind of row."""
_FIELDS = {
    "response": ("context", "response"),
    "turn": ("text", "speaker", "role", "time"),
    "pair": ("answer", "time"),
}
"""Parts that a row of a kind is made of, beside a question."""
_OPTIONAL = frozenset({"speaker", "role", "time"})
_NAMES = ("context", "response", "conversation_id", "speaker", "text")
MOST_ROWS = 20
"""Rows of a table without a column of conversations that are taken for one conversation."""


class Header:
    """The parts of the columns of a table; columns without a part are meta.

    A row is a ``response``, a ``turn`` or a ``pair`` of turns; ``group`` is the column with the id
    of the conversation.
    """

    def __init__(
        self, names: Sequence[str], columns: Mapping[str, str] | None = None, delimiter: str = ","
    ) -> None:
        self.names, self.delimiter = list(names), delimiter
        self._plain = plain = list(map(_plain, names))
        columns = columns or {}
        stated = {part: self.place(name) for part, name in columns.items()}
        self.is_one = columns.get("conversation") == ""  # the whole table
        # The kind of row of which the user names most columns rules out the others.
        most = max(len(stated.keys() & parts) for parts in _ROWS)
        chosen = [parts for parts in _ROWS if len(stated.keys() & parts) == most]
        ruled_out = set().union(*_ROWS).difference(*chosen)
        found = {
            part: next((plain.index(name) for name in known if name in plain), None)
            for part, known in PARTS.items()
            if part not in ruled_out
        }
        found |= stated
        if "answer" in found:
            found["answer"] = stated.get("answer", stated.get("response", found["answer"]))
        places = {part: place for part, place in found.items() if place is not None}
        named = places.get("conversation")
        row_id = plain.index("id") if "id" in plain and "conversation" not in stated else None
        self.kind: str | None = None
        self.question: tuple[int, ...] = ()
        if {"context", "response"} <= places.keys():
            self.kind = "response"
        elif "text" in places and places.keys() & {"speaker", "role"}:
            self.kind = "turn"
        elif {"question", "answer"} <= places.keys():
            self.kind = "pair"
            self.question = (places["question"],)
            both = "question" not in stated and "input" in plain
            if both and plain[self.question[0]] == "instruction":
                self.question += (plain.index("input"),)
        elif "text" in places and (named is not None or row_id is not None or self.is_one):
            self.kind = "turn"
        in_talk = self.kind == "pair" and (named is not None or self.is_one)
        self.is_grouped = self.kind == "turn" or in_talk
        # Beside a column with the conversation, an id is that of the turn or the pair.
        by_conversation = in_talk or (self.is_grouped and named is not None)
        self.group = named if by_conversation or row_id is None else row_id
        self._fields = [
            (part, places[part])
            for part in _FIELDS.get(self.kind or "", ())
            if part in places and (self.kind != "pair" or in_talk or part != "time")
        ]
        self._references = [i for i, name in enumerate(plain) if _REFERENCE.fullmatch(name)]
        used = {self.group, *self.question, *self._references, *dict(self._fields).values()}
        self._meta = [(name, i) for i, name in enumerate(self.names) if i not in used]

    def place(self, name: str) -> int | None:
        """Return the place of a column, by its name or one that differs in case and blanks."""
        for names, wanted in ((self.names, name), (self._plain, _plain(name))):
            if name and wanted in names:
                return names.index(wanted)
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
        if self.question:
            record["question"] = question_text([cells[place] for place in self.question])
        if self._references:
            record["references"] = [cells[place] for place in self._references if cells[place]]
        if self._meta:
            record["meta"] = {name: cells[place] for name, place in self._meta}
        return record

    def checked(self, columns: Mapping[str, str], file: str, others: str = "") -> Header:
        """Return the header if its columns can be read, else raise InputError."""
        for part, name in columns.items():
            if name and self.place(name) is None:
                near = excerpt(did_you_mean(name, self.names), 300)
                raise InputError(f"{file}: the table has no column {name!r} for {part}{near}")
        if self.kind is None:
            known = {name for names in PARTS.values() for name in names}
            meant = [
                f"{match[0]!r} for {name!r}"
                for name, plain in zip(self.names, self._plain, strict=True)
                if plain not in known
                and (match := get_close_matches(shortened(plain), _NAMES, 1, 0.75))
            ]
            hint = f" (did you mean {' and '.join(meant[:3])}?)" if meant else ""
            raise InputError(
                f"{file}: the columns of this table are {self.shown()}{hint}; it needs {others}"
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


def check_parts(columns: Mapping[str, str]) -> None:
    """Raise InputError for a key that is no part of a conversation, or an empty name."""
    for part, name in columns.items():
        if part not in PARTS:
            raise InputError(f"a column cannot be {part[:40]!r}{did_you_mean(part, PARTS)}")
        if not name.strip() and part != "conversation":
            raise InputError(f"the name of the column of {part!r} is empty")


def read_rows(rows: Iterable[Row], header: Header, name: str) -> Iterator[Found]:
    """Return the conversations of the rows of a table; rows of one stand together."""
    if not header.is_grouped:
        return _single_rows(rows, header, name)
    if header.kind == "turn" and header.group is None and not header.is_one:
        source = iter(rows)
        first = list(islice(source, MOST_ROWS + 1))
        if len(first) > MOST_ROWS:
            raise InputError(
                f"{name}: more than {MOST_ROWS} rows, and no column names the conversation of "
                f"each; the columns are {header.shown()}; name one with --column "
                "conversation=NAME, or write --column conversation= if all rows are one "
                "conversation (columns={'conversation': …} in Python)"
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
    return Part(group, lambda before: [*asked, turn(record, "AB"[before % 2])])


def _rows(source: Iterator[Line], delimiter: str) -> Iterator[Row]:
    """Yield the rows of a table.

    A row runs over several lines only inside quotes that are closed within 1,000 lines and 1 MiB.
    If they are not, the first line alone is the broken row, and the next line is tried. In a
    table with tabs, such a line is taken as it stands, quotes and all.
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
            if len(held) >= _MOST_LINES or size > _MOST_BYTES:
                problem = "a quote is opened and not closed within 1,000 lines or 1 MiB"
                raise FieldError(None, problem)
            try:
                yield line.text() + "\n"
            except FieldError:
                problem = f"a quote is opened, and line {line.number} before its end is not text"
                raise FieldError(None, problem) from None

    def cells(text: str) -> list[str]:
        if '"' not in text and "\r" not in text and len(text) <= csv.field_size_limit():
            return text.split(delimiter)
        try:
            return next(csv.reader(texts(text), delimiter=delimiter, strict=True))
        except csv.Error as error:
            reason = str(error)
        if "field limit" in reason:
            limit = f"{csv.field_size_limit()} characters"
            problem = f"a cell is longer than {limit}, which CSV cannot hold; use JSON lines"
        elif "end of data" in reason:
            problem = "a quote is opened and never closed"
        else:
            problem = f"the quotes of a cell do not match ({reason})"
        raise FieldError(None, problem)

    while (line := following()) is not None:
        if line.is_blank():
            continue
        held.clear()
        try:
            row = Row(line.number, cells(line.text()))
        except FieldError as bad:
            waiting.extendleft(reversed(held))
            row = Row(line.number, [], bad.problem)
            if delimiter == "\t" and "quote" in bad.problem:
                row = Row(line.number, line.text().split("\t"))
        yield row


def _best_header(text: str, columns: Mapping[str, str] | None) -> Header:
    """Return the header of the delimiter that gives columns with a part."""
    headers = []
    for delimiter in _DELIMITERS:
        try:
            names = next(csv.reader([text], delimiter=delimiter), [])
        except csv.Error:
            names = []
        headers.append(Header(names, columns, delimiter))
    return max(headers, key=lambda header: (header.kind is not None, len(header.names)))


def _read(
    lines: Iterable[Line], name: str, columns: Mapping[str, str] | None = None
) -> Iterator[Found]:
    source = iter(lines)
    top = next((line for line in source if not line.is_blank()), None)
    if top is None:
        return iter(())
    try:
        text = top.text()
    except FieldError as bad:
        return iter([bad.at(name, top.number)])
    header = _best_header(text, columns).checked(columns or {}, name)
    return read_rows(_rows(source, header.delimiter), header, name)


def _sniff(prefix: bytes) -> float:
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


FORMATS = (
    Format(
        "table", "CSV or TSV: a response, a pair or a turn per row", _sniff, _read, has_columns=True
    ),
)
