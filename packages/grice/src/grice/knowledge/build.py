"""Building files of your own knowledge from files of triples."""

from __future__ import annotations

import getpass
import os
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import OutputError, RecordError
from grice.files import cannot_write, replacing
from grice.knowledge.file import Change
from grice.knowledge.layout import create_tables, mark_all, state

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.knowledge.lookup import TripleStore
    from grice.knowledge.schema import Schema
    from grice.knowledge.source_formats import Row
    from grice.knowledge.sources import TripleFile
    from grice.records import Triple

BATCH = 20_000
"""Rows staged at once when a file is built."""
FAULTS = 5
"""Different faults of rows that are kept to be shown."""


class Author(NamedTuple):
    """Who changes something, and when."""

    who: str
    at: str


class Below(NamedTuple):
    """The knowledge that a file lies on top of.

    Attributes:
        reference: Such as ``bundle:atomic``.
    """

    reference: str
    store: TripleStore


class Built(NamedTuple):
    """What became of the rows of files.

    Attributes:
        repeated: Rows that said again what was there.
        skipped: Rows left out on purpose, by the reason.
        problems: The first row with each fault in words, and how many there are.
    """

    triples: int
    repeated: int
    skipped: dict[str, int]
    broken: int
    problems: tuple[str, ...]


def author(who: str | None = None, at: str | None = None) -> Author:
    """Return who and when: as stated, or the user of this machine and now (UTC, to the second).

    ``SOURCE_DATE_EPOCH`` in the environment stands for now where it is set.
    """
    if at is None:
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
        at = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    if who is None:
        try:
            who = getpass.getuser()
        except (KeyError, OSError):
            who = "unknown"
    return Author(who, at)


def build(
    path: Path,
    files: Sequence[TripleFile],
    schema: Schema,
    by: Author,
    *,
    below: Below | None = None,
    replace: bool = False,
) -> Built:
    """Make a file of knowledge; it appears when it is whole.

    Args:
        files: Files of triples, in the order in which the first of equal triples counts; they
            are closed.
        below: What the file lies on top of; by default it stands alone.

    Raises:
        OutputError: If there is a file already, or it cannot be written.
    """
    try:
        if path.exists() and not replace:
            raise OutputError(
                f"{path}: is there already; add to it with grice kb add --to {path} --from FILE, "
                "or give --replace to write it again"
            )
        with (
            replacing(path) as temporary,
            closing(sqlite3.connect(temporary, isolation_level=None)) as connection,
        ):
            # Nobody reads the file before it is whole, so no journal has to make it so.
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            create_tables(connection)
            connection.execute("BEGIN")
            _describe(connection, schema, below, path.parent)
            built = _fill(connection, files, by)
            mark_all(connection)
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise cannot_write(path, error) from error
    finally:
        for file in files:
            file.close()
    return built


def _describe(
    connection: sqlite3.Connection, schema: Schema, below: Below | None, folder: Path
) -> None:
    state(connection, "schema", msgspec.json.encode(schema).decode())
    reference = "" if below is None else below.reference
    scheme, _, place = reference.partition(":")
    if scheme == "file":
        # As seen from the file itself, so that both can move together.
        reference = f"file:{os.path.relpath(place, folder)}"
    state(connection, "base", reference)
    state(connection, "base_content", "" if below is None else below.store.identity)


def _fill(connection: sqlite3.Connection, files: Sequence[TripleFile], by: Author) -> Built:
    rows = written = broken = 0
    skipped: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    first: dict[str, str] = {}
    connection.execute(
        "CREATE TEMP TABLE staged (place INTEGER PRIMARY KEY, head, relation, tail, source)"
    )
    for file in files:
        change = log_change(connection, Change(by.at, by.who, "build", source=file.name))
        batch: list[Row] = []
        for row in file.rows:
            if isinstance(row, RecordError):
                broken += 1
                if len(first) < FAULTS:
                    first.setdefault(row.problem, str(row))
                if row.problem in first:
                    faults[row.problem] += 1
            elif row.skipped:
                skipped[row.skipped] += 1
            else:
                batch.append(row)
                if len(batch) == BATCH:
                    rows += len(batch)
                    written += _stage(connection, batch, change)
                    batch = []
        rows += len(batch)
        written += _stage(connection, batch, change)
    connection.execute("DROP TABLE staged")
    index_words(connection)
    problems = [
        example if faults[fault] == 1 else f"{example} ({faults[fault]:,} such rows)"
        for fault, example in first.items()
    ]
    return Built(written, rows - written, dict(skipped), broken, tuple(problems))


def _stage(connection: sqlite3.Connection, batch: Sequence[Row], change: int) -> int:
    """Write a batch of checked rows; return how many triples were not there."""
    connection.execute("DELETE FROM staged")
    connection.executemany(
        "INSERT INTO staged (head, relation, tail, source) VALUES (?, ?, ?, ?)",
        [(*parts_of(row.triple), row.triple.source) for row in batch],
    )
    for table, column, place in (
        ("texts", "text", "head"),
        ("texts", "text", "tail"),
        ("names", "name", "relation"),
        ("names", "name", "source"),
    ):
        connection.execute(
            f"INSERT OR IGNORE INTO {table} ({column}) SELECT {place} FROM staged ORDER BY place"
        )
    inserted = connection.execute(
        "INSERT OR IGNORE INTO triples (head, relation, tail, source, change)"
        " SELECT heads.id, relations.id, tails.id, sources.id, ? FROM staged"
        " JOIN texts AS heads ON heads.text = staged.head"
        " JOIN texts AS tails ON tails.text = staged.tail"
        " JOIN names AS relations ON relations.name = staged.relation"
        " JOIN names AS sources ON sources.name = staged.source ORDER BY place",
        (change,),
    )
    return inserted.rowcount


def index_words(connection: sqlite3.Connection, since: int | None = None) -> None:
    """Index the words of texts, those after a number or all; nothing where there is no index."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone():
        return
    if since is None:
        connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
    else:
        connection.execute(
            "INSERT INTO words (rowid, text) SELECT id, text FROM texts WHERE id > ?", (since,)
        )


def log_change(connection: sqlite3.Connection, change: Change) -> int:
    """Write an entry of the history and return its number."""
    cursor = connection.execute(
        "INSERT INTO changes (at, who, action, head, relation, tail, source, before)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        change,
    )
    return int(cursor.lastrowid or 0)


def parts_of(triple: Triple) -> tuple[str, str, str]:
    """Return head, relation and tail."""
    return triple.head, triple.relation, triple.tail
