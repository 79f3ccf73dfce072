"""Conversations that ParlAI logs: ``dialog`` is a list of exchanges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.formats._build import alternate, conversation, turn
from grice.formats._format import Bad, Format, Found, Line
from grice.formats._json import confidence, kind, records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grice.errors import RecordError
    from grice.records import Conversation, Turn

__all__ = ["FORMAT"]


def _fits(record: dict[str, Any]) -> bool:
    value = record.get("dialog")
    return isinstance(value, list) and any(isinstance(item, list) for item in value)


def _build(record: dict[str, Any], default_id: str) -> Conversation:
    exchanges = record.pop("dialog", None)
    if not isinstance(exchanges, list):
        raise Bad("dialog", f"expected a list of exchanges, found {kind(exchanges)}")
    built: list[Turn] = []
    for outer, exchange in enumerate(exchanges):
        if not isinstance(exchange, list):
            raise Bad(f"dialog[{outer}]", f"expected a list of turns, found {kind(exchange)}")
        for inner, item in enumerate(exchange):
            try:
                built.append(turn(item, alternate(len(built)), text=("text",), speaker=("id",)))
            except Bad as bad:
                raise bad.inside(f"dialog[{outer}][{inner}]") from None
    if not built:
        raise Bad("dialog", "no turn")
    return conversation(record, tuple(built), default_id)


def _sniff(prefix: bytes) -> float:
    return confidence(prefix, _fits)


def _read(lines: Iterable[Line | RecordError], name: str) -> Iterator[Found]:
    return records(lines, name, _build)


FORMAT = Format(
    name="parlai_log",
    summary="JSON lines with `dialog`, a list of exchanges, as ParlAI and ACUTE-Eval log them",
    description="""\
The exchanges are put one after the other. The speaker of a turn is its `id`; other fields become
meta of the turn.""",
    example="""\
{"dialog": [[{"id": "human", "text": "Is it far?", "episode_done": false}, {"id": "bot", "text": "Ten minutes."}]], "context": []}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=_sniff,
    read=_read,
)
