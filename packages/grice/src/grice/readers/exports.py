"""Traces that Langfuse, LangSmith, MLflow and Phoenix export, each call an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.errors import RecordError
from grice.readers._calls import Call, dialogue_of, export_format, json_of, object_in, text_in
from grice.readers._format import Bad
from grice.readers._json import kind
from grice.readers.otel import call_of, flat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT, MODEL = 1, 0
"""Ranks: the root of a trace is what the user saw; calls of models count where it is missing."""

_LANGFUSE_SESSION = ("sessionId", "session_id")
_LANGFUSE_TRACE = ("traceId", "trace_id")
_LANGFUSE_TIME = ("timestamp", "startTime", "start_time")
_LANGFUSE_PARENT = ("parentObservationId", "parent_observation_id")


def _langfuse_calls(item: dict[str, Any], otherwise: str) -> Sequence[Call]:
    is_observation = any(name in item for name in _LANGFUSE_TRACE)
    is_generation = str(item.get("type", "")).upper() == "GENERATION"
    is_root = not is_observation or not text_in(item, *_LANGFUSE_PARENT)
    if not is_root and not is_generation:
        return []
    trace = text_in(item, *_LANGFUSE_TRACE) or text_in(item, "id") or otherwise
    name = text_in(item, *_LANGFUSE_SESSION) or trace
    rank = ROOT if is_root else MODEL
    call = Call(name, trace, rank, text_in(item, *_LANGFUSE_TIME), [], [], _langfuse_meta(item))
    sent, returned = json_of(item.get("input")), json_of(item.get("output"))
    if sent is None and returned is None:
        if is_observation and not is_generation:
            return []
        raise Bad("input", "missing; export with input and output")
    return dialogue_of(call, sent, returned, ("input", "output"))


def _langfuse_meta(item: dict[str, Any]) -> dict[str, Any]:
    named = {"user": ("userId", "user_id"), "name": ("name", "trace_name"), "model": ("model",)}
    known = {field: text_in(item, *names) for field, names in named.items()}
    return {field: value for field, value in known.items() if value}


def _is_langfuse_item(item: object) -> bool:
    """Return whether an object is a trace or an observation; Langfuse alone has these fields."""
    own = {"sessionId", "session_id", "traceId", "trace_id", "bookmarked", "htmlPath"}
    return isinstance(item, dict) and {"input", "output"} <= item.keys() and bool(own & item.keys())


LANGFUSE = export_format(
    "langfuse",
    summary="traces or observations of Langfuse: its exports, or an answer of its API",
    description="""\
`input` holds messages or a text, `output` the reply. Items of one `sessionId` (`session_id`) are
one conversation, in the order of their times; other traces are one each. Of a trace what stands
at its top counts, and where the export holds observations alone, those without a parent; else
those of type `GENERATION`. Items are held until the file ends, at most 50,000.""",
    example="""\
{"id": "t1", "sessionId": "f1", "timestamp": "2026-01-01T10:00:00Z", "name": "chat", "userId": "ann", "input": {"messages": [{"role": "user", "content": "Is it far?"}]}, "output": {"role": "assistant", "content": "Ten minutes."}}
""",  # noqa: E501 - an example stands as it would in a file
    is_item=_is_langfuse_item,
    calls_of=_langfuse_calls,
    wrappers=("data", "traces", "observations"),
)


_LANGSMITH_THREAD = ("thread_id", "session_id", "conversation_id")
"""Metadata by which LangSmith groups traces into a thread."""


def _langsmith_calls(run: dict[str, Any], otherwise: str) -> Sequence[Call]:
    is_root = run.get("parent_run_id") is None
    if not is_root and run.get("run_type") != "llm":
        return []
    extra = json_of(run.get("extra"))
    metadata = json_of(extra.get("metadata")) if isinstance(extra, dict) else None
    names = metadata if isinstance(metadata, dict) else {}
    trace = text_in(run, "trace_id", "id") or otherwise
    thread = text_in(run, "thread_id") or text_in(names, *_LANGSMITH_THREAD) or trace
    meta = {"name": run["name"]} if isinstance(run.get("name"), str) else {}
    rank = ROOT if is_root else MODEL
    call = Call(thread, trace, rank, text_in(run, "start_time"), [], [], meta)
    returned = json_of(run.get("outputs"))
    if not returned and (problem := text_in(run, "error")):
        raise Bad("outputs", f"missing: the run failed with {problem[:80]!r}")
    return dialogue_of(call, json_of(run.get("inputs")), returned or None, ("inputs", "outputs"))


def _is_langsmith_run(run: object) -> bool:
    return isinstance(run, dict) and {"run_type", "inputs"} <= run.keys()


LANGSMITH = export_format(
    "langsmith",
    summary="runs of LangSmith: its bulk export, or an answer of its API",
    description="""\
