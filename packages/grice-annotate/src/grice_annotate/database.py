"""The tables of a study, in SQLite or PostgreSQL, and the queries of pages."""

from __future__ import annotations

import re
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from grice.errors import InputError, OutputError
from grice_annotate.records import QUIZ, Answer, Judge, Task

if TYPE_CHECKING:
    from collections.abc import Iterator


VERSION = 1
"""Of the tables below."""
APPLICATION = 0x67726963
"""Application id of SQLite files; the key of PostgreSQL's advisory lock."""
WAIT = 30
"""Seconds that a transaction waits for another."""


class Encoded(sa.TypeDecorator[Any]):
    """Any JSON in a column of text; no value is NULL."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: object, _: sa.Dialect) -> str | None:
        """Return what the column holds."""
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: str | None, _: sa.Dialect) -> Any:  # noqa: ANN401
        """Return the value of the column."""
        return None if value is None else msgspec.json.decode(value)


metadata = sa.MetaData()
studies = sa.Table(
    "grice_study",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("template", sa.Text, nullable=False),
    sa.Column("settings", Encoded, nullable=False),
    sa.Column("source", Encoded, nullable=False),
    sa.Column("begun", sa.Float, nullable=False),
    sa.Column("paused", sa.Boolean, nullable=False, default=False),
)
judges = sa.Table(
    "grice_judge",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("token", sa.Text, nullable=False, unique=True),
    sa.Column("owner", sa.Boolean, nullable=False),
    sa.Column("proposals", sa.Boolean, nullable=False),
)
tasks = sa.Table(
    "grice_task",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("place", sa.Float, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("cluster", sa.Text, nullable=False),
    sa.Column("content", Encoded, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("judges", sa.Integer, nullable=False),
    sa.Column("taken", sa.Integer, nullable=False, default=0),
    sa.Column("expected", Encoded),
    sa.Column("proposal", Encoded),
    sa.Column("parent", sa.Integer),
    sa.Column("followed", sa.Boolean, nullable=False, default=False),
    sa.Column("adjudicated", Encoded),
)
OF_TASK = ("key", "content", "stage", "judges", "expected", "proposal", "parent")
"""Columns that are fields of a task."""
IS_LACKING, IS_CHECK = tasks.c.taken < tasks.c.judges, tasks.c.judges == sa.literal_column("0")
IS_QUIZ = sa.and_(IS_CHECK, tasks.c.cluster.startswith(QUIZ))
sa.Index("grice_task_lacking", tasks.c.place, sqlite_where=IS_LACKING, postgresql_where=IS_LACKING)
sa.Index("grice_task_check", tasks.c.place, sqlite_where=IS_CHECK, postgresql_where=IS_CHECK)
assignments = sa.Table(
    "grice_assignment",
    metadata,
    sa.Column("task", sa.ForeignKey(tasks.c.id), primary_key=True),
    sa.Column("judge", sa.ForeignKey(judges.c.id), primary_key=True),
    sa.Column("state", sa.Text, nullable=False),  # open, answered, set_aside or excluded
    sa.Column("given", sa.Float, nullable=False),
    sa.Column("block", sa.Integer, nullable=False, default=0),
    sa.Column("proposed", sa.Boolean, nullable=False, default=False),
    sa.Column("answer", sa.Text),
    sa.Column("draft", Encoded),
    sa.Column("saved", sa.Float),
    sa.Column("seconds", sa.Float),
)
IS_OPEN = assignments.c.state == sa.literal_column("'open'")
sa.Index(
    "grice_assignment_open", assignments.c.given, sqlite_where=IS_OPEN, postgresql_where=IS_OPEN
)
sa.Index("grice_assignment_judge", assignments.c.judge, assignments.c.state, assignments.c.saved)


class Database:
    """A database of one study. Writers wait for each other, so that no task is given twice."""

    def __init__(self, url: str) -> None:
        self._writer = Lock()
        self.name = re.sub(r"//[^@/]*@", "//…@", url)  # a password is not shown
        try:
            self._engine = _engine(url)
            with self._engine.connect():
                pass
        except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, DBAPIError) as error:
            raise InputError(f"{self.name}: cannot be opened: {_reason(error)}") from None

    def check(self) -> bool:
        """Return whether there is a study here."""
        try:
            with self._engine.connect() as connection:
                names = set(sa.inspect(connection).get_table_names())
                if studies.name not in names:
                    if names and self._engine.dialect.name == "sqlite":
                        raise InputError(
                            f"{self.name}: a database of another program; name a new file by --db"
                        )
                    return False
                version = connection.scalar(sa.select(studies.c.version))
        except DBAPIError as error:
            raise InputError(f"{self.name}: no database of a study: {_reason(error)}") from None
        if version is not None and version != VERSION:
            raise InputError(
                f"{self.name}: a study of version {version}; this grice reads version {VERSION}"
            )
        return version is not None

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a connection that reads one state of the study."""
        with self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Give a connection that alone writes; what it wrote is durable once this ends."""
        # SQLite asks again and again whether another writer is done, up to 100 ms apart; writers of
        # this process wait for each other here instead.
        with self._failing(), self._writer, self._engine.connect() as connection:
            if self._engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(APPLICATION)))
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise OutputError(f"{self.name}: cannot be written: {_reason(error)}") from error

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def _engine(url: str) -> sa.Engine:
    if "://" not in url:
        url = f"sqlite:///{url}"
    if url.startswith(("postgresql://", "postgres://")):
        url = "postgresql+psycopg://" + url.partition("://")[2]
    if not url.startswith("sqlite"):
        return sa.create_engine(url, pool_size=8, pool_pre_ping=True)
    if sa.make_url(url).database in (None, "", ":memory:"):
        raise InputError("a study is kept in a file; name one by --db")
    engine = sa.create_engine(url, connect_args={"timeout": WAIT, "check_same_thread": False})

    @sa.event.listens_for(engine, "connect")
    def _(connection: object, _: object) -> None:
        connection.isolation_level = None  # type: ignore[attr-defined] # begins are written here
        cursor = connection.cursor()  # type: ignore[attr-defined]
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    return engine


def _reason(error: Exception) -> str:
    return str(getattr(error, "orig", error)).strip().split("\n", maxsplit=1)[0][:200]


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
"""The judge of a link."""
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
FOLLOWER = sa.select(tasks.c.id).where(tasks.c.parent == _task).limit(1)
"""A task that was made of the answers to another."""
DONE = _count.select_from(assignments).where(_mine, assignments.c.answer.is_not(None))
"""Number of tasks a judge has answered."""
CHECKED = _count.select_from(assignments.join(tasks)).where(_done, IS_CHECK, ~IS_QUIZ)
"""Number of checks a judge has answered."""
SINCE = _count.select_from(assignments).where(_done, assignments.c.block == sa.bindparam("block"))
"""Number of tasks a judge has answered in a block between checks."""
FREE = _free(IS_LACKING)
"""The first task that lacks judges and that a judge has not had."""
_IS_REFINEMENT = tasks.c.stage == "refine"
FREE_TO_ALL = _free(IS_LACKING, ~_IS_REFINEMENT)
"""As FREE, without what only the best writers may refine."""
REFINEMENTS = sa.select(tasks).where(tasks.c.id.in_(_free(IS_LACKING, _IS_REFINEMENT).limit(None)))
"""Items that nobody refines yet and that the judge has not had."""
UNVERIFIED = _count.where(~_IS_REFINEMENT, ~IS_CHECK, ~tasks.c.followed)
"""Number of tasks, refinements aside, that lack answers."""
FREE_CHECK = _free(IS_CHECK, ~IS_QUIZ)
"""The first check that a judge has not had."""
_answered = sa.and_(assignments.c.task == tasks.c.id, _mine)
ITEMS = (
    sa.select(tasks, assignments.c.state, assignments.c.answer)
    .outerjoin_from(tasks, assignments, _answered)
    .where(IS_QUIZ)
    .order_by(tasks.c.place)
)
"""The items of the quiz in order, with the answers of a judge."""


def judge_of(row: sa.Row[Any]) -> Judge:
    """Return the judge of a row."""
    return Judge(**row._asdict())


def task_of(row: sa.Row[Any]) -> Task:
    """Return the task of a row."""
    fields = {name: getattr(row, name) for name in ("id", "adjudicated", *OF_TASK)}
    return Task(**fields, group=row.cluster)


def task_row(task: Task) -> dict[str, object]:
    """Return the columns of a new task."""
    return {"cluster": task.group, **{name: getattr(task, name) for name in OF_TASK}}


def answer_of(row: sa.Row[Any]) -> Answer:
    """Return the answer of an assignment's row."""
    return Answer(
        task=row.task,
        judge=row.judge,
        value=None if row.answer is None else msgspec.json.decode(row.answer),
        seconds=row.seconds,
        saved=row.saved or 0.0,
        proposed=row.proposed,
        set_aside=row.state == "set_aside",
    )
