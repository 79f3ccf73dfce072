"""Traces of OpenTelemetry, by each convention for calls of models that is in use."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import RecordError
from grice.readers._calls import Call, conversations, history_of, json_of, replies_of
from grice.readers._format import Bad, Format, Line
from grice.readers._json import confidence, object_of, parsed_lines
from grice.readers.roles import ASSISTANT, OTEL_EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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

    ``span`` has ``trace`` and ``time``, and ``root`` where no other span is around it.
    """
    sent, returned = (
        _by_messages(attributes) or _by_index(attributes) or _by_events(events) or (None, None)
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
        before = json_of(attributes.get("gen_ai.system_instructions"))
        history = [*history_of(before or []), *(history_of(sent) if sent else [])]
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


KINDS = ("stringValue", "boolValue", "doubleValue")
LOG = ("eventName", "event_name", "body", "observedTimeUnixNano", "observed_timestamp")
"""Fields that log records have and spans do not."""
NO_PARENT = ("", "0000000000000000", None)


def _value(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of OTLP's JSON, whose kind is the name of its field."""
    if not isinstance(value, dict):
        return value
    for name in KINDS:
        if name in value:
            return value[name]
    if "intValue" in value:
        return int(value["intValue"])
    if "arrayValue" in value:
        return [_value(item) for item in (value["arrayValue"] or {}).get("values", [])]
    if "kvlistValue" in value:
        return _attributes((value["kvlistValue"] or {}).get("values", []))
    return None


def _attributes(items: object) -> dict[str, Any]:
    """Return attributes of OTLP's JSON, or of an exporter that writes an object."""
    if isinstance(items, dict):
        return flat(items)
    if not isinstance(items, list):
        return {}
    return {
        str(item.get("key")): _value(item.get("value")) for item in items if isinstance(item, dict)
    }


def _spans(record: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each span of a record, or log record, with the attributes of its resource."""
    for outer, inner, leaf in (
        ("resourceSpans", "scopeSpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
    ):
        for resource in record.get(outer) or []:
            shared = _attributes((resource.get("resource") or {}).get("attributes"))
            for scope in resource.get(inner) or []:
                yield from ((span, shared) for span in scope.get(leaf) or [])
    if "attributes" in record and "resourceSpans" not in record:
        resource = record.get("resource")
        yield (
            record,
            _attributes(resource.get("attributes") if isinstance(resource, dict) else {}),
        )


class _Logged(NamedTuple):
    """A span whose messages did not stand in it: they may be log records, here or further on."""

    about: dict[str, Any]
    attributes: dict[str, Any]
    events: list[dict[str, Any]]
    place: RecordError


def _calls(lines: Iterable[Line | RecordError], name: str) -> Iterator[Call | RecordError]:
    logged: dict[tuple[str, str], _Logged] = {}

    def calls(line: Line) -> Iterator[Call | RecordError]:
        place = RecordError("", file=name, line=line.number)
        try:
            for span, shared in _spans(object_of(line)):
                yield from _call(span, shared, place, logged)
        except (AttributeError, TypeError, ValueError) as error:
            raise Bad(None, f"not laid out as OTLP's JSON: {error}") from None

    yield from parsed_lines(lines, name, calls)
    for kept in logged.values():
        yield from call_of(kept.about, kept.attributes, kept.events, kept.place)


def _call(
    span: dict[str, Any],
    shared: dict[str, Any],
    place: RecordError,
    logged: dict[tuple[str, str], _Logged],
) -> Iterator[Call | RecordError]:
    attributes = {**shared, **_attributes(span.get("attributes"))}
    context = span.get("context") or span.get("spanContext") or {}
    trace, number = (
        str(span.get(camel) or span.get(snake) or context.get(snake) or "").removeprefix("0x")
        for camel, snake in (("traceId", "trace_id"), ("spanId", "span_id"))
    )
    about = {
        "trace": trace or f"{place.file}:{place.line}",
        "time": span.get("startTimeUnixNano") or span.get("start_time") or span.get("timeUnixNano"),
        "root": (span.get("parentSpanId") or span.get("parent_id")) in NO_PARENT,
    }
    events = [_event(event) for event in span.get("events") or []]
    is_log = any(name in span for name in LOG)
    if is_log:
        events.append(_event(span))
    if not has_call(attributes) and not events:
        return
    if is_log or not (has_messages(attributes) or events):
        kept = logged.setdefault((trace, number), _Logged(about, {}, [], place))
        kept.attributes.update(attributes)
        kept.events.extend(events)
        return
    yield from call_of(about, attributes, events, place)


def _event(event: dict[str, Any]) -> dict[str, Any]:
    attributes = _attributes(event.get("attributes"))
    name = event.get("eventName") or event.get("event_name") or attributes.get("event.name")
    return {"name": name or event.get("name"), "body": _value(event.get("body")), **attributes}


def _fits(record: dict[str, Any]) -> bool:
    if "resourceSpans" in record or "resourceLogs" in record:
        return True
    attributes = record.get("attributes")
    return isinstance(attributes, dict) and has_call(flat(attributes)) and "name" in record


FORMAT = Format(
    name="otel",
    summary="OpenTelemetry traces with GenAI attributes: OTLP's JSON lines, or a span a line",
    description="""\
Read are spans and log records that hold what a model was sent and returned:
`gen_ai.input.messages` and `gen_ai.output.messages` with `parts` (conventions since 1.37), events
`gen_ai.user.message` … `gen_ai.choice` (up to 1.36), `gen_ai.prompt.0.content` … (OpenLLMetry),
`llm.input_messages.0.…` (OpenInference). All calls with one `gen_ai.conversation.id` (or
`session.id`; without one: of one trace) become one conversation, in the order of their times:
what each repeats of the history is left out, and each reply is a target. Other spans are passed
over; a call without a reply, or whose messages were not recorded, is a broken record. Calls are
held until the file ends, at most 50,000.""",
    example="""\
{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "5b8e", "spanId": "a1", "name": "chat m", "startTimeUnixNano": "1", "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}, {"key": "gen_ai.conversation.id", "value": {"stringValue": "o1"}}, {"key": "gen_ai.input.messages", "value": {"stringValue": "[{\\"role\\": \\"user\\", \\"parts\\": [{\\"type\\": \\"text\\", \\"content\\": \\"Is it far?\\"}]}]"}}, {"key": "gen_ai.output.messages", "value": {"stringValue": "[{\\"role\\": \\"assistant\\", \\"parts\\": [{\\"type\\": \\"text\\", \\"content\\": \\"Ten minutes.\\"}], \\"finish_reason\\": \\"stop\\"}]"}}]}]}]}]}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=partial(confidence, fits=_fits),
    read=lambda lines, name: conversations(_calls(lines, name)),
)
