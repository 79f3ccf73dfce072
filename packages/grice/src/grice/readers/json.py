"""JSON that is not one object per line: arrays, records over several lines, Topical-Chat."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import RecordError, excerpt
from grice.readers._build import JsonLayout, conversation, list_of
from grice.readers._formats import Format, Found, best_format
from grice.readers._input import LONGEST_LINE, blocks_of
from grice.readers._json import (
    FieldError,
    Line,
    as_object,
    closed,
    decode,
    field_names,
    kind,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grice.data import Conversation

_TOKEN = re.compile(rb'["\[\]{}]')
_STRING_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+(")?', re.DOTALL)
_BETWEEN = b", \t\r\n"
_GAP = 1 << 10
_ARRAY = re.compile(rb"\s*\[\s*[{\[\]]")
_TURN = {"role", "speaker", "from"}


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
    line, depth, base = 1, 0, 0
    in_string = False
    start: int | None = None  # line of the value that is open
    parts: list[bytes] = []  # of that value
    size = 0
    gap = carried = b""

    def stray() -> Iterator[RecordError]:
        nonlocal gap
        found, gap = gap.strip(_BETWEEN), b""
        if found:
            shown = excerpt(found.decode("utf-8", "replace"), 40)
            yield RecordError(f"expected an object, found {shown!r}", file=name, line=line)

    for block in blocks:
        if isinstance(block, RecordError):
            yield block
            break
        data, place, counted, begin = carried + block, 0, 0, 0
        carried = b""
        while place < len(data):
            if in_string:
                string = _STRING_REST.match(data, place)
                assert string is not None  # it matches no character, too
                place = string.end()
                in_string = string[1] is None
                if in_string:  # it goes on in the next block
                    carried = data[place:]  # at most a backslash, whose character follows
                    break
            token = _TOKEN.search(data, place)
            if token is None:
                break
            place = token.end()
            mark = token[0]
            if mark == b'"':
                in_string = True
            elif mark in b"[{":
                if start is None:
                    line += data.count(b"\n", counted, token.start())
                    counted = token.start()
                    gap = (gap + data[begin : token.start()].strip())[:_GAP]
                    if depth == 0 and mark == container:
                        base, begin = 1, place
                        yield from stray()
                    else:
                        start, begin = line, token.start()
                depth += 1
            else:
                depth = max(0, depth - 1)
                if start is not None and depth == base:
                    size += place - begin
                    if size > LONGEST_LINE:
                        problem = f"the value is longer than {LONGEST_LINE >> 20} MiB"
                        yield RecordError(f"{problem} and was skipped", file=name, line=start)
                    else:
                        parts.append(data[begin:place])
                        yield Value(gap, Line(start, b"".join(parts)))
                    parts.clear()
                    start, size, gap, begin = None, 0, b"", place
                elif start is None:
                    gap = (gap + data[begin : token.start()].strip())[:_GAP]
                    base, begin = 0, place
                    yield from stray()
        rest = data[begin : len(data) - len(carried)]
        line += data.count(b"\n", counted)
        if start is None:
            gap = (gap + rest.strip())[:_GAP]
        elif (size := size + len(rest)) > LONGEST_LINE:
            parts.clear()
        else:
            parts.append(rest)
    if start is not None:
        problem = "the file ends inside the value that begins here"
        yield RecordError(problem, file=name, line=start)
        return
    yield from stray()
    if depth:
        problem = "the file ends before its outermost bracket is closed"
        yield RecordError(problem, file=name, line=line)


def _known(record: object) -> Format | None:
    """Return the format whose layout a record has."""
    sure, form = best_format(msgspec.json.encode(record), "json")
    return form if sure else None


def _layout(data: bytes) -> Format:
    record = as_object(decode(data))
    if (form := _known(record)) is not None:
        return form
    if record.keys() & _TURN:
        raise FieldError(
            None,
            "this is a turn, not a conversation; if the file is a list of turns, wrap it with: "
            "jq -c '{messages: .}' for role and content, or jq -c '{turns: .}'",
        )
    raise FieldError(None, f"no known layout of a conversation; found {field_names(record)}")


def _lines(values: Iterable[Value | RecordError], name: str) -> Iterator[Line | RecordError]:
    for value in values:
        if isinstance(value, RecordError):
            yield value
            continue
        if stray := value.before.strip(_BETWEEN).decode("utf-8", "replace"):
            problem = f"expected a comma and an object, found {excerpt(stray, 40)!r}"
            yield RecordError(problem, file=name, line=value.line.number)
        yield value.line


def _read_array(lines: Iterable[Line | RecordError], name: str) -> Iterator[Found]:
    records = _lines(values(blocks_of(lines), name, container=b"["), name)
    for line in records:
        if isinstance(line, RecordError):
            yield line
            continue
        try:
            layout = _layout(line.data)
        except FieldError as bad:
            yield bad.at(name, line.number)
            continue
        yield from layout.read(chain([line], records), name)


def _sniff_array(prefix: bytes) -> float:
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
    except FieldError:
        return bool(end)
    return False


TOPICAL_CHAT = JsonLayout(text=("message",), speaker=("agent",))


def _build_member(value: Value) -> Conversation:
    before = value.before.strip(_BETWEEN)
    key = decode(before.removesuffix(b":").rstrip()) if before.endswith(b":") else None
    if not isinstance(key, str):
        raise FieldError(None, 'expected "id": {…}')
    record = decode(value.line.data)
    if not isinstance(record, dict):
        raise FieldError(key, f"expected an object, found {kind(record)}")
    if "content" not in record:
        raise FieldError(f"{key}.content", f"missing; found {field_names(record)}")
    turns = TOPICAL_CHAT.turns(list_of(record.pop("content"), "content", "turns"), "content")
    return conversation({"id": key, "meta": record}, turns, key)


def _read_members(lines: Iterable[Line | RecordError], name: str) -> Iterator[Found]:
    for value in values(blocks_of(lines), name, container=b"{"):
        if isinstance(value, RecordError):
            yield value
            continue
        try:
            yield _build_member(value)
        except FieldError as bad:
            yield bad.at(name, value.line.number)


def _sniff_members(prefix: bytes) -> float:
    start = closed(prefix) if prefix.lstrip().startswith(b"{") else None
    first = next(iter(start.values()), None) if isinstance(start, dict) else None
    return 0.97 if isinstance(first, dict) and isinstance(first.get("content"), list) else 0.0


FORMATS = (
    Format("json", "JSON: an array, or objects over several lines", _sniff_array, _read_array),
    Format("topical_chat", "Topical-Chat: an object by id", _sniff_members, _read_members),
)
