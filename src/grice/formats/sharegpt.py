"""Chat logs in the layout of ShareGPT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.formats._build import alternate, conversation, turn
from grice.formats._format import Bad, Format, Found, Line
from grice.formats._json import confidence, kind, records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grice.errors import RecordError
    from grice.records import Conversation

__all__ = ["FORMAT"]

_ROLES = {
    "human": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "function_call": "assistant",
    "observation": "tool",
}


def _fits(record: dict[str, Any]) -> bool:
    value = record.get("conversations")
    return isinstance(value, list) and any(
        isinstance(item, dict) and "value" in item for item in value
    )


def _build(record: dict[str, Any], default_id: str) -> Conversation:
    items = record.pop("conversations", None)
    if not isinstance(items, list):
        raise Bad("conversations", f"expected a list of turns, found {kind(items)}")
    built = []
    for index, item in enumerate(items):
        try:
            if not isinstance(item, dict):
                raise Bad(None, f"expected an object, found {kind(item)}")
            speaker = item.get("from")
            if isinstance(speaker, str):
                item.setdefault("role", _ROLES.get(speaker, speaker))
            built.append(turn(item, alternate(index), text=("value",), speaker=("from",)))
        except Bad as bad:
            raise bad.inside(f"conversations[{index}]") from None
    if not built:
        raise Bad("conversations", "no turn")
    return conversation(record, tuple(built), default_id)


def _sniff(prefix: bytes) -> float:
    return confidence(prefix, _fits)


def _read(lines: Iterable[Line | RecordError], name: str) -> Iterator[Found]:
    return records(lines, name, _build)


FORMAT = Format(
    name="sharegpt",
    summary="JSON lines with `conversations` of `from` and `value`, as ShareGPT data sets have",
    description="""\
The speaker is `from` as it stands; the role is what it means (`human`: user; `gpt`, `chatgpt`,
`bing`, `bard`, `function_call`: assistant; `observation`: tool; anything else as it stands).""",
    example="""\
{"id": "s1", "conversations": [{"from": "human", "value": "Is it far?"}, {"from": "gpt", "value": "Ten minutes."}]}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=_sniff,
    read=_read,
)
