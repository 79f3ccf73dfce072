"""Preference records: a prompt, the reply that was chosen and the one that was rejected."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from grice.readers._build import ID, take
from grice.readers._calls import history_of, replies_of, turns_in
from grice.readers._format import Bad, Format, Line, stem
from grice.readers._json import confidence, field_names, object_of, parsed_lines
from grice.records import Conversation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grice.errors import RecordError
    from grice.readers._format import Found
    from grice.records import Turn

SIDES = ("chosen", "rejected")


def _fits(record: dict[str, Any]) -> bool:
    return all(isinstance(record.get(side), (str, list, dict)) for side in SIDES)


def _read(lines: Iterable[Line | RecordError], name: str) -> Iterator[Found]:
    base = stem(name)
    return parsed_lines(lines, name, lambda line: _pair(object_of(line), f"{base}:{line.number}"))


def _pair(record: dict[str, Any], default_id: str) -> list[Conversation]:
    """Return a conversation for each side; the reply is the only turn to be judged."""
    sides = {}
    for side in SIDES:
        if record.get(side) is None:
            raise Bad(side, f"missing; found {field_names(record)}")
        sides[side] = turns_in(replies_of, record.pop(side), side)
    prompt = record.pop("prompt", None)
    history = history_of(prompt) if prompt else []
    name = str(take(record, ID) or default_id)
    return [
        _conversation(f"{name}:{side}", history, turns, {**record, "preference": side})
        for side, turns in sides.items()
    ]


def _conversation(
    name: str, history: list[Turn], replies: list[Turn], meta: dict[str, Any]
) -> Conversation:
    # Where there is no prompt, it is what both sides begin with, the last message being the reply.
    whole = replies if replies[: len(history)] == history else [*history, *replies]
    if not whole:
        raise Bad(meta["preference"], "no turn")
    return Conversation(name, tuple(whole), (len(whole) - 1,), meta)


FORMAT = Format(
    name="preference",
    summary="preference records with `prompt`, `chosen` and `rejected`, as trainers take them",
    description="""\
A record gives two conversations, `ID:chosen` and `ID:rejected`, whose last turn alone is judged.
The prompt is a text or messages; a side is the reply, as text or messages, or the whole
conversation. Which side it is stands in the meta under `preference`; other fields are kept in
both.""",
    example="""\
{"id": "q1", "prompt": [{"role": "user", "content": "Is it far?"}], "chosen": [{"role": "assistant", "content": "Ten minutes."}], "rejected": [{"role": "assistant", "content": "Far is a word."}]}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=partial(confidence, fits=_fits),
    read=_read,
)
