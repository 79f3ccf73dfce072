"""The files of Topical-Chat as released: one object with a member per conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.errors import RecordError
from grice.readers._build import JsonLayout, conversation, list_of
from grice.readers._bytes import blocks_of
from grice.readers._format import Bad, Format, Found, Line
from grice.readers._json import closed, decode, kind
from grice.readers.json import Value, values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grice.records import Conversation


LAYOUT = JsonLayout(keys=("content",), text=("message",), speaker=("agent",))


def _key(before: bytes) -> str:
    """Return the key that stands before a value."""
    text = before.strip(b", \t\r\n")
    key = decode(text.removesuffix(b":").rstrip()) if text.endswith(b":") else None
    if not isinstance(key, str):
        raise Bad(None, 'expected "id": {…}')
    return key


def _build(value: Value) -> Conversation:
    key = _key(value.before)
    record: Any = decode(value.line.data)
    if not isinstance(record, dict):
        raise Bad(key, f"expected an object, found {kind(record)}")
    if "content" not in record:
        raise Bad(f"{key}.content", f"missing; found {', '.join(sorted(record)[:8])}")
    built = LAYOUT.turns(list_of(record.pop("content"), "content", "turns"), "content")
    return conversation({"id": key, "meta": record}, built, key)


def _read(lines: Iterable[Line | RecordError], name: str) -> Iterator[Found]:
    for value in values(blocks_of(lines), name, container=b"{"):
        if isinstance(value, RecordError):
            yield value
            continue
        try:
            yield _build(value)
        except Bad as bad:
            yield bad.at(name, value.line.number)


def _sniff(prefix: bytes) -> float:
    if not prefix.lstrip().startswith(b"{"):
        return 0.0
    start = closed(prefix)
    if not isinstance(start, dict) or not start:
        return 0.0
    first = next(iter(start.values()))
    return 0.97 if isinstance(first, dict) and isinstance(first.get("content"), list) else 0.0


FORMAT = Format(
    name="topical_chat",
    summary="the JSON files of Topical-Chat: one object, conversation ids to conversations",
    description="""\
The turns stand in `content`, with `message` and `agent`. The other fields of a turn and of a
conversation become meta. The file is read one conversation at a time, however large it is.""",
    example="""\
{
  "t_1": {
    "config": "C",
    "content": [
      {"message": "Is it far?", "agent": "agent_1", "sentiment": "Curious to dive deeper"},
      {"message": "Ten minutes.", "agent": "agent_2", "sentiment": "Neutral"}
    ],
    "conversation_rating": {"agent_1": "Good", "agent_2": "Good"}
  }
}
""",
    sniff=_sniff,
    read=_read,
)
