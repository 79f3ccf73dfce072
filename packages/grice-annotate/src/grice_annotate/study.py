"""A study: its judges, what is given to whom, and what they answered.

Every change is one transaction, and transactions that write wait for each other; an answer is
acknowledged once it is durable.
"""

from __future__ import annotations

import random
import secrets
import time
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec
import sqlalchemy as sa

from grice.data import Json
from grice.errors import GriceError, InputError
from grice_annotate.assign import Quiz, next_task, open_task, quiz_of, return_late, set_aside
from grice_annotate.database import (
    ASSIGNED,
    DONE,
    FOLLOWER,
    JUDGE,
    PREVIOUS,
    Database,
    answer_of,
    assignments,
    judge_of,
    judges,
    studies,
    task_of,
    task_row,
    tasks,
)
from grice_annotate.records import Answer, AnswerError, Judge, Settings, Task
from grice_annotate.templates import Page
from grice_annotate.templates._template import is_right

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice_annotate.templates import Template
    from grice_annotate.templates._template import Predict

OWNER = "owner"
LONGEST = 64
"""Characters of a pseudonym."""
ANSWERED = "you have answered this task in another window, and that answer stays"


class Given(msgspec.Struct, frozen=True):
    """A task as one judge sees it, with the earlier answer or draft."""

    task: Task
    judge: Judge
    answered: bool
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
        self._asking = Lock()

    def page(self, given: Given) -> Page:
        """Return the page of a task."""
        attempt = partial(self._attempt, given, self.predict) if self.predict else None
        return Page(given.task, given.judge, self.settings, given.draft, attempt)

    def add_judges(self, names: Sequence[str]) -> None:
        """Give a link to each judge who has none yet.

        Raises:
            InputError: A name is empty, too long, or holds what cannot be shown.
        """
        for name in names:
            if not (name.isprintable() and 0 < len(name) <= LONGEST):
                raise InputError(
                    f"judge {name[:80]!r}: 1 to {LONGEST} characters that can be shown"
                )
        with self.database.writing() as connection:
            known = set(connection.scalars(sa.select(judges.c.name)))
            for name in dict.fromkeys(names):
                if name not in known:
                    self.link(connection, name)

    def link(self, connection: sa.Connection, name: str) -> None:
        """Keep a new judge; the seed and the name determine whether they see proposals."""
        draw = random.Random(f"{self.settings.seed} {name}")
        connection.execute(
            judges.insert().values(
                name=name,
                token=secrets.token_urlsafe(24),
                owner=name == OWNER,
                proposals=draw.random() < 0.5,
            )
        )

    def judges(self) -> list[Judge]:
        """Return everybody with a link, the owner first."""
        with self.database.reading() as connection:
            return [judge_of(row) for row in connection.execute(sa.select(judges).order_by("id"))]

    def judge(self, token: str) -> Judge | None:
        """Return whose link it is."""
        if not token.isprintable():  # PostgreSQL compares no text with NUL
            return None
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

    def quiz(self, judge: Judge) -> Quiz:
        """Return how a judge stands in the quiz."""
        with self.database.reading() as connection:
            return quiz_of(connection, judge.id, self.template, self.settings.pass_mark)

    def submit(self, judge: Judge, task: int, value: Json, *, change: bool = False) -> None:
        """Keep an answer; it is durable when this returns."""
        answer = msgspec.json.encode(value).decode()
        with self.database.writing() as connection:
            row = _assigned(connection, judge, task)
            if row.state == "late":
                connection.execute(
                    tasks.update().where(tasks.c.id == task).values(taken=tasks.c.taken + 1)
                )
            elif row.state != "open" and not change:
                if row.answer == answer:
                    return
                raise AnswerError(f"{ANSWERED}; go back to it to change it")
            if row.state == "set_aside":
                raise AnswerError("this answer was set aside and cannot be changed")
            kept = task_of(row)
            if row.state == "answered" and kept.quiz:
                raise AnswerError("an answer of the quiz stays as it is; go on with the next")
            if row.state == "answered" and connection.scalar(FOLLOWER, {"task": task}):
                raise AnswerError("others have gone on from this answer; it cannot be changed")
            now = time.time()
            took = now - row.given if now >= row.given else None  # not known: the clock was set
            seconds = row.seconds if row.state == "answered" else took
            connection.execute(
                assignments.update()
                .where(assignments.c.task == task, assignments.c.judge == judge.id)
                .values(state="answered", answer=answer, saved=now, seconds=seconds)
            )
            if kept.quiz:
                return
            if not kept.judges:
                if not is_right(self.template, kept, value):
                    set_aside(connection, judge.id, block=row.block)
            else:
                self._follow(connection, kept)

    def _attempt(
        self, given: Given, predict: Predict, tried: dict[str, Json]
    ) -> list[dict[str, Json]]:
        """Return the tries of a writer, after one more, with what the model said of each.

        A try counts before the model is asked, and windows wait for each other; after the last try
        nothing is asked any more.
        """
        place = given.judge, given.task.id
        with self._asking:
            with self.database.writing() as connection:
                row = _assigned(connection, *place)
                if row.state not in ("open", "late"):
                    raise AnswerError(ANSWERED)
                tries = _tries(row)
                if len(tries) >= self.settings.tries:
                    return tries
                _keep_tries(connection, *place, [*tries, tried])
            try:
                predicted = predict(str(tried["belief"]), str(tried["argument"]))
                said = [{**tried, "predicted": predicted}]
            except GriceError:
                said = []
            with self.database.writing() as connection:
                tries = _tries(_assigned(connection, *place))
                last = tries.index(tried)
                tries[last : last + 1] = said
                _keep_tries(connection, *place, tries)
            if not said:
                raise AnswerError("the model did not answer, and the try does not count")
            return tries[: last + 1]

    def set_aside(self, judge: int) -> None:
        """Let no answer of a judge count; their tasks are given to others."""
        with self.database.writing() as connection:
            set_aside(connection, judge)

    def adjudicate(self, task: int, value: Json) -> None:
        """Keep what the owner settled on."""
        with self.database.writing() as connection:
            connection.execute(tasks.update().where(tasks.c.id == task).values(adjudicated=value))

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
            source: dict[str, str] = connection.execute(sa.select(studies.c.source)).one().source
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


def _assigned(connection: sa.Connection, judge: Judge, task: int) -> sa.Row[Any]:
    """Return the row of a task that a judge was given and may answer."""
    row = connection.execute(ASSIGNED, {"task": task, "judge": judge.id}).first()
    if row is None or row.state == "excluded":
        raise AnswerError("this task was not given to you; go on with the next")
    if row.state == "late" and row.taken >= row.judges > 0:
        raise AnswerError(
            "the time for this task was over and others have answered it; go on with the next"
        )
    return row


def _tries(row: sa.Row[Any]) -> list[dict[str, Json]]:
    draft: dict[str, list[dict[str, Json]]] = row.draft or {}
    return draft.get("tries", [])


def _keep_tries(connection: sa.Connection, judge: Judge, task: int, tries: list[Any]) -> None:
    connection.execute(
        assignments.update()
        .where(assignments.c.task == task, assignments.c.judge == judge.id)
        .values(draft={"tries": tries})
    )


def _given(row: sa.Row[tuple[object, ...]], judge: Judge) -> Given:
    answered = row.answer is not None
    answer = msgspec.json.decode(row.answer) if answered else None
    return Given(task_of(row), judge, answered, answer, row.draft, row.proposed)
