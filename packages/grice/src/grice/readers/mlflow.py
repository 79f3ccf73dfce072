"""Traces of MLflow, as ``Trace.to_json`` and ``mlflow traces get`` write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.readers._calls import Call, dialogue_of, export_format, json_of, object_in, text_in
from grice.readers._format import Bad
from grice.readers._json import kind

if TYPE_CHECKING:
    from collections.abc import Iterator

SESSION = "mlflow.trace.session"
METADATA = ("trace_metadata", "request_metadata")
INPUTS, OUTPUTS, TYPE = "mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.spanType"
MODELS = ("CHAT_MODEL", "LLM")
TIME = ("start_time_unix_nano", "start_time_ns", "start_time")
ROOT, MODEL = 1, 0
WRAPPERS = ("traces",)


def _calls(trace: dict[str, Any], otherwise: str) -> Iterator[Call]:
    info, data = trace.get("info"), trace.get("data")
    if not isinstance(info, dict) or not isinstance(data, dict):
        raise Bad("info" if not isinstance(info, dict) else "data", "missing")
    spans = data.get("spans")
    if not isinstance(spans, list):
        raise Bad("data.spans", f"expected a list of spans, found {kind(spans)}")
    metadata = object_in(info, *METADATA)
    name = text_in(info, "trace_id", "request_id") or otherwise
    session = text_in(metadata, SESSION) or name
    problems: list[Bad] = []
    read = False
    for span in spans:
        if not isinstance(span, dict):
            raise Bad("data.spans", f"expected objects, found {kind(span)}")
        attributes = object_in(span, "attributes")
        is_root = not text_in(span, "parent_id", "parent_span_id")
        if not is_root and json_of(json_of(attributes.get(TYPE))) not in (*MODELS, *QUOTED):
            continue
        rank = ROOT if is_root else MODEL
        call = Call(session, name, rank, text_in(span, *TIME), [], [], {})
        sent, returned = _value(attributes.get(INPUTS)), _value(attributes.get(OUTPUTS))
        try:
            yield from dialogue_of(call, sent, returned, (INPUTS, OUTPUTS))
            read = True
        except Bad as bad:
            problems.append(bad)
    if problems and not read:
        raise problems[0].inside("data.spans.attributes")


QUOTED = tuple(f'"{name}"' for name in MODELS)


def _value(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of an attribute, which is JSON even where it is a text."""
    if isinstance(value, str) and value[:1] == '"' == value[-1:]:
        return json_of(f"[{value}]")[0]
    return None if value == "null" else json_of(value)


def _is_trace(trace: object) -> bool:
    return (
        isinstance(trace, dict)
        and isinstance(trace.get("info"), dict)
        and isinstance(trace.get("data"), dict)
        and "spans" in trace["data"]
    )


FORMAT = export_format(
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
    is_item=_is_trace,
    calls_of=_calls,
    wrappers=WRAPPERS,
)
