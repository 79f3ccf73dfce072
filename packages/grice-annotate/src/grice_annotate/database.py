"""The tables of a study, in SQLite or PostgreSQL."""

from __future__ import annotations

import re
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from grice.errors import InputError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = 1
"""Of the tables below."""
APPLICATION = 0x67726963
"""How SQLite's files of grice's studies begin; PostgreSQL's transactions lock it."""
WAIT = 30
"""Seconds that a transaction waits for another."""

metadata = sa.MetaData()
studies = sa.Table(
    "grice_study",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("template", sa.Text, nullable=False),
    sa.Column("settings", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
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
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("judges", sa.Integer, nullable=False),
    sa.Column("taken", sa.Integer, nullable=False, default=0),
    sa.Column("expected", sa.Text),
    sa.Column("proposal", sa.Text),
    sa.Column("score", sa.Float),
    sa.Column("bin", sa.Integer),
    sa.Column("parent", sa.Integer),
    sa.Column("followed", sa.Boolean, nullable=False, default=False),
    sa.Column("adjudicated", sa.Text),
)
IS_LACKING, IS_CHECK = tasks.c.taken < tasks.c.judges, tasks.c.judges == sa.literal_column("0")
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
    sa.Column("draft", sa.Text),
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

    def create(self) -> None:
        """Make the tables that are not there."""
        with self._failing(), self._engine.begin() as connection:
            metadata.create_all(connection)

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
