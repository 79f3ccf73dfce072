"""Scores of a file written to Langfuse, beside the sessions or traces that were scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from grice.integrations.evaluator import scores_to_write


def write_scores(
    file: str | Path,
    client: Any,  # noqa: ANN401 - a langfuse.Langfuse
    *,
    to: Literal["session", "trace"] = "session",
) -> int:
    """Write the values of a score file to Langfuse, and return their number.

    The ids of the conversations are those of sessions or traces. Writing a file again changes
    nothing. ``client`` is ``langfuse.get_client()``.
    """
    count = 0
    for key, score in scores_to_write(file):
        count += 1
        client.create_score(
            name=f"grice.{score.metric}",
            value=score.value,
            data_type="NUMERIC",
            comment=score.reason,
            score_id=key,
            metadata={"signature": score.signature, "turn": score.turn},
            **{f"{to}_id": score.conversation},
        )
    client.flush()
    return count
