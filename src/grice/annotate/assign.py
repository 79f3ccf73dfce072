"""Who is given which task: distinct judges, nobody twice, checks in between, late ones returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from grice.annotate.database import assignments, studies, tasks
from grice.annotate.order import wanted_bin

if TYPE_CHECKING:
    from grice.annotate.records import Judge, Settings
    from grice.annotate.templates import Template

__all__ = ["next_task", "open_task", "return_late", "set_aside"]


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
    checked, since = _checks(connection, judge.id)
    number = None
    if settings.check_every and since >= settings.check_every:
        number = connection.scalar(_free(judge.id, tasks.c.judges == 0))
    number = number or connection.scalar(_fresh(connection, judge.id, template, settings))
    if number is None:
        return None
    chosen = connection.execute(sa.select(tasks).where(tasks.c.id == number)).one()
    connection.execute(  # it may be one that this judge was given and did not answer in time
        assignments.delete().where(assignments.c.task == number, assignments.c.judge == judge.id)
    )
    connection.execute(
        assignments.insert().values(
            task=number,
            judge=judge.id,
            state="open",
            given=now,
            block=checked,
            proposed=judge.proposals and chosen.proposal is not None,
        )
    )
    connection.execute(tasks.update().where(tasks.c.id == number).values(taken=tasks.c.taken + 1))
    return open_task(connection, judge.id)


def return_late(connection: sa.Connection, before: float) -> None:
    """Give tasks back to the pool that were given before a time and not answered."""
    late = sa.and_(assignments.c.state == "open", assignments.c.given < before)
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
    columns = [column for column in assignments.c if column.name not in ("task", "judge")]
    return connection.execute(
        sa.select(tasks, *columns).where(
            tasks.c.id == assignments.c.task,
            assignments.c.judge == judge,
            assignments.c.state == "open",
        )
    ).first()


def _checks(connection: sa.Connection, judge: int) -> tuple[int, int]:
    """Return how many checks a judge has answered, and how many tasks since."""
    mine = assignments.c.judge == judge
    done = assignments.c.state.in_(("answered", "set_aside"))
    checked = connection.scalar(
        sa.select(sa.func.count())
        .select_from(assignments.join(tasks))
        .where(mine, done, tasks.c.judges == 0)
    )
    since = connection.scalar(
        sa.select(sa.func.count())
        .select_from(assignments)
        .where(mine, done, assignments.c.block == checked)
    )
    return checked or 0, since or 0


def _free(judge: int, *conditions: sa.ColumnElement[bool]) -> sa.Select[tuple[int]]:
    """Return what asks for the first task of some conditions that a judge has not had."""
    had = sa.exists().where(
        assignments.c.task == tasks.c.id,
        assignments.c.judge == judge,
        assignments.c.state != "late",
    )
    return sa.select(tasks.c.id).where(~had, *conditions).order_by(tasks.c.place).limit(1)


def _fresh(
    connection: sa.Connection, judge: int, template: Template, settings: Settings
) -> sa.Select[tuple[int]]:
    """Return what asks for the first task that lacks judges and that a judge has not had."""
    lacking = tasks.c.taken < tasks.c.judges
    if settings.order == "uncertain":
        number = wanted_bin(connection, template.number)
        if number is not None and connection.scalar(_free(judge, lacking, tasks.c.bin == number)):
            return _free(judge, lacking, tasks.c.bin == number)
    return _free(judge, lacking)
