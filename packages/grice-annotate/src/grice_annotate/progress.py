"""How far a study is."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_annotate.records import Answer, Task
    from grice_annotate.study import Study


class JudgeProgress(msgspec.Struct, frozen=True):
    """What one judge has done.

    Attributes:
        answers: Answers that count.
        set_aside: Answers that count no longer.
        checks: Attention checks answered.
        passed: Of these, as expected.
        seconds: Median time for a task; None before the first.
    """

    id: int
    name: str
    token: str
    answers: int
    set_aside: int
    checks: int
    passed: int
    seconds: float | None


class Progress(msgspec.Struct, frozen=True):
    """How far a study is.

    Attributes:
        done: Tasks that have all their answers.
        tasks: Tasks there are, attention checks left out.
        answers: Answers that count.
        wanted: Answers that all tasks need.
    """

    done: int
    tasks: int
    answers: int
    wanted: int
    judges: tuple[JudgeProgress, ...]


def progress_of(study: Study, tasks: Sequence[Task], answers: Sequence[Answer]) -> Progress:
    """Return how far a study is."""
    expected = {task.id: task.expected for task in tasks if task.expected is not None}
    counts: dict[int, int] = {}
    for answer in answers:
        if not answer.set_aside and answer.task not in expected:
            counts[answer.task] = counts.get(answer.task, 0) + 1
    asked = [task for task in tasks if task.expected is None]
    judges = []
    for judge in study.judges():
        mine = [answer for answer in answers if answer.judge == judge.id]
        checks = [answer for answer in mine if answer.task in expected]
        rated = [answer for answer in mine if answer.task not in expected]
        if not judge.owner:
            judges.append(
                JudgeProgress(
                    id=judge.id,
                    name=judge.name,
                    token=judge.token,
                    answers=sum(not answer.set_aside for answer in rated),
                    set_aside=sum(answer.set_aside for answer in rated),
                    checks=len(checks),
                    passed=sum(answer.value == expected[answer.task] for answer in checks),
                    seconds=median(answer.seconds for answer in rated) if rated else None,
                )
            )
    return Progress(
        done=sum(counts.get(task.id, 0) >= task.judges for task in asked),
        tasks=len(asked),
        answers=sum(counts.values()),
        wanted=sum(task.judges for task in asked),
        judges=tuple(judges),
    )
