"""Conversations from the objects of a Python program."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from itertools import starmap
from typing import TYPE_CHECKING, Any

import msgspec

from grice.data import Conversation
from grice.errors import InputError, RecordError
from grice.readers._formats import named
from grice.readers._json import FieldError, Line
from grice.readers.layouts import MESSAGES, TURNS
from grice.readers.messages import history_of
from grice.readers.roles import ASSISTANT, TOOL, role_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.readers._formats import Found


def from_objects(items: Sequence[Mapping[str, Any]], name: str) -> Conversation:
    """Return the conversation of a list of messages (role and content) or of turns.

    Raises:
        InputError: An item of the list is no object.
    """
    for place, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise InputError(
                f"{name}: item {place} of the list is {type(item).__name__}; pass a list of "
                "messages with role and content, or of turns with speaker and text"
            )
    is_chat = any("role" in item and "content" in item for item in items)
    return from_record({"messages" if is_chat else "turns": list(map(dict, items))}, name)


def from_record(record: Mapping[str, Any], name: str) -> Conversation:
    """Return the conversation of an object with ``messages`` or ``turns``, as in JSON lines.

    Raises:
        RecordError: The object cannot be used.
    """
    layout = MESSAGES if "messages" in record else TURNS
    try:
        return layout.build(deepcopy(dict(record)), name)
    except FieldError as bad:
        raise RecordError(bad.problem, file=name, field=bad.field) from None


def from_messages(items: object, name: str, *, whole: bool = False) -> Conversation:
    """Return the conversation of messages in the layout of any tool.

    Args:
        items: Messages, or objects of a library that hold them.
        name: Id of the conversation.
        whole: Whether all replies of the assistant are targets, not the last turn alone.

    Raises:
        RecordError: There is no message with text.
    """
    try:
        spoken = [turn for turn in history_of(_plain(items)) if role_of(turn.role) != TOOL]
        if not spoken:
            raise FieldError("messages", "no turn")
    except FieldError as bad:
        raise RecordError(bad.problem, file=name, field=bad.field) from None
    replies = tuple(place for place, turn in enumerate(spoken) if role_of(turn.role) == ASSISTANT)
    return Conversation(name, tuple(spoken), replies if whole and replies else (len(spoken) - 1,))


def _plain(value: Any) -> Any:  # noqa: ANN401 - of any library
    """Return the fields of objects of some library."""
    if isinstance(value, (str, int, float, dict, type(None))):
        return value
    if isinstance(value, (list, tuple)):
        return list(map(_plain, value))
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json")
    return dict(getattr(value, "__dict__", {}))


def from_logs(records: Iterable[Mapping[str, Any]], form: str, name: str) -> list[Found]:
    """Return the conversations of objects in the layout of a format of JSON lines."""
    lines = starmap(Line, enumerate(map(msgspec.json.encode, records), 1))
    return list(named(form).read(lines, name))
