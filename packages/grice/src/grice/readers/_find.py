"""One conversation of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError, RecordError
from grice.readers._reading import read
from grice.records import Conversation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from grice.readers._reading import Reading


def find_conversation(
    source: str | Path,
    *,
    id: str | None = None,  # noqa: A002 - the field's name
    turn: int | None = None,
    format: str | None = None,  # noqa: A002 - the flag's name
    columns: Mapping[str, str] | None = None,
) -> Conversation:
    """Return the conversation of an id, or the first one, with the reply to be judged.

    Args:
        turn: Index of the reply, from 0; by default the last turn.
        format, columns: As in :func:`grice.read`.

    Raises:
        InputError: If the file cannot be used, or there is no such conversation or turn.
    """
    with read(source, format=format, columns=columns) as reading:
        conversation = _find(reading, id)
    last = len(conversation.turns) - 1
    chosen = last if turn is None else turn
    if not 0 <= chosen <= last:
        raise InputError(f"{source}: {conversation.id} has turns 0 to {last}, not {chosen}")
    return Conversation(conversation.id, conversation.turns, (chosen,), conversation.meta)


def _find(reading: Reading, sought: str | None) -> Conversation:
    broken: list[RecordError] = []
    for record in reading:
        if isinstance(record, RecordError):
            broken.append(record)
        elif sought in (None, record.id):
            return record
    name = "" if sought is None else f" with the id {sought!r}"
    unread = f"; {len(broken)} could not be read, the first: {broken[0]}" if broken else ""
    raise InputError(f"{reading.source}: no conversation{name}{unread}")
