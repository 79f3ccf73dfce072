"""Conversations that ParlAI logs: ``dialog`` is a list of exchanges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from grice.readers._build import built_turns, conversation, list_of, turn
from grice.readers._format import Format
from grice.readers._json import confidence, records

if TYPE_CHECKING:
    from grice.records import Conversation, Turn

_TURN = partial(turn, text=("text",), speaker=("id",))


def _fits(record: dict[str, Any]) -> bool:
    value = record.get("dialog")
    return isinstance(value, list) and any(isinstance(item, list) for item in value)


def _build(record: dict[str, Any], default_id: str) -> Conversation:
    exchanges = list_of(record.pop("dialog", None), "dialog", "exchanges")
    built: list[Turn] = []
    for index, exchange in enumerate(exchanges):
        field = f"dialog[{index}]"
        built += built_turns(list_of(exchange, field, "turns"), field, _TURN, before=len(built))
    return conversation(record, built, default_id, field="dialog")


FORMAT = Format(
    name="parlai_log",
    summary="JSON lines with `dialog`, a list of exchanges, as ParlAI and ACUTE-Eval log them",
    description="""\
The exchanges are put one after the other. The speaker of a turn is its `id`; other fields become
meta of the turn.""",
    example="""\
{"dialog": [[{"id": "human", "text": "Is it far?", "episode_done": false}, {"id": "bot", "text": "Ten minutes."}]], "context": []}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=partial(confidence, fits=_fits),
    read=partial(records, build=_build),
)