`inputs` hold messages (LangChain's or OpenAI's) or a question, `outputs` the reply. Runs with one
`thread_id` (or `session_id`, `conversation_id`) in `extra.metadata` are one conversation, other
runs one each trace. Of a trace the root run counts; if it is not in the file, its runs of type
`llm` do. A run that failed is a broken record. Runs are held until the file ends,
at most 50,000.""",
    example="""\
{"id": "r1", "trace_id": "t1", "parent_run_id": null, "run_type": "chain", "name": "bot", "start_time": "2026-01-01T10:00:00", "inputs": {"messages": [{"type": "human", "content": "Is it far?"}]}, "outputs": {"messages": [{"type": "human", "content": "Is it far?"}, {"type": "ai", "content": "Ten minutes."}]}, "extra": {"metadata": {"thread_id": "l1"}}}
""",  # noqa: E501 - an example stands as it would in a file
    is_item=_is_langsmith_run,
    calls_of=_langsmith_calls,
    wrappers=("runs", "data"),
)


_MLFLOW_SESSION = "mlflow.trace.session"
_MLFLOW_METADATA = ("trace_metadata", "request_metadata")
_INPUTS, _OUTPUTS = "mlflow.spanInputs", "mlflow.spanOutputs"
_SPAN_TYPE = "mlflow.spanType"
_MLFLOW_MODELS = ("CHAT_MODEL", "LLM", '"CHAT_MODEL"', '"LLM"')
"""Types of spans that call a model; the type may be JSON within JSON."""
_MLFLOW_TIME = ("start_time_unix_nano", "start_time_ns", "start_time")


def _mlflow_calls(trace: dict[str, Any], otherwise: str) -> Iterator[Call]:
    info, data = trace.get("info"), trace.get("data")
    if not isinstance(info, dict) or not isinstance(data, dict):
        raise Bad("info" if not isinstance(info, dict) else "data", "missing")
    spans = data.get("spans")
    if not isinstance(spans, list):
        raise Bad("data.spans", f"expected a list of spans, found {kind(spans)}")
    metadata = object_in(info, *_MLFLOW_METADATA)
    name = text_in(info, "trace_id", "request_id") or otherwise
    session = text_in(metadata, _MLFLOW_SESSION) or name
    problems: list[Bad] = []
    read = False
    for span in spans:
        if not isinstance(span, dict):
            raise Bad("data.spans", f"expected objects, found {kind(span)}")
        attributes = object_in(span, "attributes")
        is_root = not text_in(span, "parent_id", "parent_span_id")
        if not is_root and json_of(json_of(attributes.get(_SPAN_TYPE))) not in _MLFLOW_MODELS:
            continue
        rank = ROOT if is_root else MODEL
        call = Call(session, name, rank, text_in(span, *_MLFLOW_TIME), [], [], {})
        sent = _attribute_value(attributes.get(_INPUTS))
        returned = _attribute_value(attributes.get(_OUTPUTS))
        try:
            yield from dialogue_of(call, sent, returned, (_INPUTS, _OUTPUTS))
            read = True
        except Bad as bad:
            problems.append(bad)
    if problems and not read:
        raise problems[0].inside("data.spans.attributes")


def _attribute_value(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of an attribute, which is JSON even where it is a text."""
    if isinstance(value, str) and value[:1] == '"' == value[-1:]:
        return json_of(f"[{value}]")[0]
    return None if value == "null" else json_of(value)


