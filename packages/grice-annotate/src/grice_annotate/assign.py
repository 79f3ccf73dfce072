"""Assignment of tasks: distinct judges, attention checks in between, late tasks returned."""

from __future__ import annotations

from itertools import groupby
from math import ceil
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import sqlalchemy as sa

from grice_annotate.database import (
    CHECKED,
    FREE,
    FREE_CHECK,
    FREE_TO_ALL,
    IS_OPEN,
    ITEMS,
    OPEN_TASK,
    REFINEMENTS,
    SINCE,
    UNVERIFIED,
    answer_of,
    assignments,
    studies,
    task_of,
    tasks,
)
from grice_annotate.templates._template import is_right, verdicts_on

if TYPE_CHECKING:
    from grice_annotate.records import Judge, Settings
    from grice_annotate.templates import Template

IN_QUIZ = -1
"""Block of the answers of the quiz, which no attention check sets aside."""


class Quiz(NamedTuple):
    """The next item of a judge, or the right answers and the items of a level that was failed."""

    item: int | None = None
    failed: tuple[int, int] | None = None


def quiz_of(connection: sa.Connection, judge: int, template: Template, mark: float) -> Quiz:
    """Return how a judge stands in the quiz, level by level."""
    rows = connection.execute(ITEMS, {"judge": judge})
    for _, level in groupby(rows, key=lambda row: row.cluster):
        items = list(level)
        for row in items:
            if row.answer is None:
                return Quiz(item=row.id)
        right = sum(
            is_right(template, task_of(row), msgspec.json.decode(row.answer)) for row in items
        )
        if right < mark * len(items):
            return Quiz(failed=(right, len(items)))
    return Quiz()


def next_task(
    connection: sa.Connection, judge: Judge, template: Template, settings: Settings, now: float
) -> sa.Row[Any] | None:
    """Return the row of the task that a judge has before them, or of a new one; None if none.

    A judge has one task at a time, however many windows are open.
    """
    row = open_task(connection, judge.id)
    if row is not None:
        return row
    if connection.scalar(sa.select(studies.c.paused)):
        return None
    quiz = quiz_of(connection, judge.id, template, settings.pass_mark)
    if quiz.failed:
        return None
    checked, since = _checks(connection, judge.id)
    number = quiz.item
    if number is None and settings.check_every and since >= settings.check_every:
        number = connection.scalar(FREE_CHECK, {"judge": judge.id})
    number = number or _fresh(connection, judge.id, template, settings.refiners)
    if number is None:
        return None
    chosen = connection.execute(sa.select(tasks).where(tasks.c.id == number)).one()
    of = {"task": number, "judge": judge.id}
    given = {
        "state": "open",
        "given": now,
        "block": checked if quiz.item is None else IN_QUIZ,
        "proposed": judge.proposals and chosen.proposal is not None,
    }
    # It may be one that this judge was given and did not answer in time; what was tried counts.
    again = assignments.update().filter_by(**of).values(**given)
    if not connection.execute(again).rowcount:
        connection.execute(assignments.insert().values(**of, **given))
    connection.execute(tasks.update().where(tasks.c.id == number).values(taken=tasks.c.taken + 1))
    return open_task(connection, judge.id)


def _fresh(
    connection: sa.Connection, judge: int, template: Template, refiners: float | None
) -> int | None:
    """Return the first task that lacks judges and that a judge has not had.

    By a number of refiners, only the best writers refine, once all texts are verified. Those of the
    text itself are not counted; where nobody else has written, anybody refines it.
    """
    number = connection.scalar(FREE if refiners is None else FREE_TO_ALL, {"judge": judge})
    if number is not None or refiners is None or connection.scalar(UNVERIFIED):
        return number
    given = sa.select(assignments).where(assignments.c.state == "answered")
    answers = map(answer_of, connection.execute(given))
    verdicts = verdicts_on(template, map(task_of, connection.execute(sa.select(tasks))), answers)
    ranked = sorted(verdicts, key=lambda each: (-fmean(verdicts[each]), -len(verdicts[each]), each))
    count = ceil(refiners if refiners >= 1 else refiners * len(ranked))
    for row in connection.execute(REFINEMENTS, {"judge": judge}):
        others = [each for each in ranked if each not in row.content["writers"]]
        if judge in others[:count] or not others:
            return int(row.id)
    return None


def return_late(connection: sa.Connection, before: float) -> None:
    """Give tasks back to the pool that were given before a time and not answered."""
    late = sa.and_(IS_OPEN, assignments.c.given < before)
    _release(connection, late, "late")


def set_aside(connection: sa.Connection, judge: int, *, block: int | None = None) -> None:
    """Let answers of a judge count no longer: of one block between checks, or all."""
    failed = sa.and_(assignments.c.judge == judge, assignments.c.state == "answered")
    if block is not None:
        failed = sa.and_(failed, assignments.c.block == block)
    _release(connection, failed, "set_aside")


def _release(connection: sa.Connection, which: sa.ColumnElement[bool], state: str) -> None:
    """Give the tasks of some assignments back to the pool."""
    for task in connection.scalars(sa.select(assignments.c.task).where(which)).all():
        connection.execute(tasks.update().where(tasks.c.id == task).values(taken=tasks.c.taken - 1))
    connection.execute(assignments.update().where(which).values(state=state))


def open_task(connection: sa.Connection, judge: int) -> sa.Row[Any] | None:
    """Return the row of the task that a judge has before them."""
    return connection.execute(OPEN_TASK, {"judge": judge}).first()


def _checks(connection: sa.Connection, judge: int) -> tuple[int, int]:
    """Return how many checks a judge has answered, and how many tasks since."""
    checked = connection.scalar(CHECKED, {"judge": judge}) or 0
    return checked, connection.scalar(SINCE, {"judge": judge, "block": checked}) or 0
