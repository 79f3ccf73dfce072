"""Scores of a file written to Langfuse, beside the sessions or traces that were scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from grice.integrations.evaluator import scores_to_write

if TYPE_CHECKING:
    from pathlib import Path


def write_scores(
    file: str | Path,
    client: Any,  # noqa: ANN401 - a langfuse.Langfuse
    *,
    to: Literal["session", "trace"] = "session",
) -> int:
    """Write the scores of a file, and return how many.

    A score is named by what it judges and by its signature, so that writing a file again changes
    nothing. What failed or abstained is left out.

    Args:
        file: Scores, by ``grice score``, of conversations that were exported from Langfuse.
        client: ``langfuse.get_client()``.
        to: What the ids of the conversations name: traces where they had no session.

    Raises:
        InputError: If the file holds no scores.
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
