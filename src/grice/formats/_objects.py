"""Conversations from the objects of a Python program: messages, or turns, as they stand there."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from grice.errors import RecordError
from grice.formats import messages, turns
from grice.formats._format import Bad

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice.records import Conversation

__all__ = ["from_objects", "from_record"]


def from_objects(items: Sequence[Mapping[str, Any]], name: str) -> Conversation:
    """Return the conversation of a list of messages (role and content) or of turns.

    Args:
        items: As a chat interface takes them, or as the format ``turns`` has them; not changed.
        name: Its id.

    Raises:
        RecordError: If one of them is neither.
    """
    copies = [deepcopy(dict(item)) for item in items]
    is_chat = any("role" in item and "content" in item for item in copies)
    build, field = (messages.build, "messages") if is_chat else (turns.build, "turns")
    try:
        return build({field: copies}, name)
    except Bad as bad:
        raise RecordError(bad.problem, file=name, field=bad.field) from None


def from_record(record: Mapping[str, Any], name: str) -> Conversation:
    """Return the conversation of an object with ``messages`` or ``turns``, as lines of JSON have.

    Args:
        record: The object; not changed.
        name: Its id, unless it has one.

    Raises:
        RecordError: If it is none.
    """
    build = messages.build if "messages" in record else turns.build
    try:
        return build(deepcopy(dict(record)), name)
    except Bad as bad:
        raise RecordError(bad.problem, file=name, field=bad.field) from None
