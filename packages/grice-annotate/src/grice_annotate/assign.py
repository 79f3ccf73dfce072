"""Assignment of tasks: distinct judges, attention checks in between, late tasks returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import sqlalchemy as sa

from grice.errors import InputError
from grice_annotate.database import (
    CHECKED,
    FREE,
    FREE_CHECK,
    FREE_IN_BIN,
    IS_OPEN,
    OPEN_TASK,
    SINCE,
    assignments,
    studies,
    tasks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.stats.inputs import Floats
    from grice_annotate.records import Judge, Settings
    from grice_annotate.templates import Template


BINS = 10
PRIOR = 2.0
"""Labels that the variance of all labels counts for in each bin."""


def bins(scores: Sequence[float | None]) -> list[int]:
    """Return for each task the number of its bin."""
    if any(score is None for score in scores):
        lacking = sum(score is None for score in scores)
        raise InputError(
            f"--order uncertain chooses by scores, and {lacking} of {len(scores)} items have none; "
            "name a file of scores by --scores, or take --order seed"
        )
    ranks = np.argsort(np.argsort(np.asarray(scores, np.float64), kind="stable"), kind="stable")
    return [int(rank) for rank in ranks * min(BINS, len(scores)) // len(scores)]


def wanted_bin(connection: sa.Connection, number: Callable[[Any], float | None]) -> int | None:
    """Return the bin whose next label takes most off the error; None if none has tasks left."""
    labels: dict[int, list[float]] = {}
    answered = sa.select(tasks.c.bin, assignments.c.answer).where(
        tasks.c.id == assignments.c.task,
        assignments.c.state == "answered",
        tasks.c.bin.is_not(None),
    )
    for place, answer in connection.execute(answered):
        value = number(msgspec.json.decode(answer))
        labels.setdefault(place, []).extend([] if value is None else [value])
    lacking = sa.select(tasks.c.bin).where(tasks.c.taken < tasks.c.judges).distinct()
    places: list[int] = [place for place in connection.scalars(lacking) if place is not None]
    if not places:
        return None
    gain = gains([labels.get(place, []) for place in range(max(places) + 1)])
    return max(places, key=lambda place: float(gain[place]))


def gains(labels: Sequence[Sequence[float]]) -> Floats:
    """Return what one more label of each bin takes off the error of the calibration.

    >>> gains([[1, 5, 1, 5], [3, 3, 3, 3]]).argmax()
    np.int64(0)
    """
    known = np.array([label for of_bin in labels for label in of_bin], np.float64)
    spread = float(known.var()) if len(known) > 1 else 1.0
    values = []
    for of_bin in labels:
        n = len(of_bin)
        squares = float(np.var(of_bin) * n) if n else 0.0
        variance = (squares + PRIOR * spread) / (n + PRIOR)
        values.append(variance / ((n + 1) * (n + 2)))
    return np.array(values)


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
        number = connection.scalar(FREE_CHECK, {"judge": judge.id})
    number = number or _fresh(connection, judge.id, template, settings)
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


def _fresh(
    connection: sa.Connection, judge: int, template: Template, settings: Settings
) -> int | None:
    """Return the first task that lacks judges and that a judge has not had."""
    if settings.order == "uncertain":
        place = wanted_bin(connection, template.number)
        number = connection.scalar(FREE_IN_BIN, {"judge": judge, "bin": place})
        if number is not None:
            return number
    return connection.scalar(FREE, {"judge": judge})
