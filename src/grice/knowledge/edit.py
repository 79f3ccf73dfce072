"""Making and changing files of your own knowledge: all of a change is written, or nothing."""

from __future__ import annotations

import getpass
import os
import sqlite3
from collections import Counter
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import InputError, OutputError, RecordError, os_reason
from grice.files import cannot_write, replacing
from grice.knowledge.file import Change, KnowledgeFile, connect
from grice.knowledge.layout import create_tables, mark_all, remark, state
from grice.records import Triple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from grice.knowledge.lookup import TripleStore
    from grice.knowledge.schema import Schema
    from grice.knowledge.sources import Row, TripleFile

__all__ = [
    "Below",
    "Built",
    "Stamp",
    "add",
    "build",
    "check_base",
    "drop_vectors",
    "edit",
    "remove",
    "stamp",
]

BATCH = 20_000
"""Rows staged at once when a file is built."""
FAULTS = 5
"""Different faults of rows that are kept to be shown."""


class Stamp(NamedTuple):
    """Who changes something, and when."""

    who: str
    at: str


class Below(NamedTuple):
    """The knowledge that a file lies on top of.

    Attributes:
        reference: Such as ``bundle:atomic``.
        store: The knowledge itself.
    """

    reference: str
    store: TripleStore


class Built(NamedTuple):
    """What became of the rows of files.

    Attributes:
        triples: Triples written.
        repeated: Rows that said again what was there.
        skipped: Rows left out on purpose, by the reason.
        broken: Rows that could not be used.
        problems: The first row with each fault in words, and how many there are.
    """

    triples: int
    repeated: int
    skipped: dict[str, int]
    broken: int
    problems: tuple[str, ...]


def stamp(who: str | None = None, at: str | None = None) -> Stamp:
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
    return Stamp(who, at)


