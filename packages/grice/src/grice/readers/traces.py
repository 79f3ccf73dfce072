"""LLM calls logged by tracers and proxies, merged into conversations.

Each call is logged with all that was sent, so the calls of a conversation repeat one another. Here
they become one conversation, whose targets are the replies. A tracer is a table of paths
(:class:`Tracer`) in ``data/tracers.toml``; OpenTelemetry and OpenAI's interfaces need a function
each.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from typing import Any, NamedTuple

import msgspec

from grice.data import Conversation, Json, Turn
from grice.errors import RecordError
from grice.readers._formats import (
    FieldError,
    Format,
    Found,
    Line,
    confidence,
    expect,
    field_names,
    parsed_lines,
)
from grice.readers.messages import history_of, json_of, replies_of, turns_in
from grice.readers.roles import ASSISTANT, OTEL_EVENTS, SYSTEM, role_of

MOST_CALLS = 50_000
"""Calls that are held until the end of a file; beyond that, the conversation without a new call
for longest is taken to be over."""


class Call(NamedTuple):
    """One call of a model, its time in any unit; of a trace the calls of the highest rank count."""

    conversation: str
    trace: str
    rank: int
    time: str
    meta: Mapping[str, Json]
    history: Sequence[Turn] = ()
    replies: Sequence[Turn] = ()


def _conversations(calls: Iterable[Call | RecordError]) -> Iterator[Found]:
    """Yield the conversation of all calls with one name, in the order of their first calls."""
    waiting: OrderedDict[str, list[Call]] = OrderedDict()
    held = 0
    for call in calls:
        if isinstance(call, RecordError):
            yield call
            continue
        waiting.setdefault(call.conversation, []).append(call)
        held += 1
        if held > MOST_CALLS:
            waiting.move_to_end(call.conversation)
            over = waiting.popitem(last=False)[1]
            held -= len(over)
            yield _merged(over)
    yield from map(_merged, waiting.values())


def _merged(calls: Sequence[Call]) -> Conversation:
    best = {call.trace: call.rank for call in sorted(calls, key=lambda call: call.rank)}
    turns: list[Turn] = []
    targets: list[int] = []
    meta: dict[str, Json] = {}
    for call in sorted(calls, key=lambda call: call.time):
        whole = [*call.history, *call.replies]
        if call.rank < best[call.trace] or _shared(turns, whole) == len(whole):
            continue  # logged twice: by the agent and by its model
        turns += _new(turns, call.history)
        first = len(turns)
        turns += call.replies
        targets += [
            place
            for place, turn in enumerate(call.replies, first)
            if turn.role is None or role_of(turn.role) == ASSISTANT
        ]
        meta.update(call.meta)
    return Conversation(calls[0].conversation, tuple(turns), tuple(targets), meta)


def _new(turns: Sequence[Turn], history: Sequence[Turn]) -> Sequence[Turn]:
    """Return the turns of a history that are neither at the begin nor the end of a conversation."""
    start = _shared(turns, history)
    rest = history[start:]
    for size in range(min(len(turns) - start, len(rest)), 0, -1):
        if _shared(turns[-size:], rest) == size:
            return rest[size:]
    return rest


def _shared(turns: Sequence[Turn], others: Sequence[Turn]) -> int:
    """Return the number of turns at the begin of both."""
    for place, (one, other) in enumerate(zip(turns, others, strict=False)):
        if one.role != other.role or one.text.strip() != other.text.strip():
            return place
    return min(len(turns), len(others))


def _at(item: dict[str, Any], path: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value at a path, whose fields may be JSON in a text; None if there is none."""
    outer, _, name = path.rpartition("/")
    for each in outer.split("/") if outer else ():
        item = json_of(item.get(each))
        if not isinstance(item, dict):
            return None
    return item.get(name)


def _first(item: dict[str, Any], *paths: str) -> str:
    """Return the first value at some paths that is a text or a number, as a text; else nothing."""
    for path in paths:
        value = _at(item, path) if "/" in path else item.get(path)
        if (type(value) is str and value) or type(value) is int:
            return str(value)
    return ""


