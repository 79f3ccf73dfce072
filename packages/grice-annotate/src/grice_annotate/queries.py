"""What every page of a judge asks the database.

The statements are built once, with parameters: SQLAlchemy takes longer to build one than SQLite to
answer it.
"""

from __future__ import annotations

import sqlalchemy as sa

from grice_annotate.database import IS_CHECK, IS_LACKING, assignments, judges, tasks

_task: sa.BindParameter[int] = sa.bindparam("task")
_judge: sa.BindParameter[int] = sa.bindparam("judge")
_mine = assignments.c.judge == _judge
_done = sa.and_(_mine, assignments.c.state.in_(("answered", "set_aside")))
_of_assignment = [column for column in assignments.c if column.name not in ("task", "judge")]
_tasks = sa.select(tasks, *_of_assignment).where(tasks.c.id == assignments.c.task, _mine)
_count = sa.select(sa.func.count())


def _free(*conditions: sa.ColumnElement[bool]) -> sa.Select[int]:
    had = sa.exists().where(
        assignments.c.task == tasks.c.id, _mine, assignments.c.state.not_in(("late",))
    )
    return sa.select(tasks.c.id).where(~had, *conditions).order_by(tasks.c.place).limit(1)


JUDGE = sa.select(judges).where(judges.c.token == sa.bindparam("token"))
"""Whose link it is."""
OPEN_TASK = _tasks.where(assignments.c.state == "open")
"""The task that a judge has before them."""
ASSIGNED = _tasks.where(tasks.c.id == _task)
"""A task that a judge was given, with the answer."""
PREVIOUS = (
    sa.select(assignments.c.task)
    .where(_mine, assignments.c.state == "answered")
    .order_by(assignments.c.saved.desc())
    .limit(1)
)
"""The task that a judge answered last."""
DONE = _count.select_from(assignments).where(_mine, assignments.c.answer.is_not(None))
"""How many tasks a judge has answered."""
CHECKED = _count.select_from(assignments.join(tasks)).where(_done, tasks.c.judges == 0)
"""How many checks a judge has answered."""
SINCE = _count.select_from(assignments).where(_done, assignments.c.block == sa.bindparam("block"))
"""How many tasks a judge has answered in a block between checks."""
FREE = _free(IS_LACKING)
"""The first task that lacks judges and that a judge has not had."""
FREE_IN_BIN = _free(IS_LACKING, tasks.c.bin == sa.bindparam("bin"))
FREE_CHECK = _free(IS_CHECK)
"""The first check that a judge has not had."""
