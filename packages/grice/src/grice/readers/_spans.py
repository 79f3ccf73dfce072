"""What spans of tracers say about a call of a model, by each convention that is in use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from grice.errors import RecordError
from grice.readers._calls import Call
from grice.readers._chat import history_of, json_of, replies_of
from grice.readers._format import Bad
from grice.readers.roles import ASSISTANT, OTEL_EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grice.records import Json

Attributes = dict[str, Any]

CONVERSATION = (
    "gen_ai.conversation.id",
    "session.id",
    "traceloop.association.properties.session_id",
)
"""What names the conversation, by the GenAI conventions, OpenInference and OpenLLMetry."""
INDEXED = re.compile(
    r"(llm\.input_messages|llm\.output_messages|gen_ai\.prompt|gen_ai\.completion)\.(\d+)\.(.+)"
)
CHOICE = "gen_ai.choice"
MODEL, ROOT = 1, 0
"""Ranks of calls: a span of a model says more than the root span around it."""
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"


def flat(attributes: object, prefix: str = "") -> Attributes:
    """Return attributes by their dotted names, however they are nested."""
    named: Attributes = {}
    if not isinstance(attributes, dict):
        return named
    for name, value in attributes.items():
        dotted = f"{prefix}{name}"
        nested = isinstance(value, dict) and dotted.partition(".")[0] in NESTED
        if nested and not value.keys() & {"role", "content", "parts"}:
            named |= flat(value, f"{dotted}.")
        else:
            named[dotted] = value
    return named


NESTED = frozenset({"attributes", "gen_ai", "input", "llm", "openinference", "output", "session"})


def has_call(attributes: Attributes) -> bool:
    """Return whether attributes are those of a call of a model, or of the root around it."""
    return any(
        name.startswith(("gen_ai.", "llm.input_messages", "llm.output_messages", "input.value"))
        for name in attributes
    )


def has_messages(attributes: Attributes) -> bool:
    """Return whether what was sent and returned stands in attributes themselves."""
    messages = _by_messages(attributes) or _by_index(attributes)
    return messages is not None or "input.value" in attributes


def call_of(
    span: Mapping[str, Any], attributes: Attributes, events: list[Attributes], place: RecordError
) -> Iterator[Call | RecordError]:
    """Yield the call that a span logs; nothing of a span about something else.

    Args:
        span: ``trace`` and ``time``; ``root`` where no other span is around it.
        attributes: By their dotted names.
        events: Attributes of the events of the span, each with its ``name``.
        place: A complaint that says where the span stands.
    """
    sent, returned = (
        _by_messages(attributes)
        or _by_index(attributes)
        or _by_events(events)
        or (
            None,
            None,
        )
    )
    rank = MODEL
    if sent is None and returned is None:
        if "input.value" not in attributes or not span.get("root"):
            if str(attributes.get("gen_ai.operation.name")) in ("chat", "text_completion"):
                yield _complaint(place, f"a call without messages; record them with {CAPTURE}")
            return
        sent, returned, rank = attributes["input.value"], attributes.get("output.value"), ROOT
    if returned is None:
        yield _complaint(place, "a call without a reply: it failed, or half of the span was lost")
        return
    try:
        before = (
            history_of(json_of(attributes.get("gen_ai.system_instructions")) or [])
            if ("gen_ai.system_instructions" in attributes)
            else []
        )
        history = [*before, *(history_of(sent) if sent else [])]
        replies = replies_of(returned)
    except Bad as bad:
        yield _complaint(place, bad.problem)
        return
    if not replies:
        return  # it calls a tool, and says nothing
    trace = str(span["trace"])
    name = next((str(attributes[key]) for key in CONVERSATION if attributes.get(key)), trace)
    yield Call(name, trace, rank, str(span.get("time") or ""), history, replies, _meta(attributes))


def _complaint(place: RecordError, problem: str) -> RecordError:
    return RecordError(problem, file=place.file, line=place.line, field=place.field)


def _by_messages(attributes: Attributes) -> tuple[Json, Json] | None:
    """Read the GenAI conventions since 1.37, or messages that stand as one value."""
    for sent, returned in (
        ("gen_ai.input.messages", "gen_ai.output.messages"),
        ("llm.input_messages", "llm.output_messages"),
    ):
        if attributes.get(sent) or attributes.get(returned):
            answered = json_of(attributes.get(returned))
            first = answered[:1] if isinstance(answered, list) else answered  # one choice counts
            return json_of(attributes.get(sent)), first or None
    return None


def _by_index(attributes: Attributes) -> tuple[Any, Any] | None:
    """Read OpenInference and OpenLLMetry, where each field of a message is an attribute."""
    lists: dict[str, dict[int, dict[str, Any]]] = {}
    for name, value in attributes.items():
        if match := INDEXED.fullmatch(name):
            field = match[3].removeprefix("message.")
            message = lists.setdefault(match[1], {}).setdefault(int(match[2]), {})
            if field.startswith("contents."):  # parts of OpenInference, one attribute each
                if field.endswith(("text", "content")):
                    message["content"] = "\n".join(filter(None, [message.get("content"), value]))
            else:
                message[field] = value
    if not lists:
        return None
    sent, returned = (
        [messages[number] for number in sorted(messages)]
        for messages in (
            lists.get("llm.input_messages") or lists.get("gen_ai.prompt") or {},
            lists.get("llm.output_messages") or lists.get("gen_ai.completion") or {},
        )
    )
    return sent, returned[:1] or None


def _by_events(events: list[Attributes]) -> tuple[Json, Json] | None:
    """Read the GenAI conventions up to 1.36, where each message is an event of the span."""
    sent: list[Json] = []
    returned: Json = None
    for event in events:
        name, body = str(event.get("name")), json_of(event.get("body"))
        fields = {**event, **(body if isinstance(body, dict) else {})}
        if name in OTEL_EVENTS:
            content = json_of(fields.get("content"))
            sent.append({"role": OTEL_EVENTS[name], "content": content})
        elif name == CHOICE and returned is None:
            message = json_of(fields.get("message"))
            returned = message if message else {"role": ASSISTANT, "content": fields.get("content")}
        elif name == "gen_ai.client.inference.operation.details":
            return _by_messages({**fields, **flat(fields.get("attributes"))})
    return (sent, returned) if sent or returned else None


def _meta(attributes: Attributes) -> dict[str, Json]:
    """Return who answered: the model, and what the service and the user are called."""
    names = {
        "model": ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name"),
        "service": ("service.name",),
        "user": ("user.id", "enduser.id"),
        "agent": ("gen_ai.agent.name",),
    }
    known = {
        field: next((attributes[name] for name in keys if attributes.get(name)), None)
        for field, keys in names.items()
    }
    return {field: value for field, value in known.items() if value is not None}