class Tracer(msgspec.Struct, frozen=True, kw_only=True):
    """Paths into an object that a tracer exports for one call; the first that is there counts.

    Of a trace its root counts, which has no ``parent``; without it (or first, by ``model_first``)
    spans whose ``type`` is one of ``model``. Another ``span`` without messages is passed over.
    """

    sent: str
    returned: str
    conversation: tuple[str, ...]
    trace: tuple[str, ...]
    time: tuple[str, ...]
    parent: tuple[str, ...] = ()
    type: str = "type"
    model: tuple[str, ...] = ()
    model_first: bool = False
    meta: dict[str, tuple[str, ...]] = {}
    span: tuple[str, ...] = ()

    def calls(self, item: dict[str, Any], otherwise: str) -> list[Call]:
        """Return the call of an object, none if it is about something else or nothing was said."""
        is_root = not _first(item, *self.parent)
        is_model = str(_at(item, self.type)).upper() in self.model
        if not (is_root or is_model):
            return []
        sent, returned = (json_of(_at(item, path)) for path in (self.sent, self.returned))
        sent_field, field = self.sent.rpartition("/")[2], self.returned.rpartition("/")[2]
        if self.span and sent is None and returned is None:
            if _first(item, *self.span) and not is_model:
                return []
            raise FieldError(sent_field, "missing; export with input and output")
        if returned is None:
            raise FieldError(field, "missing: the call failed, or half of it was lost")
        history = turns_in(history_of, sent, sent_field)
        replies = turns_in(replies_of, returned, field)
        if len(replies) > len(history) and replies[: len(history)] == history:
            replies = replies[len(history) :]  # a graph returns all messages
        trace = _first(item, *self.trace) or otherwise
        name = _first(item, *self.conversation) or trace
        rank = is_model if self.model_first else is_root
        meta = {field: value for field, at in self.meta.items() if (value := _first(item, *at))}
        call = Call(name, trace, rank, _first(item, *self.time), meta, history, replies)
        return [call] if replies else []


OF_SPAN = ("mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.spanType")  # attributes that are read


@cache
def _tracers() -> dict[str, Tracer]:
    table = resources.files("grice").joinpath("data", "tracers.toml").read_bytes()
    return msgspec.toml.decode(table, type=dict[str, Tracer])


def _calls(item: dict[str, Any], otherwise: str, *, tracer: str) -> list[Call]:
    return _tracers()[tracer].calls(item, otherwise)


def _is_langfuse(item: dict[str, Any]) -> bool:
    own = {"sessionId", "session_id", "traceId", "trace_id", "bookmarked", "htmlPath"}
    return {"input", "output"} <= item.keys() and bool(own & item.keys())


def _is_langsmith(run: dict[str, Any]) -> bool:
    return {"run_type", "inputs"} <= run.keys()


def _is_mlflow(trace: dict[str, Any]) -> bool:
    return isinstance(trace.get("info"), dict) and _at(trace, "data/spans") is not None


def _mlflow_calls(trace: dict[str, Any], otherwise: str) -> list[Call]:
    """Return the calls of the spans of a trace; their errors count if none can be read."""
    info, data = (expect(trace.get(name), dict, "an object", name) for name in ("info", "data"))
    calls: list[Call] = []
    problems: list[FieldError] = []
    spans = expect(data.get("spans"), list, "a list of spans", "data.spans")
    for span in spans:
        expect(span, dict, "objects", "data.spans")
        attributes = json_of(span.get("attributes"))
        if isinstance(attributes, dict):
            attributes = {
                name: _unquoted(value) for name, value in attributes.items() if name in OF_SPAN
            }
        try:
            call = {**span, "attributes": attributes, "info": info}
            calls += _calls(call, otherwise, tracer="mlflow")
        except FieldError as bad:
            problems.append(bad)
    if problems and len(problems) == len(spans):
        raise problems[0].inside("data.spans.attributes")
    return calls


