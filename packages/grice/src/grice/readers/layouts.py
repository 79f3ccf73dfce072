"""Turns and conversations from objects, and JSON lines with a list of turns.

A layout is a row of names, some with a function. Fields without a part become meta.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec.structs import replace

from grice.data import Conversation, Turn
from grice.errors import InputError
from grice.readers._formats import json_format
from grice.readers._json import FieldError, expect, field_names, kind
from grice.readers.roles import ASSISTANT, SHAREGPT, role_of
from grice.readers.text import prefixed

if TYPE_CHECKING:
    from grice.data import Json

TEXT = ("text", "utterance", "message", "content")
SPEAKER = ("speaker", "agent", "name", "from")
ID = ("id", "conversation_id", "dialogue_id", "dialog_id", "conv_id", "GUID")

BuildTurn: TypeAlias = Callable[[Any, str], Turn]
"""Builds the turn of a list item, by the speaker A or B where it names none."""
_MISSING: Any = object()


def take(record: dict[str, Any], names: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON value
    """Remove and return the first of the named fields that is there and not null."""
    for name in names:
        if record.get(name) is not None:
            return record.pop(name)
    return None


def references(value: object, field: str) -> tuple[str, ...]:
    """Return texts that are given as one text, a list of texts, or not at all."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    texts = expect(value, list, "text or a list of texts", field)
    return tuple(expect(item, str, "text", f"{field}[{index}]") for index, item in enumerate(texts))


def _label(record: dict[str, Any], name: str) -> str | None:
    """Take a field that is a text or a number; leave anything else where it is, for meta."""
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    return str(record.pop(name))


def _speaker(record: dict[str, Any], names: Sequence[str], otherwise: str) -> str:
    value = take(record, names)
    if value is None or value == "":
        for name in names:  # the letter stands for a null, which is not kept
            if record.get(name, name) is None:
                del record[name]
        return otherwise
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise FieldError(names[0], f"expected the name of the speaker, found {kind(value)}")


def _meta(rest: dict[str, Any]) -> dict[str, Json]:
    """Return the other fields; those of a field ``meta`` join them unless a name is in both."""
    inner = rest.get("meta")
    if not isinstance(inner, dict):
        return rest
    if len(rest) == 1:
        return inner
    outer = {name: value for name, value in rest.items() if name != "meta"}
    return rest if outer.keys() & inner.keys() else inner | outer


def turn(
    item: object, otherwise: str, *, text: Sequence[str] = TEXT, speaker: Sequence[str] = SPEAKER
) -> Turn:
    """Return the turn of one list item: an object, which is used up, or just the text."""
    if type(item) is str:
        return Turn(otherwise, item)
    if type(item) is not dict:
        raise FieldError(None, f"expected an object or text, found {kind(item)}")
    for name in text:
        words = item.pop(name, _MISSING)
        if words is not _MISSING:
            break
    else:
        raise FieldError(text[0], f"missing; found {field_names(item)}")
    if type(words) is not str:
        raise FieldError(name, f"expected text, found {kind(words)}")
    if not item:
        return Turn(otherwise, words)
    # The role names a speaker without a name: user, user, assistant are two speakers, not A, B, A.
    role = _label(item, "role")
    who = _speaker(item, speaker, role or otherwise)
    if role is None and not item:
        return Turn(who, words)
    time = _label(item, "time")
    others = references(item.pop("references", None), "references")
    return Turn(who, words, role, time, others, _meta(item))


def turns_of(
    items: Sequence[object], field: str, build: BuildTurn = turn, *, before: int = 0
) -> list[Turn]:
    """Return the turn of each item; A and B alternate as if so many turns were before them."""
    built = []
    for index, item in enumerate(items):
        try:
            built.append(build(item, "AB"[(before + index) % 2]))
        except FieldError as bad:
            raise bad.inside(f"{field}[{index}]") from None
    return built


