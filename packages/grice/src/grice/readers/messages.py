"""Messages in the formats of LLM APIs: turns of requests and responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grice.data import Conversation, Json, Turn
from grice.readers._formats import FieldError, decode, field_names, kind
from grice.readers.roles import ASSISTANT, LANGCHAIN, SYSTEM, TOOL, TYPES, USER, role_of

LISTS = ("messages", "input", "contents", "prompt", "message", "chat_history")
"""Fields of what is sent that hold messages, or a text."""
QUESTIONS = ("input", "question", "query", "prompt", "message", "text", "content", "user_input")
"""Fields of what is sent that hold the last message alone, beside those that hold the history."""
ANSWERS = ("choices", "output", "messages", "message", "generations", "answer", "response")
"""Fields of what is returned that hold messages."""
TEXTS = ("output_text", "text", "content", "completion", "result", "reply", "output")
"""Fields of what is returned that hold the text."""
TEXT_PARTS = ("text", "input_text", "output_text", "refusal")
NO_SPEECH = ("function_call", "function_call_output", "reasoning", "item_reference")
"""Items of OpenAI's Responses without speech."""


def json_of(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Decode a text that holds JSON, as tracers write attributes; return others as they are."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return decode(value.encode())
        except FieldError:
            return value
    return value


def history_of(sent: object) -> list[Turn]:
    """Return the turns of messages sent to a model, of an object with them, or of a text."""
    sent = json_of(sent)
    if isinstance(sent, list):
        inner = sent[0] if len(sent) == 1 and isinstance(sent[0], list) else sent
        return [turn for item in inner for turn in _turns(item, USER)]
    if isinstance(sent, str) or _is_message(sent):
        return _turns(sent, USER)
    if not isinstance(sent, dict):
        raise FieldError(None, f"expected messages or text, found {kind(sent)}")
    before = _spoken(sent.get("instructions") or sent.get("system") or "", SYSTEM)
    for name in LISTS:
        inner = json_of(sent.get(name))
        if isinstance(inner, (list, dict)) and inner:
            return [*before, *history_of(inner), *_question(sent, besides=name)]
    return [*before, *(_question(sent) or _only_text(sent, USER, "messages or text"))]


def _question(sent: dict[str, Any], besides: str = "") -> list[Turn]:
    """Return the question beside the history, or alone."""
    for name in QUESTIONS:
        value = json_of(sent[name]) if name in sent and name != besides else None
        if isinstance(value, str) and value:
            return _spoken(value, USER)
    return []


def replies_of(returned: object) -> list[Turn]:
    """Return the turns that a model returned: its first choice, calls of tools left out."""
    returned = json_of(returned)
    if isinstance(returned, list):
        first = returned[0] if returned else None
        stated = first if isinstance(first, dict) else {}
        is_item = _is_message(first) or stated.get("type") in (*NO_SPEECH, "message")
        is_choice = "message" in stated or "index" in stated
        if is_choice or (isinstance(first, (dict, list)) and not is_item):
            return replies_of(first)
        return [turn for item in returned for turn in _turns(item, ASSISTANT)]
    if isinstance(returned, str) or _is_message(returned):
        return _turns(returned, ASSISTANT)
    if not isinstance(returned, dict):
        raise FieldError(None, f"expected a reply, found {kind(returned)}")
    for name in ANSWERS:
        if isinstance(inner := json_of(returned.get(name)), (list, dict)) and inner:
            return replies_of(inner)
    for name in (*TEXTS, *ANSWERS):
        if isinstance(text := returned.get(name), str):
            return _spoken(text, ASSISTANT)
    return _only_text(returned, ASSISTANT, "a reply")


def turns_in(read: Callable[[object], list[Turn]], value: object, field: str) -> list[Turn]:
    """Return the turns in a field, which is named by errors."""
    try:
        return read(value)
    except FieldError as bad:
        raise bad.inside(field) from None


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
        raise bad.at(name) from None
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


def _is_message(item: object) -> bool:
    """Return whether an object is a message: a role with content, parts or calls of tools."""
    return (
        isinstance(item, dict)
        and _role(item) is not None
        and not _fields_of(item).keys().isdisjoint(("content", "parts", "tool_calls"))
    )


def _only_text(record: dict[str, Any], role: str, expected: str) -> list[Turn]:
    texts = [value for value in record.values() if isinstance(value, str)]
    if len(texts) == 1:
        return _spoken(texts[0], role)
    raise FieldError(None, f"expected {expected}; found {field_names(record)}")


def _turns(item: object, otherwise: str) -> list[Turn]:
    """Return the turn of a message; none if it has no text."""
    if isinstance(item, str):
        return _spoken(item, otherwise)
    match item:  # LangChain's short form
        case [str(role), str(text)]:
            return _spoken(text, LANGCHAIN.get(role, role))
    if not isinstance(item, dict):
        raise FieldError(None, f"expected a message, found {kind(item)}")
    if item.get("type") in NO_SPEECH:
        return []
    inner = _fields_of(item)
    content = inner.get("content")
    text = _text(inner.get("parts") if content is None else content)
    if not text and isinstance(refusal := inner.get("refusal"), str):
        text = refusal
    role = _role(item) or otherwise
    name = inner.get("name")
    return [Turn(name if isinstance(name, str) and name else role, text, role)] if text else []


def _spoken(content: Json, role: str) -> list[Turn]:
    text = _text(content)
    return [Turn(role, text, role)] if text.strip() else []


def _fields_of(item: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message out of the wrappers of LangChain or OpenInference."""
    if "content" not in item and "parts" not in item:
        for name in ("kwargs", "data", "message"):
            if isinstance(inner := item.get(name), dict):
                return _fields_of(inner)
    if "message.role" in item:
        return {name.removeprefix("message."): value for name, value in item.items()}
    return item


def _role(item: dict[str, Any]) -> str | None:
    """Return the role of a message, by OpenAI's names if it has one of LangChain's."""
    inner = _fields_of(item)
    if isinstance(stated := inner.get("role"), str):
        return LANGCHAIN.get(stated, stated)
    serialized = item.get("id")
    names = serialized[-1:] if isinstance(serialized, list) else []
    for name in (*names, item.get("type"), inner.get("type")):
        if isinstance(name, str) and name in LANGCHAIN:
            return LANGCHAIN[name]
    return str(item["type"]) if item.get("type") in TYPES else None


def _text(content: Json) -> str:
    """Return the texts of content, joined by line ends; nothing of parts that are no text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(_text, content)))
    if isinstance(content, dict):
        prefix = "message_content." if "message_content.type" in content else ""
        if str(content.get(prefix + "type", "text")) in TEXT_PARTS:
            for name in ("text", "content", "refusal"):
                if isinstance(text := content.get(prefix + name), str):
                    return text
    return ""
