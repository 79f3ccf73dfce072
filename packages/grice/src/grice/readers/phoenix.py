"""Spans of Phoenix, as its client and its data frames write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.errors import RecordError
from grice.readers._calls import export_format, object_in, text_in
from grice.readers._format import Bad
from grice.readers.otel import call_of, flat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.readers._calls import Call

TRACE = ("context.trace_id", "trace_id")
PARENT = ("parent_id", "parentId")


def _flat(span: dict[str, Any]) -> dict[str, Any]:
    """Return fields by their dotted names, of a span of the API or of a row of a data frame."""
    fields = flat({name: value for name, value in span.items() if name != "context"})
    inner = {f"context.{name}": value for name, value in object_in(span, "context").items()}
    return {**inner, **{name.removeprefix("attributes."): value for name, value in fields.items()}}


def _calls(span: dict[str, Any], otherwise: str) -> Iterator[Call]:
    fields = _flat(span)
    about = {
        "trace": text_in(fields, *TRACE) or otherwise,
        "time": text_in(fields, "start_time"),
        "root": not text_in(fields, *PARENT),
    }
    for call in call_of(about, fields, [], RecordError("", file="")):
        if isinstance(call, RecordError):
            raise Bad(None, call.problem)
        yield call


def _is_span(span: object) -> bool:
    names = span.keys() if isinstance(span, dict) else ()
    return "span_kind" in names and any(
        name.startswith(("attributes", "context")) for name in names
    )


FORMAT = export_format(
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
    is_item=_is_span,
    calls_of=_calls,
    wrappers=("data",),
)
