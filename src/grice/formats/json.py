"""JSON that is not one object per line: arrays of records, or records over several lines."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from grice.errors import RecordError
from grice.formats._bytes import blocks_of
from grice.formats._format import Bad, Format, Found, Line
from grice.formats._json import closed, decode
from grice.formats._values import Value, values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["FORMAT"]

_ARRAY = re.compile(rb"\s*\[\s*[{\[\]]")


def _layout(data: bytes) -> Format:
    """Return the format of one record."""
    from grice.formats._registry import FORMATS

    record = decode(data)
    compact = msgspec.json.encode(record)
    name, sure = max(
        ((form.name, form.sniff(compact)) for form in FORMATS.values() if form.name != "json"),
        key=lambda pair: pair[1],
    )
    if isinstance(record, dict) and sure:
        return FORMATS[name]
    if isinstance(record, dict) and record.keys() & {"role", "speaker", "from"}:
        raise Bad(
            None,
            "this is a turn, not a conversation; if the file is a list of turns, wrap it with: "
            "jq -c '{messages: .}' for role and content, or jq -c '{turns: .}'",
        )
    fields = ", ".join(sorted(record)[:8]) if isinstance(record, dict) else "a list"
    raise Bad(None, f"no known layout of a conversation; found {fields or 'no field'}")


def _lines(found: Iterable[Value | RecordError], name: str) -> Iterator[Line | RecordError]:
    for value in found:
        if isinstance(value, RecordError):
            yield value
        elif value.before.strip(b", \t\r\n"):
            shown = value.before.strip(b", \t\r\n")[:40].decode("utf-8", "replace")
            problem = f"expected a comma and an object, found {shown!r}"
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
    if _ARRAY.match(prefix):
        return 0.9
    if not prefix.lstrip().startswith(b"{"):
        return 0.0
    line, end, _ = prefix.lstrip().partition(b"\n")
    if not end:
        return 0.0
    try:
        decode(line)
    except Bad:
        return 0.6 if isinstance(closed(prefix), dict) else 0.0
    return 0.0


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
