"""JSON that is not one object per line: arrays, records over several lines, large objects."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import RecordError, excerpt
from grice.readers._bytes import LONGEST_LINE, blocks_of
from grice.readers._format import Bad, Format, Found, Line
from grice.readers._json import closed, decode, field_names, kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OUTSIDE = re.compile(rb'["\[\]{}]')
_INSIDE = re.compile(rb'["\\]')
_GAP = 1 << 10


class Value(NamedTuple):
    """One value, and the commas, white space or key between it and the value before."""

    before: bytes
    line: Line


def values(
    blocks: Iterable[bytes | RecordError], name: str, *, container: bytes
) -> Iterator[Value | RecordError]:
    """Yield objects (and lists) that stand alone or one level down in a container.

    ``[`` yields the elements of arrays, and objects outside of any; ``{`` the members of objects.
    Memory is bounded by the largest value. A value is cut out by counting brackets outside of
    strings; whether it is JSON is for the caller to see.
    """
    state = _Cutter(name, container)
    for block in blocks:
        if isinstance(block, RecordError):
            yield block
            break
        yield from state.feed(block)
    yield from state.end()


class _Cutter:
    """Where the cutting stands between two blocks."""

    def __init__(self, name: str, container: bytes) -> None:
        self._name = name
        self._container = container
        self._line = 1
        self._depth = 0
        self._base = 0
        self._in_string = False
        self._escaped = False
        self._start: int | None = None  # line of the value that is open
        self._parts: list[bytes] = []
        self._size = 0
        self._gap = b""

    def feed(self, block: bytes) -> Iterator[Value | RecordError]:
        place = counted = 0
        begin = 0  # of what is not yet stored: of the open value, or of the gap
        while True:
            if self._escaped:
                if place >= len(block):
                    break
                self._escaped = False
                place += 1
            token = (_INSIDE if self._in_string else _OUTSIDE).search(block, place)
            if token is None:
                break
            place = token.end()
            match token[0]:
                case b'"':
                    self._in_string = not self._in_string
                case b"\\":
                    self._escaped = True
                case b"{" | b"[":
                    if self._start is None:
                        self._line += block.count(b"\n", counted, token.start())
                        counted = token.start()
                        self._keep_gap(block[begin : token.start()])
                        if self._depth == 0 and token[0] == self._container:
                            self._base = 1
                            yield from self._stray()
                            begin = place
                        else:
                            self._start = self._line
                            begin = token.start()
                    self._depth += 1
                case _:
                    self._depth = max(0, self._depth - 1)
                    if self._start is not None and self._depth == self._base:
                        yield self._cut(block[begin:place])
                        begin = place
                    elif self._start is None:
                        self._keep_gap(block[begin : token.start()])
                        self._base = 0
                        yield from self._stray()
                        begin = place
        self._line += block.count(b"\n", counted)
        self._store(block[begin:])

    def end(self) -> Iterator[RecordError]:
        """Say what is wrong with the end of the file."""
        if self._start is not None:
            yield self._error("the file ends inside the value that begins here", self._start)
            return
        yield from self._stray()
        if self._depth:
            yield self._error("the file ends before its outermost bracket is closed", self._line)

    def _store(self, rest: bytes) -> None:
        if self._start is None:
            self._keep_gap(rest)
            return
        self._size += len(rest)
        if self._size > LONGEST_LINE:
            self._parts.clear()
        else:
            self._parts.append(rest)

    def _cut(self, rest: bytes) -> Value | RecordError:
        self._store(rest)
        line, size, before = self._start or 1, self._size, self._gap
        data = b"".join(self._parts)
        self._parts.clear()
        self._start, self._size, self._gap = None, 0, b""
        if size > LONGEST_LINE:
            return self._error(
                f"the value is longer than {LONGEST_LINE >> 20} MiB and was skipped", line
            )
        return Value(before, Line(line, data))

    def _keep_gap(self, data: bytes) -> None:
        self._gap = (self._gap + data.strip())[:_GAP]

    def _stray(self) -> Iterator[RecordError]:
        """Complain about anything but commas outside of values."""
        stray = self._gap.strip(b", \t\r\n")
        self._gap = b""
        if stray:
            shown = excerpt(stray.decode("utf-8", "replace"), 40)
            yield self._error(f"expected an object, found {shown!r}", self._line)

    def _error(self, problem: str, line: int) -> RecordError:
        return RecordError(problem, file=self._name, line=line)


_ARRAY = re.compile(rb"\s*\[\s*[{\[\]]")


_TURN = {"role", "speaker", "from"}


def _known(record: object) -> Format | None:
    """Return the format whose layout a record has."""
    from grice.readers._registry import find_formats  # which imports this module

    compact = msgspec.json.encode(record)
    others = [form for form in find_formats().formats.values() if form.name != "json"]
    best = max(others, key=lambda form: form.sniff(compact))
    return best if best.sniff(compact) else None


def _layout(data: bytes) -> Format:
    record = decode(data)
    if not isinstance(record, dict):
        raise Bad(None, f"expected an object, {{…}}, found {kind(record)}")
    if (form := _known(record)) is not None:
        return form
    if record.keys() & _TURN:
        raise Bad(
            None,
            "this is a turn, not a conversation; if the file is a list of turns, wrap it with: "
            "jq -c '{messages: .}' for role and content, or jq -c '{turns: .}'",
        )
    raise Bad(None, f"no known layout of a conversation; found {field_names(record)}")


def _lines(values: Iterable[Value | RecordError], name: str) -> Iterator[Line | RecordError]:
    for value in values:
        if isinstance(value, RecordError):
            yield value
        elif value.before.strip(b", \t\r\n"):
            stray = value.before.strip(b", \t\r\n").decode("utf-8", "replace")
            problem = f"expected a comma and an object, found {excerpt(stray, 40)!r}"
            yield RecordError(problem, file=name, line=value.line.number)
            yield value.line
        else:
            yield value.line


def _read(lines: Iterable[Line | RecordError], name: str) -> Iterator[Found]:
    records = _lines(values(blocks_of(lines), name, container=b"["), name)
    for line in records:
        if isinstance(line, RecordError):
            yield line
            continue
        try:
            layout = _layout(line.data)
        except Bad as bad:
            yield bad.at(name, line.number)
            continue
        yield from layout.read(chain([line], records), name)


def _sniff(prefix: bytes) -> float:
    start = prefix.lstrip()
    if not _ARRAY.match(start) and not (start.startswith(b"{") and _several_lines(start)):
        return 0.0
    first = closed(start)
    while isinstance(first, list) and first:
        first = first[0]
    if isinstance(first, dict):
        return 0.9 if _known(first) or first.keys() & _TURN else 0.0
    # An empty array, or one whose first record is too long to be seen.
    return 0.35 if start.startswith(b"[") else 0.0


def _several_lines(start: bytes) -> bool:
    """Return whether the first line is not a JSON value of its own."""
    line, end, _ = start.partition(b"\n")
    try:
        decode(line)
    except Bad:
        return bool(end)
    return False


FORMAT = Format(
    name="json",
    summary="a JSON array of records, or records over several lines, in any of the JSON layouts",
    description="""\
The layout is that of the first record that has a known one: `turns`, `messages`, `sharegpt`,
`response`, `deco` or `parlai_log`. The array is read one element at a time, however long it is.
Where brackets or quotes do not match, good records behind the place can be lost; JSON lines
(`jq -c '.[]' FILE`) do not have this weakness.""",
    example="""\
[
  {
    "id": "j1",
    "messages": [
      {"role": "user", "content": "Is it far?"},
      {"role": "assistant", "content": "Ten minutes."}
    ]
  }
]
""",
    sniff=_sniff,
    read=_read,
)
