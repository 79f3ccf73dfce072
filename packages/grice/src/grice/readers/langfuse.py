"""Traces and observations of Langfuse, as its table export, blob export and API write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.readers._calls import Call, dialogue_of, export_format, json_of, text_in
from grice.readers._format import Bad

if TYPE_CHECKING:
    from collections.abc import Sequence

SESSION = ("sessionId", "session_id")
TRACE = ("traceId", "trace_id")
TIME = ("timestamp", "startTime", "start_time")
PARENT = ("parentObservationId", "parent_observation_id")
ROOT, GENERATION = 1, 0
WRAPPERS = ("data", "traces", "observations")


def _calls(item: dict[str, Any], otherwise: str) -> Sequence[Call]:
    is_observation = any(name in item for name in TRACE)
    is_generation = str(item.get("type", "")).upper() == "GENERATION"
    is_root = not is_observation or not text_in(item, *PARENT)
    if not is_root and not is_generation:
        return []
    trace = text_in(item, *TRACE) or text_in(item, "id") or otherwise
    name = text_in(item, *SESSION) or trace
    rank = ROOT if is_root else GENERATION
    call = Call(name, trace, rank, text_in(item, *TIME), [], [], _meta(item))
    sent, returned = json_of(item.get("input")), json_of(item.get("output"))
    if sent is None and returned is None:
        if is_observation and not is_generation:
            return []
        raise Bad("input", "missing; export with input and output")
    return dialogue_of(call, sent, returned, ("input", "output"))


def _meta(item: dict[str, Any]) -> dict[str, Any]:
    named = {"user": ("userId", "user_id"), "name": ("name", "trace_name"), "model": ("model",)}
    known = {field: text_in(item, *names) for field, names in named.items()}
    return {field: value for field, value in known.items() if value}


def _is_item(item: object) -> bool:
    """Return whether an object is a trace or an observation; Langfuse alone has these fields."""
    own = {"sessionId", "session_id", "traceId", "trace_id", "bookmarked", "htmlPath"}
    return isinstance(item, dict) and {"input", "output"} <= item.keys() and bool(own & item.keys())


FORMAT = export_format(
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
    is_item=_is_item,
    calls_of=_calls,
    wrappers=WRAPPERS,
)