def build(
    path: Path,
    files: Sequence[TripleFile],
    schema: Schema,
    by: Stamp,
    *,
    below: Below | None = None,
    replace: bool = False,
) -> Built:
    """Make a file of knowledge; it appears when it is whole.

    Args:
        path: Where.
        files: Files of triples, in the order in which the first of equal triples counts; they
            are closed.
        schema: The inventory of the relations.
        by: Who makes it, and when.
        below: What the file lies on top of; by default it stands alone.
        replace: Whether a file that is there may be replaced.

    Raises:
        OutputError: If there is a file already, or it cannot be written.
    """
    try:
        if path.exists() and not replace:
            raise OutputError(
                f"{path}: is there already; add to it with grice kb add --to {path} --from FILE, "
                "or give --replace to make it anew"
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


def add(path: Path, triples: Iterable[Triple], by: Stamp, *, below: Below | None = None) -> int:
    """Add triples to a file of knowledge, all or none; return how many were not there.

    A file that does not exist is made, on top of ``below``.

    Raises:
        InputError: If a triple breaks the schema, or a new file has no knowledge to lie on.
        BundleError: If the file is not whole.
        OutputError: If it cannot be written; it is then as it was.
    """
    wanted = list(triples)
    if not path.exists():
        if below is None:
            raise InputError(f"{path}: no such file; make it with grice kb build -o {path} FILE")
        wanted = [_checked(below.store.schema, triple) for triple in wanted]
        build(path, (), below.store.schema, by, below=below)
    with _writing(path) as (file, connection):
        checked = [_checked(file.schema, triple) for triple in wanted]
        return len(_insert(connection, checked, by, "add"))


def remove(path: Path, triple: Triple, by: Stamp, *, below: Below | None = None) -> None:
    """Take a triple out of a file of knowledge, or hide it in the knowledge below.

    Raises:
        InputError: If there is no such triple.
        BundleError: If the file is not whole.
        OutputError: If it cannot be written; it is then as it was.
    """
    if not path.exists() and below is not None:
        _found_below(triple, below)
        build(path, (), below.store.schema, by, below=below)
    with _writing(path) as (file, connection):
        found = _take_out(connection, _checked(file.schema, triple), below)
        change = _log(connection, Change(by.at, by.who, "remove", *_parts(found), found.source))
        remark(connection, {"changes": [change]})


def edit(path: Path, triple: Triple, tail: str, by: Stamp, *, below: Below | None = None) -> None:
    """Replace the tail of a triple; what it was stays in the history.

    Raises:
        InputError: If there is no such triple, or there is one with the new tail.
        BundleError: If the file is not whole.
        OutputError: If it cannot be written; it is then as it was.
    """
    if not path.exists() and below is not None:
        _found_below(triple, below)
        build(path, (), below.store.schema, by, below=below)
    with _writing(path) as (file, connection):
        old = _checked(file.schema, triple)
        new = _checked(file.schema, msgspec.structs.replace(triple, tail=tail))
        found = _take_out(connection, old, below)
        source = triple.source or by.who
        fresh = msgspec.structs.replace(new, source=source)
        if not _insert(connection, [fresh], by, "edit", before=found.tail):
            raise InputError(f"{_said(new)} is there already; remove the old one instead")


@contextmanager
def _writing(path: Path) -> Iterator[tuple[KnowledgeFile, sqlite3.Connection]]:
    """Yield a file that was found whole, and a connection that changes all or nothing."""
    try:
        with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
            try:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.DatabaseError:
                # Not a data base, or not to be written: whoever reads it says which.
                KnowledgeFile(path).close()
                raise
            try:
                with closing(KnowledgeFile(path)) as file:
                    yield file, connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
    except (OSError, sqlite3.Error) as error:
        raise OutputError(
            f"{path}: cannot be written: {os_reason(error)}; its content is as it was"
        ) from error


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


def _fill(connection: sqlite3.Connection, files: Sequence[TripleFile], by: Stamp) -> Built:
    rows = written = broken = 0
    skipped: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    first: dict[str, str] = {}
    connection.execute(
        "CREATE TEMP TABLE staged (place INTEGER PRIMARY KEY, head, relation, tail, source)"
    )
    for file in files:
        change = _log(connection, Change(by.at, by.who, "build", source=file.name))
        batch: list[Row] = []
        for found in file.rows:
            if isinstance(found, RecordError):
                broken += 1
                if len(first) < FAULTS:
                    first.setdefault(found.problem, str(found))
                if found.problem in first:
                    faults[found.problem] += 1
            elif found.skipped:
                skipped[found.skipped] += 1
            else:
                batch.append(found)
                if len(batch) == BATCH:
                    rows += len(batch)
                    written += _stage(connection, batch, change)
                    batch = []
        rows += len(batch)
        written += _stage(connection, batch, change)
    connection.execute("DROP TABLE staged")
    _index_words(connection)
    problems = [
        said if faults[fault] == 1 else f"{said} ({faults[fault]:,} such rows)"
        for fault, said in first.items()
    ]
    return Built(written, rows - written, dict(skipped), broken, tuple(problems))


def _stage(connection: sqlite3.Connection, batch: Sequence[Row], change: int) -> int:
    """Write a batch of checked rows; return how many triples were not there."""
    connection.execute("DELETE FROM staged")
    connection.executemany(
        "INSERT INTO staged (head, relation, tail, source) VALUES (?, ?, ?, ?)",
        [(*_parts(row.triple), row.triple.source) for row in batch],
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


def _index_words(connection: sqlite3.Connection, since: int | None = None) -> None:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone():
        return
    if since is None:
        connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
    else:
        connection.execute(
            "INSERT INTO words (rowid, text) SELECT id, text FROM texts WHERE id > ?", (since,)
        )


def _insert(
    connection: sqlite3.Connection,
    triples: Sequence[Triple],
    by: Stamp,
    action: str,
    *,
    before: str = "",
) -> list[int]:
    """Write triples that are not there yet, each with its own entry in the history."""
    last = {table: _last(connection, table) for table in ("texts", "names", "triples", "changes")}
    written = []
    for triple in triples:
        head, tail = (_number(connection, "texts", text) for text in (triple.head, triple.tail))
        relation = _number(connection, "names", triple.relation)
        source = _number(connection, "names", triple.source or by.who)
        known = connection.execute(
            "SELECT id FROM triples WHERE head = ? AND relation = ? AND tail = ?",
            (head, relation, tail),
        ).fetchone()
        if known:
            continue
        change = _log(
            connection,
            Change(by.at, by.who, action, *_parts(triple), triple.source or by.who, before),
        )
        cursor = connection.execute(
            "INSERT INTO triples (head, relation, tail, source, change) VALUES (?, ?, ?, ?, ?)",
            (head, relation, tail, source, change),
        )
        written.append(int(cursor.lastrowid or 0))
    _index_words(connection, last["texts"])
    remark(
        connection,
        {table: range(since + 1, _last(connection, table) + 1) for table, since in last.items()},
    )
    return written


def _take_out(connection: sqlite3.Connection, triple: Triple, below: Below | None) -> Triple:
    """Remove a triple of the file, or hide one that lies below; return it as it was written."""
    row = connection.execute(
        "SELECT triples.id, heads.text, tails.text, sources.name FROM triples"
        " JOIN texts AS heads ON heads.id = head JOIN texts AS tails ON tails.id = tail"
        " JOIN names AS relations ON relations.id = relation"
        " JOIN names AS sources ON sources.id = source"
        " WHERE heads.text = ? COLLATE NOCASE AND relations.name = ? AND tails.text = ?",
        _parts(triple),
    ).fetchone()
    if row is not None:
        number, head, tail, source = row
        connection.execute("DELETE FROM triples WHERE id = ?", (number,))
        remark(connection, {"triples": [number]})
        return Triple(head, triple.relation, tail, source=source)
    if below is None:
        raise InputError(f"{_said(triple)} is not there")
    found = _found_below(triple, below)
    last = {table: _last(connection, table) for table in ("texts", "names", "hidden")}
    numbers = (
        _number(connection, "texts", found.head),
        _number(connection, "names", found.relation),
        _number(connection, "texts", found.tail),
    )
    try:
        connection.execute("INSERT INTO hidden (head, relation, tail) VALUES (?, ?, ?)", numbers)
    except sqlite3.IntegrityError:
        raise InputError(f"{_said(triple)} was taken out before") from None
    _index_words(connection, last["texts"])
    remark(
        connection,
        {table: range(since + 1, _last(connection, table) + 1) for table, since in last.items()},
    )
    return found


def _found_below(triple: Triple, below: Below) -> Triple:
    for known in below.store.tails_of(triple.head, triple.relation):
        if known.tail == triple.tail:
            return known
    raise InputError(f"{_said(triple)} is not there")


def _log(connection: sqlite3.Connection, change: Change) -> int:
    cursor = connection.execute(
        "INSERT INTO changes (at, who, action, head, relation, tail, source, before)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        change,
    )
    return int(cursor.lastrowid or 0)


def _number(connection: sqlite3.Connection, table: str, text: str) -> int:
    column = "text" if table == "texts" else "name"
    connection.execute(f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)", (text,))
    (number,) = connection.execute(f"SELECT id FROM {table} WHERE {column} = ?", (text,)).fetchone()
    return int(number)


def _last(connection: sqlite3.Connection, table: str) -> int:
    (last,) = connection.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()
    return int(last)


def _checked(schema: Schema, triple: Triple) -> Triple:
    head, tail = (" ".join(text.split()) for text in (triple.head, triple.tail))
    found = schema.renamed(Triple(head, triple.relation.strip(), tail, source=triple.source))
    if problems := schema.problems(found):
        raise InputError(f"{_said(triple)}: {'; '.join(problems)}")
    if any("\0" in text for text in (head, tail)):
        raise InputError(f"{_said(triple)}: NUL is no part of a text")
    return found


def _parts(triple: Triple) -> tuple[str, str, str]:
    return triple.head, triple.relation, triple.tail


def _said(triple: Triple) -> str:
    return f"{triple.head!r} {triple.relation} {triple.tail!r}"


def drop_vectors(path: Path) -> None:
    """Drop the kept vectors of a file; they are computed anew when they are needed.

    Raises:
        BundleError: If it is not a file of knowledge.
        OutputError: If it cannot be written.
    """
    connect(path).close()
    try:
        with closing(sqlite3.connect(path, timeout=10)) as connection, connection:
            connection.execute("DELETE FROM vectors")
    except sqlite3.Error as error:
        raise OutputError(f"{path}: cannot be written: {os_reason(error)}") from error


def check_base(file: KnowledgeFile, below: TripleStore) -> str | None:
    """Return in words that the knowledge below a file is not the one it was made on; else None."""
    if file.base_content == below.identity:
        return None
    return f"made on top of {file.base_content}, now on {below.identity}"
