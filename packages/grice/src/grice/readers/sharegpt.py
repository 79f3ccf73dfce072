"""Chat logs in the layout of ShareGPT."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from grice.readers._build import built_turns, conversation, list_of, turn
from grice.readers._format import Bad, Format
from grice.readers._json import confidence, kind, records
from grice.readers.roles import SHAREGPT

if TYPE_CHECKING:
    from grice.records import Conversation, Turn


def _fits(record: dict[str, Any]) -> bool:
    value = record.get("conversations")
    return isinstance(value, list) and any(
        isinstance(item, dict) and "value" in item for item in value
    )


def _turn(item: object, otherwise: str) -> Turn:
    if not isinstance(item, dict):
        raise Bad(None, f"expected an object, found {kind(item)}")
    speaker = item.get("from")
    if isinstance(speaker, str):
        item.setdefault("role", SHAREGPT.get(speaker, speaker))
    return turn(item, otherwise, text=("value",), speaker=("from",))


def _build(record: dict[str, Any], default_id: str) -> Conversation:
    items = list_of(record.pop("conversations", None), "conversations", "turns")
    built = built_turns(items, "conversations", _turn)
    return conversation(record, built, default_id, field="conversations")


FORMAT = Format(
    name="sharegpt",
    summary="JSON lines with `conversations` of `from` and `value`, as ShareGPT data sets have",
    description="""\
The speaker is `from` as it stands; the role is what it means (`human`: user; `gpt`, `chatgpt`,
`bing`, `bard`: assistant; `function_call`, `observation`: tool; anything else as it stands).""",
    example="""\
{"id": "s1", "conversations": [{"from": "human", "value": "Is it far?"}, {"from": "gpt", "value": "Ten minutes."}]}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=partial(confidence, fits=_fits),
    read=partial(records, build=_build),
)
