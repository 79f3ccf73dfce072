"""Verdicts of judges on what others wrote."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from grice_annotate.templates._template import Column

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from grice_annotate.records import Answer, Task


def verdicts(
    name: str,
    stage: str,
    known: Collection[str],
    tasks: Sequence[Task],
    answers: Sequence[Answer],
) -> list[Column]:
    """Return the column of what judges said of the tasks of a stage."""
    judged = {task.id for task in tasks if task.stage == stage}
    values: dict[tuple[int, int], float | str] = {
        (answer.task, answer.judge): str(answer.value)
        for answer in answers
        if answer.task in judged and str(answer.value) in known
    }
    return [Column(name, "nominal", values)]


def majority(votes: Sequence[str]) -> str | None:
    """Return what more than half of the votes say; None if nothing."""
    [(vote, count)] = Counter(votes).most_common(1) or [("", 0)]
    return vote if count * 2 > len(votes) else None
