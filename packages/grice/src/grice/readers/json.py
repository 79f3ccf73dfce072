"""JSON that is not one object per line: arrays of records, or records over several lines."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from grice.errors import RecordError, excerpt
from grice.readers._bytes import blocks_of
from grice.readers._format import Bad, Format, Found, Line
from grice.readers._json import closed, decode, field_names, kind
from grice.readers._values import Value, values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    fields = field_names(record)
    raise Bad(None, f"no known layout of a conversation; found {fields}")


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
