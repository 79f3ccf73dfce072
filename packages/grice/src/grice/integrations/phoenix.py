"""Scores of a file written to Phoenix, as annotations of the sessions or traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from grice.integrations.evaluator import scores_to_write


def write_scores(
    file: str | Path,
    client: Any,  # noqa: ANN401 - a phoenix.client.Client
    *,
    to: Literal["session", "trace"] = "session",
) -> int:
    """Write a score file to Phoenix, as :func:`grice.integrations.langfuse.write_scores` does."""
    count = 0
    for key, score in scores_to_write(file):
        count += 1
        written: dict[str, Any] = {
            "annotation_name": f"grice.{score.metric}",
            "annotator_kind": "CODE",
            "score": score.value,
            "explanation": score.reason,
            "metadata": {"signature": score.signature, "turn": score.turn},
            "identifier": key,
        }
        if to == "session":
            client.sessions.add_session_annotation(session_id=score.conversation, **written)
        else:
            client.traces.add_trace_annotation(trace_id=score.conversation, **written)
    return count
