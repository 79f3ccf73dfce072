"""Traces of OpenTelemetry that follow its conventions for generative AI, or OpenLLMetry's."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import RecordError
from grice.readers._calls import Call, conversations
from grice.readers._format import Bad, Format, Line
from grice.readers._json import confidence, object_of, parsed_lines
from grice.readers._spans import call_of, flat, has_call, has_messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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
        yield record, _attributes(resource.get("attributes") if isinstance(resource, dict) else {})


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
