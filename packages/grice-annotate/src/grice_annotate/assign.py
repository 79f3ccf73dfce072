"""Assignment of tasks: distinct judges, attention checks in between, late tasks returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from grice_annotate.database import (
    CHECKED,
    FREE,
    FREE_CHECK,
    IS_OPEN,
    OPEN_TASK,
    SINCE,
    assignments,
    studies,
    tasks,
)

if TYPE_CHECKING:
    from grice_annotate.records import Judge, Settings


def next_task(
    connection: sa.Connection, judge: Judge, settings: Settings, now: float
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
        number = connection.scalar(FREE_CHECK, {"judge": judge.id})
    number = number or connection.scalar(FREE, {"judge": judge.id})
    if number is None:
        return None
    chosen = connection.execute(sa.select(tasks).where(tasks.c.id == number)).one()
    of = {"task": number, "judge": judge.id}
    given = {
        "state": "open",
        "given": now,
        "block": checked,
        "proposed": judge.proposals and chosen.proposal is not None,
    }
    # It may be one that this judge was given and did not answer in time; what was tried counts.
    again = assignments.update().filter_by(**of).values(**given)
    if not connection.execute(again).rowcount:
        connection.execute(assignments.insert().values(**of, **given))
    connection.execute(tasks.update().where(tasks.c.id == number).values(taken=tasks.c.taken + 1))
    return open_task(connection, judge.id)


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
