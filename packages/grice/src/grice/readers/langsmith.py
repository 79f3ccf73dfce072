"""Runs of LangSmith, as its bulk export, its API and its CLI write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.readers._calls import Call, dialogue_of, export_format, json_of, text_in
from grice.readers._format import Bad

if TYPE_CHECKING:
    from collections.abc import Sequence

THREAD = ("thread_id", "session_id", "conversation_id")
"""Metadata by which LangSmith groups traces into a thread."""
ROOT, MODEL = 1, 0
"""Ranks: the root run is what the user saw; runs of models stand in where there is none."""
WRAPPERS = ("runs", "data")


def _calls(run: dict[str, Any], otherwise: str) -> Sequence[Call]:
    is_root = run.get("parent_run_id") is None
    if not is_root and run.get("run_type") != "llm":
        return []
    extra = json_of(run.get("extra"))
    metadata = json_of(extra.get("metadata")) if isinstance(extra, dict) else None
    names = metadata if isinstance(metadata, dict) else {}
    trace = text_in(run, "trace_id", "id") or otherwise
    thread = text_in(run, "thread_id") or text_in(names, *THREAD) or trace
    meta = {"name": run["name"]} if isinstance(run.get("name"), str) else {}
    rank = ROOT if is_root else MODEL
    call = Call(thread, trace, rank, text_in(run, "start_time"), [], [], meta)
    returned = json_of(run.get("outputs"))
    if not returned and (problem := text_in(run, "error")):
        raise Bad("outputs", f"missing: the run failed with {problem[:80]!r}")
    return dialogue_of(call, json_of(run.get("inputs")), returned or None, ("inputs", "outputs"))


def _is_run(run: object) -> bool:
    return isinstance(run, dict) and {"run_type", "inputs"} <= run.keys()


FORMAT = export_format(
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
    is_item=_is_run,
    calls_of=_calls,
    wrappers=WRAPPERS,
)
