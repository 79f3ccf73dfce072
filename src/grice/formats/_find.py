"""One conversation of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError, RecordError
from grice.formats._reading import read
from grice.records import Conversation

if TYPE_CHECKING:
    from pathlib import Path


def find_conversation(
    source: str | Path,
    *,
    id: str | None = None,  # noqa: A002 - the field's name
    turn: int | None = None,
    format: str | None = None,  # noqa: A002 - the flag's name
) -> Conversation:
    """Return the conversation of an id, or the first one, with the reply to be judged.

    Args:
        turn: Index of the reply, from 0; by default the last turn.

    Raises:
        InputError: If the file cannot be used, or there is no such conversation or turn.
    """
    conversation = _find(source, id, format)
    last = len(conversation.turns) - 1
    chosen = last if turn is None else turn
    if not 0 <= chosen <= last:
        raise InputError(f"{source}: {conversation.id} has turns 0 to {last}, not {chosen}")
    return Conversation(conversation.id, conversation.turns, (chosen,), conversation.meta)


def _find(source: str | Path, sought: str | None, form: str | None) -> Conversation:
    broken: list[RecordError] = []
    with read(source, format=form) as reading:
        for record in reading:
            if isinstance(record, RecordError):
                broken.append(record)
            elif sought in (None, record.id):
                return record
    name = "" if sought is None else f" with the id {sought!r}"
    unread = f"; {len(broken)} could not be read, the first: {broken[0]}" if broken else ""
    raise InputError(f"{source}: no conversation{name}{unread}")