def _is_mlflow_trace(trace: object) -> bool:
    return (
        isinstance(trace, dict)
        and isinstance(trace.get("info"), dict)
        and isinstance(trace.get("data"), dict)
        and "spans" in trace["data"]
    )


MLFLOW = export_format(
    "mlflow",
    summary="traces of MLflow (`Trace.to_json`, `mlflow traces get`), one a line or a list",
    description="""\
`mlflow.spanInputs` of the root span hold messages or a question, `mlflow.spanOutputs` the reply;
where they hold neither, spans of type `CHAT_MODEL` or `LLM` are read. Traces with one
`mlflow.trace.session` are one conversation, others one each. Traces are held until the file ends,
at most 50,000.""",
    example="""\
{"info": {"trace_id": "tr-1", "trace_metadata": {"mlflow.trace.session": "m1"}}, "data": {"spans": [{"name": "chat", "parent_span_id": null, "start_time_unix_nano": 1, "attributes": {"mlflow.spanInputs": "{\\"messages\\": [{\\"role\\": \\"user\\", \\"content\\": \\"Is it far?\\"}]}", "mlflow.spanOutputs": "\\"Ten minutes.\\""}}]}}
""",  # noqa: E501 - an example stands as it would in a file
    is_item=_is_mlflow_trace,
    calls_of=_mlflow_calls,
    wrappers=("traces",),
)


_PHOENIX_TRACE = ("context.trace_id", "trace_id")
_PHOENIX_PARENT = ("parent_id", "parentId")


def _phoenix_fields(span: dict[str, Any]) -> dict[str, Any]:
    """Return fields by their dotted names, of a span of the API or of a row of a data frame."""
    fields = flat({name: value for name, value in span.items() if name != "context"})
    inner = {f"context.{name}": value for name, value in object_in(span, "context").items()}
    return {**inner, **{name.removeprefix("attributes."): value for name, value in fields.items()}}


def _phoenix_calls(span: dict[str, Any], otherwise: str) -> Iterator[Call]:
    fields = _phoenix_fields(span)
    about = {
        "trace": text_in(fields, *_PHOENIX_TRACE) or otherwise,
        "time": text_in(fields, "start_time"),
        "root": not text_in(fields, *_PHOENIX_PARENT),
    }
    for call in call_of(about, fields, [], RecordError("", file="")):
        if isinstance(call, RecordError):
            raise Bad(None, call.problem)
        yield call


def _is_phoenix_span(span: object) -> bool:
    names = span.keys() if isinstance(span, dict) else ()
    return "span_kind" in names and any(
        name.startswith(("attributes", "context")) for name in names
    )


PHOENIX = export_format(
    "phoenix",
    summary="spans of Phoenix: rows of its data frames, or an answer of its API",
    description="""\
Read are spans with `llm.input_messages` and `llm.output_messages` (OpenInference), and the root
span with `input.value` where a trace has none. Spans with one `session.id` are one conversation,
others one each trace, as in the format `otel`. Spans are held until the file ends, at most
50,000.""",
    example="""\
{"name": "ChatCompletion", "span_kind": "LLM", "parent_id": null, "start_time": "2026-01-01T10:00:00+00:00", "context.trace_id": "5b8e", "context.span_id": "a1", "attributes.session.id": "p1", "attributes.llm.input_messages": [{"message.role": "user", "message.content": "Is it far?"}], "attributes.llm.output_messages": [{"message.role": "assistant", "message.content": "Ten minutes."}]}
""",  # noqa: E501 - an example stands as it would in a file
    is_item=_is_phoenix_span,
    calls_of=_phoenix_calls,
    wrappers=("data",),
)