def _unquoted(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of an attribute, which is JSON even if it is a text."""
    if isinstance(value, str) and value[:1] == '"' == value[-1:]:
        return json_of(f"[{value}]")[0]
    return None if value == "null" else value


SENT = ("messages", "input", "prompt")
RETURNED = ("choices", "output")


def _openai_parts(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the request and the response, out of the wrappers of a batch or a proxy."""
    parts = []
    for names in (("request", "request_body", "kwargs"), ("response", "response_body")):
        found = (json_of(record.get(name)) for name in names)
        inner = next((each for each in found if isinstance(each, dict)), {"body": record})
        body = json_of(inner.get("body"))
        parts.append(body if isinstance(body, dict) else inner)
    return parts


def _openai_calls(record: dict[str, Any], otherwise: str) -> list[Call]:
    request, response = _openai_parts(record)
    returned = {key: response[key] for key in RETURNED if response.get(key)}
    sent = {key: request[key] for key in (*SENT, "instructions") if request.get(key)}
    if not sent.keys() & set(SENT):
        why = ": a response without its request" if returned else ""
        raise FieldError("messages", f"missing{why}; found {field_names(record)}")
    call = {**record, "answer": response, "request": sent, "response": returned or None}
    return _calls(call, otherwise, tracer="openai")


def _is_openai(record: dict[str, Any]) -> bool:
    request, response = _openai_parts(record)
    returned = any(isinstance(response.get(name), list) for name in RETURNED)
    return returned and any(request.get(name) for name in SENT)


MESSAGES = (
    ("gen_ai.input.messages", "gen_ai.output.messages"),
    ("llm.input_messages", "llm.output_messages"),
    ("gen_ai.prompt", "gen_ai.completion"),
    ("gen_ai.message", "gen_ai.choice"),
)
"""Attributes with what was sent and returned: the GenAI conventions since 1.37, OpenInference,
OpenLLMetry; the last are events, one each message (the GenAI conventions up to 1.36)."""
INDEXED = re.compile(
    r"(llm\.input_messages|llm\.output_messages|gen_ai\.prompt|gen_ai\.completion)"
    r"\.(\d+)\.(?:message\.)?(.+)"
)
"""A field of a message that is an attribute of its own (OpenInference, OpenLLMetry)."""
OWN = re.compile(r"gen_ai\.|llm\.(?:in|out)put_messages|input\.value").match
"""How attributes of calls of models begin, or of the root around them."""
LOG = {"eventName", "event_name", "body", "observedTimeUnixNano", "observed_timestamp"}
"""Fields that log records have and spans do not."""
TRACE, SPAN = (
    (f"{name}Id", *(f"{outer}{name}_id" for outer in ("", "context.", "context/", "spanContext/")))
    for name in ("trace", "span")
)
"""Paths of the ids of a span."""
NESTED = frozenset({"attributes", "gen_ai", "input", "llm", "openinference", "output", "session"})
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"


def _span_calls(span: dict[str, Any], otherwise: str) -> list[Call]:
    """Return the call that a span logs, none if it is about something else."""
    sent, returned = _messages(span)
    is_model = sent is not None or returned is not None
    if not is_model:
        if "input.value" not in span or span["parent_id"]:
            if str(span.get("gen_ai.operation.name")) in ("chat", "text_completion"):
                raise FieldError(None, f"a call without messages; record them with {CAPTURE}")
            return []
        sent, returned = span["input.value"], span.get("output.value")
    sent = json_of(sent) or []
    if (said := json_of(span.get("gen_ai.system_instructions"))) and isinstance(sent, list):
        sent = [{"role": SYSTEM, "content": said}, *sent]
    call = {**span, "input": sent, "output": returned, "type": "MODEL" if is_model else ""}
    return _calls(call, otherwise, tracer="spans")


def _messages(span: dict[str, Any]) -> tuple[Any, Any]:
    """Return what was sent and what was returned, as attributes or events say."""
    found = dict(span)
    lists: dict[str, dict[int, dict[str, Any]]] = {}
    for name, value in span.items():
        if match := INDEXED.fullmatch(name):
            message = lists.setdefault(match[1], {}).setdefault(int(match[2]), {})
            if not match[3].startswith("contents."):
                message[match[3]] = value
            elif match[3].endswith(("text", "content")):  # parts, an attribute each
                message["content"] = "\n".join(filter(None, [message.get("content"), value]))
    for name, messages in lists.items():
        found[name] = [message for _, message in sorted(messages.items())]
    for name, fields in span["events"]:
        if name in OTEL_EVENTS:
            said = {"role": OTEL_EVENTS[name], "content": json_of(fields.get("content"))}
            found.setdefault("gen_ai.message", []).append(said)
        elif name == "gen_ai.choice":
            said = {"role": ASSISTANT, "content": fields.get("content")}
            found.setdefault(name, []).append(json_of(fields.get("message")) or said)
        elif name == "gen_ai.client.inference.operation.details":
            found = fields | found
    for sent, returned in MESSAGES:
        if found.get(sent) or found.get(returned):
            answered = json_of(found.get(returned))
            first = answered[:1] if isinstance(answered, list) else answered  # of all choices
            return json_of(found.get(sent)), first or None
    return None, None


def _flat(attributes: object, prefix: str = "") -> dict[str, Any]:
    """Return attributes by their dotted names, however they are nested."""
    named: dict[str, Any] = {}
    for name, value in attributes.items() if isinstance(attributes, dict) else ():
        dotted = f"{prefix}{name}"
        nested = isinstance(value, dict) and dotted.partition(".")[0] in NESTED
        if nested and not value.keys() & {"role", "content", "parts"}:
            named |= _flat(value, f"{dotted}.")
        else:
            named[dotted] = value
    return named


def _otlp_value(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of OTLP's JSON, whose type is the name of its field."""
    match value:
        case {"stringValue": plain} | {"boolValue": plain} | {"doubleValue": plain}:
            return plain
        case {"intValue": number}:
            return int(number)
        case {"arrayValue": array}:
            return [_otlp_value(item) for item in (array or {}).get("values", [])]
        case {"kvlistValue": pairs}:
            return _attributes((pairs or {}).get("values", []))
    return None if isinstance(value, dict) else value


def _attributes(items: object) -> dict[str, Any]:
    if not isinstance(items, list):
        return _flat(items)
    return {
        str(item.get("key")): _otlp_value(item.get("value"))
        for item in items
        if isinstance(item, dict)
    }


def _spans_in(record: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield spans and log records, each with the attributes of its resource."""
    for outer, inner, leaf in (
        ("resourceSpans", "scopeSpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
    ):
        for resource in record.get(outer) or []:
            shared = _attributes((resource.get("resource") or {}).get("attributes"))
            for scope in resource.get(inner) or []:
                yield from ((item, shared) for item in scope.get(leaf) or [])
    if "resourceSpans" not in record and "resourceLogs" not in record:
        for item in _unwrapped(record):
            yield item, _attributes(_at(item, "resource/attributes"))


def _span(fields: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    """Return a span by dotted names, or a log record as a span with one event."""
    stated = fields.get("attributes")
    if isinstance(stated, list):
        own = _attributes(stated)
    else:
        own = {name.removeprefix("attributes."): value for name, value in _flat(fields).items()}
    return {
        **shared,
        **own,
        "trace_id": _first(fields, *TRACE).removeprefix("0x"),
        "span_id": _first(fields, *SPAN).removeprefix("0x"),
        "parent_id": _first(fields, "parentSpanId", "parent_id", "parentId").strip("0"),
        "start_time": _first(fields, "startTimeUnixNano", "start_time", "timeUnixNano"),
        "events": [
            *map(_event, fields.get("events") or []),
            *([_event(fields)] if fields.keys() & LOG else []),
        ],
    }


def _event(event: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of an event, and its fields: those of its attributes and of its body."""
    fields = _attributes(event.get("attributes"))
    name = event.get("eventName") or event.get("event_name") or fields.get("event.name")
    body = json_of(_otlp_value(event.get("body")))
    return str(name or event.get("name")), fields | (body if isinstance(body, dict) else {})


def _read_spans(lines: Iterable[Line], name: str) -> Iterator[Found]:
    # Until the end: the messages of a span may be log records, here or further on.
    spans: OrderedDict[tuple[str, str], tuple[int, dict[str, Any]]] = OrderedDict()

    def calls_of(line: int, span: dict[str, Any]) -> Iterator[Call | RecordError]:
        try:
            yield from _span_calls(span, f"{name}:{line}")
        except FieldError as bad:
            yield bad.at(name, line)
        except (RecursionError, TypeError, ValueError) as error:
            yield FieldError(None, f"not laid out as a call: {error}").at(name, line)

    def calls(line: Line) -> Iterator[Call | RecordError]:
        try:
            for fields, shared in _spans_in(line.record()):
                span = _span(fields, shared)
                if not span["events"] and not any(map(OWN, span)):
                    continue
                trace = span["trace_id"] or f"{name}:{line.number}"
                key = trace, span["span_id"] or str(len(spans))
                _, held = spans.setdefault(key, (line.number, span))
                if held is not span:
                    held.update(span, events=held["events"] + span["events"])
                if len(spans) > MOST_CALLS:
                    yield from calls_of(*spans.popitem(last=False)[1])
        except (AttributeError, TypeError, ValueError) as error:
            raise FieldError(None, f"not laid out as spans: {error}") from None

    def all_calls() -> Iterator[Call | RecordError]:
        yield from parsed_lines(lines, name, calls)
        for line, span in spans.values():
            yield from calls_of(line, span)

    return _conversations(all_calls())


def _is_phoenix(span: dict[str, Any]) -> bool:
    return "span_kind" in span and any(name.startswith(("attributes", "context")) for name in span)


def _is_otel(record: dict[str, Any]) -> bool:
    if "resourceSpans" in record or "resourceLogs" in record:
        return True
    own = _flat(record.get("attributes")) if "name" in record and "span_kind" not in record else {}
    return any(map(OWN, own))


def _unwrapped(record: dict[str, Any]) -> list[Any]:
    """Return the items of an answer of an API, or of a list in a file; else the record itself."""
    lists = (record.get(name) for name in ("data", "traces", "observations", "runs"))
    return next((items for items in lists if isinstance(items, list)), [record])


def _fits(record: dict[str, Any], is_item: Callable[[dict[str, Any]], bool]) -> bool:
    return any(isinstance(item, dict) and is_item(item) for item in _unwrapped(record)[:1])


def _read_items(
    calls_of: Callable[[dict[str, Any], str], list[Call]], lines: Iterable[Line], file: str
) -> Iterator[Found]:
    """Read a call an item; ``calls_of`` also gets a name for its trace."""

    def calls(line: Line) -> Iterator[Call | RecordError]:
        for place, item in enumerate(_unwrapped(line.record())):
            try:
                fields = expect(item, dict, "an object, {…}")
                yield from calls_of(fields, f"{file}:{line.number}:{place}")
            except FieldError as bad:
                yield bad.at(file, line.number)

    return _conversations(parsed_lines(lines, file, calls))


_SPANS = "OpenTelemetry: traces with GenAI attributes, as OTLP's JSON or a span a line"
FORMATS = tuple(
    Format(
        name,
        summary,
        partial(confidence, fits=partial(_fits, is_item=is_item)),
        partial(_read_items, calls_of) if calls_of else _read_spans,
    )
    for name, summary, is_item, calls_of in (
        (
            "langfuse",
            "Langfuse: traces or observations",
            _is_langfuse,
            partial(_calls, tracer="langfuse"),
        ),
        ("langsmith", "LangSmith: runs", _is_langsmith, partial(_calls, tracer="langsmith")),
        ("mlflow", "MLflow: traces (`Trace.to_json`)", _is_mlflow, _mlflow_calls),
        ("openai", "OpenAI: requests beside responses", _is_openai, _openai_calls),
        ("phoenix", "Phoenix: spans of its API or data frames", _is_phoenix, None),
        ("otel", _SPANS, _is_otel, None),
    )
)