def conversation(
    rest: dict[str, Any],
    turns: Sequence[Turn],
    default_id: str,
    *,
    field: str = "turns",
    targets: tuple[int, ...] | None = None,
) -> Conversation:
    """Return the conversation of a record whose turns have been taken out.

    The id is the first of :data:`ID`; all other fields become meta.
    """
    if not turns:
        raise FieldError(field, "no turn")
    name = take(rest, ID)
    if name is None or name == "":
        name = default_id
    elif isinstance(name, bool) or not isinstance(name, (str, int, float)):
        raise FieldError("id", f"expected text or a number, found {kind(name)}")
    return Conversation(str(name), tuple(turns), targets, _meta(rest))


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """JSON lines with a list of turns under one of some keys, if the list ``holds`` such items.

    ``items`` is their noun in messages. With ``has_targets`` a record may name the turns to judge.
    """

    name: str
    summary: str
    keys: tuple[str, ...]
    holds: Callable[[str, list[Any]], bool]
    turn: BuildTurn = turn
    items: str = "turns"
    is_nested: bool = False
    has_targets: bool = False

    def fits(self, record: dict[str, Any]) -> bool:
        """Return whether a record has this layout."""
        return any(
            isinstance(items := record.get(key), list) and self.holds(key, items)
            for key in self.keys
        )

    def build(self, record: dict[str, Any], default_id: str) -> Conversation:
        """Return the conversation of a record, which is used up."""
        lists = [key for key in self.keys if isinstance(record.get(key), list)]
        expected = f"a list of {self.items}"
        if not lists:
            key = next((key for key in self.keys if key in record), None)
            if key is None:
                found = f"missing; found {field_names(record)}; expected {expected}"
                raise FieldError(self.keys[0], found)
            expect(record[key], list, expected, key)
        key = next((key for key in lists if self.holds(key, record[key])), lists[0])
        built = self._turns(record.pop(key), key)
        targets = None
        if self.has_targets and (stated := record.pop("targets", None)) is not None:
            targets = tuple(expect(stated, list, "a list of turn indices", "targets"))
            for place, index in enumerate(targets):
                if type(index) is not int or not 0 <= index < len(built):
                    problem = f"expected a turn index from 0 to {len(built) - 1}, found {index!r}"
                    raise FieldError(f"targets[{place}]", problem)
        return conversation(record, built, default_id, field=key, targets=targets)

    def _turns(self, items: list[Any], field: str) -> list[Turn]:
        if self.is_nested:
            built: list[Turn] = []
            for index, item in enumerate(items):
                place = f"{field}[{index}]"
                inner = expect(item, list, "a list of turns", place)
                built += turns_of(inner, place, self.turn, before=len(built))
            return built
        is_text = self.turn is turn and all(type(item) is str for item in items)
        return (prefixed(items) if is_text else None) or turns_of(items, field, self.turn)


def _message_turn(item: object, _: str) -> Turn:
    message: dict[str, Any] = expect(item, dict, "an object")
    role = expect(message.get("role"), str, "text such as user or assistant", "role")
    content = message.pop("content", None)
    if content is None and isinstance(message.get("parts"), list):
        content = message.pop("parts")
    text = content
    if isinstance(content, list):
        text = _text_of_parts(content)
    elif content is None:
        # A call of a tool has no text. It stays an empty turn, so that the index of a turn is the
        # index of its message.
        refusal = message.get("refusal")
        calls = message.get("tool_calls") or message.get("function_call")
        if refusal is None and not (role_of(role) == ASSISTANT and calls):
            raise FieldError("content", "missing; only a message that calls a tool may have none")
        text = refusal if isinstance(refusal, str) else ""
    message["content"] = text
    built = turn(message, role, text=("content",), speaker=("name",))
    if isinstance(content, list) and content != [{"type": "text", "text": text}]:
        return replace(built, meta=built.meta | {"content": content})
    return built


def _text_of_parts(content: list[Any]) -> str:
    """Return the texts of a list of content parts, joined by line ends."""
    texts = []
    for index, part in enumerate(content):
        type_ = expect(part, dict, "an object", f"content[{index}]").get("type")
        text = part.get("refusal" if type_ == "refusal" else "text")
        if isinstance(text, str) and type_ != "reasoning":
            texts.append(text)
        elif str(part.get("type", "text")).endswith("text"):
            raise FieldError(f"content[{index}].text", f"expected text, found {kind(text)}")
    return "\n".join(texts)


def _sharegpt_turn(item: object, otherwise: str) -> Turn:
    message: dict[str, Any] = expect(item, dict, "an object")
    if isinstance(speaker := message.get("from"), str):
        message.setdefault("role", SHAREGPT.get(speaker, speaker))
    return turn(message, otherwise, text=("value",), speaker=("from",))


def _has_roles(key: str, items: list[Any]) -> bool:
    first = items[0] if items else None
    return key == "messages" or (isinstance(first, dict) and "role" in first)


TURNS = Layout(
    name="turns",
    summary="JSON lines with a list of turns: what grice itself writes",
    keys=("turns", "dialogue", "utterances", "dialog"),
    holds=lambda _, items: not any(isinstance(item, list) for item in items),
    has_targets=True,
)
MESSAGES = Layout(
    name="messages",
    summary="JSON lines with `messages`, each with role and content, as chat interfaces log them",
    keys=("messages", "conversation", "conversations"),
    holds=_has_roles,
    turn=_message_turn,
    items="messages with role and content",
)
LAYOUTS = (
    TURNS,
    MESSAGES,
    Layout(
        name="sharegpt",
        summary="JSON lines with `conversations` of `from` and `value`, as ShareGPT data sets have",
        keys=("conversations",),
        holds=lambda _, items: any(isinstance(item, dict) and "value" in item for item in items),
        turn=_sharegpt_turn,
    ),
    Layout(
        name="parlai_log",
        summary="JSON lines with `dialog`, a list of exchanges, as ParlAI and ACUTE-Eval log them",
        keys=("dialog",),
        holds=lambda _, items: any(isinstance(item, list) for item in items),
        turn=partial(turn, text=("text",), speaker=("id",)),
        items="exchanges",
        is_nested=True,
    ),
)
FORMATS = tuple(json_format(each.name, each.summary, each.fits, each.build) for each in LAYOUTS)


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
        raise bad.at(name) from None
