"""JSON that is not one object per line: arrays, records over several lines, Topical-Chat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from grice.data import Conversation
from grice.errors import excerpt
from grice.readers._formats import (
    LONGEST_LINE,
    FieldError,
    Format,
    Found,
    Line,
    best_format,
    closed,
    decode,
    expect,
    field_names,
)
from grice.readers.layouts import conversation, turn, turns_of

if TYPE_CHECKING:
    from grice.readers._reading import Input

_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+([\[\]{}])', re.DOTALL)
"""As far as the next bracket outside of strings; nothing if a string is cut off before it."""
_BETWEEN = b", \t\r\n"
_ARRAY = re.compile(rb"\s*\[\s*[{\[\]]")
_TURN = {"role", "speaker", "from"}
_topical_turn = partial(turn, text=("message",), speaker=("agent",))


def values(blocks: Iterable[bytes], container: bytes) -> Iterator[tuple[bytes, Line]]:
    """Yield objects (and lists) that stand alone or one level down in a container.

    Each comes with the commas, white space or key before it. ``[`` yields the elements of arrays,
    and objects outside of any; ``{`` the members of objects; a problem stands for anything else.
    A value is cut out by counting brackets outside of strings. Memory holds the largest value.
    """
    data, added = b"", []
    line, depth, base = 1, 0, 0
    begin = place = size = 0  # of what was not yielded, and of what was not looked at
    is_open = False
    before = b""

    try:
        for block in chain(blocks, [b""]):
            added.append(block)
            size += len(block)
            if block and size < len(data) - begin:  # a long value is not looked at again so soon
                continue
            data = b"".join([data[begin:], *added])
            place, begin, size = place - begin, 0, 0
            added.clear()
            if len(data) > LONGEST_LINE:
                problem = f"a value that begins here is longer than {LONGEST_LINE >> 20} MiB; "
                yield b"", Line(line, b"", f"{problem}it and the rest were not read")
                return
            while token := _BRACKET.match(data, place):
                place = token.end()
                opens = token[1] in b"[{"
                depth = depth + 1 if opens else max(0, depth - 1)
                if is_open:
                    if depth == base:
                        value = data[begin:place]
                        yield before, Line(line, value)
                        line += value.count(b"\n")
                        begin, is_open = place, False
                    continue
                gap = data[begin : place - 1]
                line += gap.count(b"\n")
                begin = place
                if opens and not (depth == 1 and token[1] == container):
                    before, begin, is_open = gap, place - 1, True
                    continue
                base = int(opens)
                if found := gap.strip(_BETWEEN):
                    yield b"", _stray(line, found)
    except FieldError as bad:
        yield b"", Line(line, b"", bad.problem)
        return
    if is_open:
        yield b"", Line(line, b"", "the file ends inside the value that begins here")
        return
    line += data.count(b"\n", begin)
    if found := data[begin:].strip(_BETWEEN):
        yield b"", _stray(line, found)
    if depth:
        yield b"", Line(line, b"", "the file ends before its outermost bracket is closed")


def _known(record: object) -> Format | None:
    """Return the format whose layout a record has."""
    sure, form = best_format(msgspec.json.encode(record), "json", "topical_chat")
    return form if sure else None


def _layout(line: Line) -> Format:
    record = line.record()
    if (form := _known(record)) is not None:
        return form
    if record.keys() & _TURN:
        wrap = (
            "if the file is one conversation, wrap it with: jq -c '{messages: .}' or '{turns: .}'"
        )
        raise FieldError(None, f"this is a turn, not a conversation; {wrap}")
    raise FieldError(None, f"no known layout of a conversation; found {field_names(record)}")


def _items(lines: Input) -> Iterator[Line]:
    for before, line in values(lines.blocks(), b"["):
        if stray := before.strip(_BETWEEN):
            yield _stray(line.number, stray)
        yield line


def _stray(number: int, found: bytes) -> Line:
    shown = excerpt(found[:1000].decode("utf-8", "replace"), 40)
    return Line(number, b"", f"expected a comma and an object, found {shown!r}")


def _read_array(lines: Input, name: str) -> Iterator[Found]:
    items = _items(lines)
    for line in items:
        try:
            form = _layout(line)
        except FieldError as bad:
            yield bad.at(name, line.number)
        else:
            yield from form.read(chain([line], items), name)


def _sniff_array(prefix: bytes) -> float:
    start = prefix.lstrip()
    line, end, _ = start.partition(b"\n")
    if not _ARRAY.match(start) and not (start.startswith(b"{") and end and not _is_json(line)):
        return 0.0
    first = closed(start)
    while isinstance(first, list) and first:
        first = first[0]
    if isinstance(first, dict):
        return 0.9 if _known(first) or first.keys() & _TURN else 0.0
    # An empty array, or one whose first record is too long to be seen.
    return 0.35 if start.startswith(b"[") else 0.0


def _is_json(line: bytes) -> bool:
    try:
        decode(line)
    except FieldError:
        return False
    return True


def _build_member(before: bytes, line: Line) -> Conversation:
    value = line.json()
    key = decode(before.removesuffix(b":").rstrip()) if before.endswith(b":") else None
    if not isinstance(key, str):
        raise FieldError(None, 'expected "id": {…}')
    record: dict[str, Any] = expect(value, dict, "an object", key)
    if "content" not in record:
        raise FieldError(f"{key}.content", f"missing; found {field_names(record)}")
    items = expect(record.pop("content"), list, "a list of turns", "content")
    turns = turns_of(items, "content", _topical_turn)
    return conversation({"id": key, "meta": record}, turns, key, field="content")


def _read_members(lines: Input, name: str) -> Iterator[Found]:
    for before, line in values(lines.blocks(), b"{"):
        try:
            yield _build_member(before.strip(_BETWEEN), line)
        except FieldError as bad:
            yield bad.at(name, line.number)


def _sniff_members(prefix: bytes) -> float:
    start = closed(prefix) if prefix.lstrip().startswith(b"{") else None
    first = next(iter(start.values()), None) if isinstance(start, dict) else None
    return 0.97 if isinstance(first, dict) and isinstance(first.get("content"), list) else 0.0


FORMATS = (
    Format("json", "JSON: an array, or objects over several lines", _sniff_array, _read_array),
    Format("topical_chat", "Topical-Chat: an object by id", _sniff_members, _read_members),
)
