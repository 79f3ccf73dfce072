"""Records of a study and the rows they are kept in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from grice_annotate.records import Answer, Judge, Task

if TYPE_CHECKING:
    import sqlalchemy as sa


def decoded(text: str | None) -> Any:  # noqa: ANN401 - any JSON
    """Return the value of a column of JSON; None where there is none."""
    return None if text is None else msgspec.json.decode(text)


def encoded(value: object) -> str | None:
    """Return what a column of JSON holds."""
    return None if value is None else msgspec.json.encode(value).decode()


def judge_of(row: sa.Row[Any]) -> Judge:
    """Return the judge of a row."""
    return Judge(
        id=row.id, name=row.name, token=row.token, owner=row.owner, proposals=row.proposals
    )


def task_of(row: sa.Row[Any]) -> Task:
    """Return the task of a row."""
    return Task(
        id=row.id,
        key=row.key,
        group=row.cluster,
        content=decoded(row.content),
        stage=row.stage,
        judges=row.judges,
        expected=decoded(row.expected),
        proposal=decoded(row.proposal),
        score=row.score,
        parent=row.parent,
        adjudicated=decoded(row.adjudicated),
    )


def task_row(task: Task) -> dict[str, object]:
    """Return the columns of a new task."""
    return {
        "key": task.key,
        "cluster": task.group,
        "content": encoded(task.content),
        "stage": task.stage,
        "judges": task.judges,
        "expected": encoded(task.expected),
        "proposal": encoded(task.proposal),
        "score": task.score,
        "parent": task.parent,
    }


def answer_of(row: sa.Row[Any]) -> Answer:
    """Return the answer of an assignment's row."""
    return Answer(
        task=row.task,
        judge=row.judge,
        value=decoded(row.answer),
        seconds=row.seconds or 0.0,
        saved=row.saved or 0.0,
        proposed=row.proposed,
        set_aside=row.state == "set_aside",
    )
