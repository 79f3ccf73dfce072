"""JSON lines with a list of turns: a layout is a row of names, some with a function."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from grice.data import Turn
from grice.readers._build import JsonLayout, turn
from grice.readers._json import FieldError, as_object, kind
from grice.readers.roles import ASSISTANT, SHAREGPT, role_of


def _holds_no_list(items: list[Any]) -> bool:
    return not any(isinstance(item, list) for item in items)


def _begins_with_role(items: list[Any]) -> bool:
    return bool(items) and isinstance(items[0], dict) and "role" in items[0]


def _message_turn(item: object, _: str) -> Turn:
    message = as_object(item, "an object")
    role = message.get("role")
    if not isinstance(role, str):
        raise FieldError("role", f"expected text such as user or assistant, found {kind(role)}")
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
        if not isinstance(part, dict):
            raise FieldError(f"content[{index}]", f"expected an object, found {kind(part)}")
        if part.get("type") == "reasoning":
            continue
        text = part.get("refusal" if part.get("type") == "refusal" else "text")
        if isinstance(text, str):
            texts.append(text)
        elif str(part.get("type", "text")).endswith("text"):
            raise FieldError(f"content[{index}].text", f"expected text, found {kind(text)}")
    return "\n".join(texts)


def _sharegpt_turn(item: object, otherwise: str) -> Turn:
    message = as_object(item, "an object")
    speaker = message.get("from")
    if isinstance(speaker, str):
        message.setdefault("role", SHAREGPT.get(speaker, speaker))
    return turn(message, otherwise, text=("value",), speaker=("from",))


TURNS = JsonLayout(
    name="turns",
    summary="JSON lines with a list of turns: what grice itself writes",
    keys=("turns", "dialogue", "utterances", "dialog"),
    holds=_holds_no_list,
    has_targets=True,
)
MESSAGES = JsonLayout(
    name="messages",
    summary="JSON lines with `messages`, each with role and content, as chat interfaces log them",
    keys=("messages", "conversation", "conversations"),
    sure=("messages",),
    holds=_begins_with_role,
    turn=_message_turn,
    items="messages with role and content",
)
SHAREGPT_LAYOUT = JsonLayout(
    name="sharegpt",
    summary="JSON lines with `conversations` of `from` and `value`, as ShareGPT data sets have",
    keys=("conversations",),
    holds=lambda items: any(isinstance(item, dict) and "value" in item for item in items),
    turn=_sharegpt_turn,
)
PARLAI_LOG = JsonLayout(
    name="parlai_log",
    summary="JSON lines with `dialog`, a list of exchanges, as ParlAI and ACUTE-Eval log them",
    keys=("dialog",),
    holds=lambda items: any(isinstance(item, list) for item in items),
    turn=partial(turn, text=("text",), speaker=("id",)),
    items="exchanges",
    is_nested=True,
)
LAYOUTS = (TURNS, MESSAGES, SHAREGPT_LAYOUT, PARLAI_LOG)
FORMATS = tuple(layout.format() for layout in LAYOUTS)
