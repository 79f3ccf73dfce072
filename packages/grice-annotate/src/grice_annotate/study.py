"""A study: its judges, what is given to whom, and what they answered.

Every change is one transaction, and transactions that write wait for each other; an answer is
acknowledged once it is durable.
"""

from __future__ import annotations

import random
import secrets
import time
from typing import TYPE_CHECKING

import msgspec
import sqlalchemy as sa

from grice.data import Json
from grice_annotate.assign import next_task, open_task, return_late, set_aside
from grice_annotate.database import (
    ASSIGNED,
    DONE,
    JUDGE,
    PREVIOUS,
    Database,
    answer_of,
    assignments,
    decoded,
    judge_of,
    judges,
    studies,
    task_of,
    task_row,
    tasks,
)
from grice_annotate.records import Answer, AnswerError, Judge, Settings, Task
from grice_annotate.templates import Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice_annotate.templates import Template
    from grice_annotate.templates._template import Predict

OWNER = "owner"


class Given(msgspec.Struct, frozen=True):
    """A task as one judge sees it, with the earlier answer or draft."""

    task: Task
    judge: Judge
    answer: Json = None
    draft: Json = None
    proposed: bool = False


class Study:
    """A study in a database."""

    def __init__(
        self,
        database: Database,
        template: Template,
        settings: Settings,
        predict: Predict | None = None,
    ) -> None:
        self.database = database
        self.template = template
        self.settings = settings
        self.predict = predict

    def page(self, given: Given) -> Page:
        """Return the page of a task."""
        return Page(given.task, given.judge, self.settings, given.draft, self.predict)

    def add_judges(self, names: Sequence[str]) -> list[Judge]:
        """Return new judges, each with a link of their own; a name that is there stays as it is.

        Whether a judge sees proposals is drawn by the seed and the name.
        """
        with self.database.writing() as connection:
            known = set(connection.scalars(sa.select(judges.c.name)))
            fresh = [name for name in dict.fromkeys(names) if name not in known]
            for name in fresh:
                draw = random.Random(f"{self.settings.seed} {name}")
                connection.execute(
                    judges.insert().values(
                        name=name,
                        token=secrets.token_urlsafe(24),
                        owner=name == OWNER,
                        proposals=draw.random() < 0.5,
                    )
                )
        return [judge for judge in self.judges() if judge.name in fresh]

    def judges(self) -> list[Judge]:
        """Return everybody with a link, the owner first."""
        with self.database.reading() as connection:
            return [judge_of(row) for row in connection.execute(sa.select(judges).order_by("id"))]

    def judge(self, token: str) -> Judge | None:
        """Return whose link it is."""
        with self.database.reading() as connection:
            row = connection.execute(JUDGE, {"token": token}).first()
        return None if row is None else judge_of(row)

    @property
    def paused(self) -> bool:
        """Whether no task is given at present."""
        with self.database.reading() as connection:
            return bool(connection.scalar(sa.select(studies.c.paused)))

    def pause(self, *, paused: bool) -> None:
        """Give no tasks any more, or give them again; answers to given ones are taken."""
        with self.database.writing() as connection:
            connection.execute(studies.update().values(paused=paused))

    def next(self, judge: Judge) -> Given | None:
        """Return the task that a judge has before them, or a new one; None if none is left."""
        now = time.time()
        late = now - self.settings.minutes * 60
        with self.database.reading() as connection:  # most pages show what was given before
            row = open_task(connection, judge.id)
        if row is not None and row.given >= late:
            return _given(row, judge)
        with self.database.writing() as connection:
            return_late(connection, late)
            row = next_task(connection, judge, self.template, self.settings, now)
            return None if row is None else _given(row, judge)

    def given(self, judge: Judge, task: int) -> Given | None:
        """Return a task that a judge was given, with the answer if there is one; None if not."""
        with self.database.reading() as connection:
            row = connection.execute(ASSIGNED, {"task": task, "judge": judge.id}).first()
        return None if row is None or row.state == "excluded" else _given(row, judge)

    def previous(self, judge: Judge) -> int | None:
        """Return the number of the task that a judge answered last."""
        with self.database.reading() as connection:
            return connection.scalar(PREVIOUS, {"judge": judge.id})

    def done(self, judge: Judge) -> int:
        """Return how many tasks a judge has answered."""
        with self.database.reading() as connection:
            return connection.scalar(DONE, {"judge": judge.id}) or 0

    def submit(self, judge: Judge, task: int, value: Json, *, change: bool = False) -> None:
        """Keep an answer; it is durable when this returns."""
        encoded = msgspec.json.encode(value).decode()
        with self.database.writing() as connection:
            row = connection.execute(ASSIGNED, {"task": task, "judge": judge.id}).first()
            if row is None or row.state == "excluded":
                raise AnswerError("this task was not given to you; go on with the next")
            if row.state == "late":
                if row.taken >= row.judges > 0:
                    raise AnswerError(
                        "the time for this task was over and others have answered it; go on with "
                        "the next"
                    )
                connection.execute(
                    tasks.update().where(tasks.c.id == task).values(taken=tasks.c.taken + 1)
                )
            elif row.state != "open" and not change:
                if row.answer == encoded:
                    return
                raise AnswerError(
                    "you have answered this task in another window, and that answer stays; "
                    "go back to it to change it"
                )
            if row.state == "set_aside":
                raise AnswerError("this answer was set aside and cannot be changed")
            now = time.time()
            seconds = row.seconds if row.state == "answered" else now - row.given
            connection.execute(
                assignments.update()
                .where(assignments.c.task == task, assignments.c.judge == judge.id)
                .values(state="answered", answer=encoded, saved=now, seconds=seconds)
            )
            kept = task_of(row)
            if kept.expected is not None:
                if value != kept.expected:
                    set_aside(connection, judge.id, block=row.block)
            else:
                self._follow(connection, kept)

    def keep_draft(self, judge: Judge, task: int, draft: Json) -> None:
        """Keep what a writer tried, so that no try is lost or won by another window."""
        with self.database.writing() as connection:
            connection.execute(
                assignments.update()
                .where(assignments.c.task == task, assignments.c.judge == judge.id)
                .values(draft=msgspec.json.encode(draft).decode())
            )

    def set_aside(self, judge: int) -> None:
        """Let no answer of a judge count; their tasks are given to others."""
        with self.database.writing() as connection:
            set_aside(connection, judge)

    def adjudicate(self, task: int, value: Json) -> None:
        """Keep what the owner settled on."""
        with self.database.writing() as connection:
            connection.execute(
                tasks.update()
                .where(tasks.c.id == task)
                .values(adjudicated=msgspec.json.encode(value).decode())
            )

    def task(self, number: int) -> Task | None:
        """Return a task."""
        with self.database.reading() as connection:
            row = connection.execute(sa.select(tasks).where(tasks.c.id == number)).first()
        return None if row is None else task_of(row)

    def tasks(self) -> list[Task]:
        """Return all tasks in order."""
        with self.database.reading() as connection:
            return [task_of(row) for row in connection.execute(sa.select(tasks).order_by("place"))]

    def answers(self) -> list[Answer]:
        """Return all answers, in the order they were given."""
        query = (
            sa.select(assignments)
            .where(assignments.c.answer.is_not(None))
            .order_by(assignments.c.saved, assignments.c.task, assignments.c.judge)
        )
        with self.database.reading() as connection:
            return [answer_of(row) for row in connection.execute(query)]

    def source(self) -> dict[str, str]:
        """Return the files that the study was begun with, each with its hash."""
        with self.database.reading() as connection:
            source: dict[str, str] = decoded(connection.scalar(sa.select(studies.c.source)))
        return source

    def add(self, connection: sa.Connection, fresh: Iterable[Task], after: float) -> None:
        """Keep tasks behind a place; those who are excluded are never given them."""
        for step, task in enumerate(fresh, 1):
            kept = connection.execute(
                tasks.insert().values(place=after + step * 1e-6, **task_row(task))
            )
            (number,) = kept.inserted_primary_key or (None,)
            for judge in task.excluded:
                connection.execute(
                    assignments.insert().values(
                        task=number, judge=judge, state="excluded", given=time.time()
                    )
                )

    def _follow(self, connection: sa.Connection, task: Task) -> None:
        """Add what follows a task once it has all its answers."""
        query = sa.select(assignments).where(
            assignments.c.task == task.id, assignments.c.state == "answered"
        )
        given = [answer_of(row) for row in connection.execute(query.order_by("saved"))]
        row = connection.execute(sa.select(tasks).where(tasks.c.id == task.id)).one()
        if len(given) < task.judges or row.followed:
            return
        followed = self.template.follow(task, given, self.settings)
        if followed.judges:
            needed = task.judges + followed.judges
            connection.execute(tasks.update().where(tasks.c.id == task.id).values(judges=needed))
            return
        connection.execute(tasks.update().where(tasks.c.id == task.id).values(followed=True))
        self.add(
            connection,
            (msgspec.structs.replace(fresh_task, parent=task.id) for fresh_task in followed.tasks),
            row.place,
        )


def _given(row: sa.Row[tuple[object, ...]], judge: Judge) -> Given:
    answer, draft = decoded(row.answer), decoded(row.draft)
    return Given(task_of(row), judge, answer, draft, row.proposed)
