"""Chat logs in the layout of the OpenAI interface."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from grice.readers._build import built_turns, conversation, turn
from grice.readers._format import Bad, Format
from grice.readers._json import confidence, field_names, kind, records
from grice.readers.roles import ASSISTANT, role_of

if TYPE_CHECKING:
    from grice.records import Conversation, Turn

_MESSAGES = ("messages", "conversation", "conversations")


def _messages(record: dict[str, Any]) -> str | None:
    for name in _MESSAGES:
        value = record.get(name)
        if isinstance(value, list) and (
            name == "messages" or (value and isinstance(value[0], dict) and "role" in value[0])
        ):
            return name
    return None


def _parts(content: list[Any]) -> str:
    """Return the texts of a list of content parts, joined by line ends."""
    texts = []
    for index, part in enumerate(content):
        if not isinstance(part, dict):
            raise Bad(f"content[{index}]", f"expected an object, found {kind(part)}")
        if part.get("type") == "reasoning":
            continue  # it is not said
        text = part.get("refusal" if part.get("type") == "refusal" else "text")
        if isinstance(text, str):
            texts.append(text)
        elif str(part.get("type", "text")).endswith("text"):
            raise Bad(f"content[{index}].text", f"expected text, found {kind(text)}")
    return "\n".join(texts)


def _turn(message: object, _: str) -> Turn:
    if not isinstance(message, dict):
        raise Bad(None, f"expected an object, found {kind(message)}")
    role = message.get("role")
    if not isinstance(role, str):
        raise Bad("role", f"expected text such as user or assistant, found {kind(role)}")
    content = message.pop("content", None)
    if content is None and isinstance(message.get("parts"), list):
        content = message.pop("parts")
    if isinstance(content, list):
        text = _parts(content)
    elif content is None:
        # A call of a tool says nothing. It stays an empty turn, so that the index of a turn is
        # the index of its message.
        refusal = message.get("refusal")
        if refusal is None and not (
            role_of(role) == ASSISTANT
            and (message.get("tool_calls") or message.get("function_call"))
        ):
            raise Bad("content", "missing; only a message that calls a tool may have none")
        text = refusal if isinstance(refusal, str) else ""
    else:
        text = content
    message["content"] = text
    built = turn(message, role, text=("content",), speaker=("name",))
    if isinstance(content, list) and content != [{"type": "text", "text": text}]:
        return replace(built, meta=built.meta | {"content": content})
    return built


def build(record: dict[str, Any], default_id: str) -> Conversation:
    """Return the conversation of a record."""
    key = _messages(record)
    if key is None:
        raise Bad(
            "messages",
            f"expected a list of messages with role and content; found {field_names(record)}",
        )
    built = built_turns(record.pop(key), key, _turn)
    return conversation(record, built, default_id, field=key)


FORMAT = Format(
    name="messages",
    summary="JSON lines with `messages`, each with role and content, as chat interfaces log them",
    description="""\
The list stands in `messages` (or `conversation`, `conversations`). The speaker is `name` if there
is one, else the role; the role is kept whatever it is, and messages of the system, the developer
and of tools are turns too, so that the index of a turn is the index of its message. Content is a
text or a list of parts (`parts` in the AI SDK of Vercel); texts of parts are joined by line ends,
reasoning is left out, and parts that are more than one text are kept under `content` in the meta of
the turn. A message that calls a tool and says nothing
is a turn with empty text; its `tool_calls` are kept in its meta.""",
    example="""\
{"id": "c1", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it far?"}, {"role": "assistant", "content": [{"type": "text", "text": "Ten minutes."}]}], "model": "m"}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=partial(confidence, fits=lambda record: _messages(record) is not None),
    read=partial(records, build=build),
)
