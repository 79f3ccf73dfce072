"""How a file of your own knowledge lies on disk, and how a changed byte is noticed.

The file is an SQLite data base. Beside the tables of content, ``marks`` holds one hash per block
of 1,024 rows of each of them, and ``about`` a seal over all marks and over itself. A write
computes only the marks of the blocks it touched; a check computes all.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing, suppress
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from grice.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

APPLICATION = 0x67726B62
"""Written into the head of the file; tells it from any other SQLite data base."""

VERSION = 1
"""Version of the layout."""

BLOCK = 1024
"""Rows under one mark."""

MARKED = ("texts", "names", "triples", "hidden", "changes")
ANSWERS = ("texts", "names", "triples", "hidden")
"""What answers depend on; when and by whom something was changed is no part of it."""

TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE marks (kind TEXT, block INTEGER, mark BLOB NOT NULL, PRIMARY KEY (kind, block))
    WITHOUT ROWID;
CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE triples (
    id INTEGER PRIMARY KEY, head INTEGER NOT NULL, relation INTEGER NOT NULL,
    tail INTEGER NOT NULL, source INTEGER NOT NULL, change INTEGER NOT NULL,
    UNIQUE (head, relation, tail)
);
CREATE TABLE hidden (
    id INTEGER PRIMARY KEY, head INTEGER NOT NULL, relation INTEGER NOT NULL,
    tail INTEGER NOT NULL, UNIQUE (head, relation, tail)
);
CREATE TABLE changes (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, action TEXT NOT NULL,
    head TEXT NOT NULL, relation TEXT NOT NULL, tail TEXT NOT NULL, source TEXT NOT NULL,
    before TEXT NOT NULL
);
CREATE TABLE vectors (
    head INTEGER PRIMARY KEY, encoder TEXT NOT NULL, vector BLOB NOT NULL, mark BLOB NOT NULL
);
"""


WORDS = """CREATE VIRTUAL TABLE words USING fts5(\
text, content='texts', content_rowid='id', tokenize='porter unicode61')"""

INDEX_TABLES = {f"words_{part}" for part in ("config", "content", "data", "docsize", "idx")}


def create_tables(connection: sqlite3.Connection) -> None:
    """Make an empty file; words are indexed where this SQLite can."""
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.executescript(TABLES)
    connection.execute("CREATE INDEX texts_by_case ON texts (text COLLATE NOCASE)")
    # An SQLite without full-text search: words are then looked for one text at a time.
    with suppress(sqlite3.OperationalError):
        connection.execute(WORDS)


@cache
def _objects() -> frozenset[tuple[str, str, str | None]]:
    """Return type, name and definition of all that an empty file holds."""
    with closing(sqlite3.connect(":memory:")) as connection:
        create_tables(connection)
        return frozenset(connection.execute("SELECT type, name, sql FROM sqlite_master"))


def check_objects(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file that defines anything else than what grice makes.

    A view or a computed column would be run when it is read, and might never end. What is no file
    of this layout at all is left to :func:`open_checked`.

    Raises:
        BundleError: If there is such a thing.
    """
    with suppress(sqlite3.Error):
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if (application, version) != (APPLICATION, VERSION):
            return
        for row in connection.execute("SELECT type, name, sql FROM sqlite_master"):
            # How the index of words lies in tables of its own is SQLite's business.
            ours = row in _objects() or row == ("table", "words", WORDS)
            if not ours and not (row[0] == "table" and row[1] in INDEX_TABLES):
                raise BundleError(
                    f"{path}: changed by something other than grice: it defines the {row[0]} "
                    f"{row[1]!r}, which no file of knowledge has"
                )


def open_checked(path: Path, connection: sqlite3.Connection, whole: str = "") -> dict[str, str]:
    """Return what a file says about itself, once it is sure to be a whole one of this layout.

    Args:
        whole: Hash of the content with which it was found whole a moment ago: if it still has
            it, its rows are not looked through again.

    Raises:
        BundleError: If it is something else, of another version, cut off, or changed.
    """
    advice = "make it again with grice kb build, or take a copy that is whole"
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            if not path.stat().st_size:
                raise BundleError(f"{path}: the file is empty; {advice}")
            raise BundleError(f"{path}: an SQLite data base, but not one of grice kb build")
        if version != VERSION:
            raise BundleError(
                f"{path}: written in layout {version}; this grice reads layout {VERSION}: make it "
                "again with grice kb build"
            )
        about = dict(connection.execute("SELECT key, value FROM about"))
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        if path.stat().st_size != pages * size:
            raise BundleError(
                f"{path}: cut off: {path.stat().st_size:,} of {pages * size:,} bytes; {advice}"
            )
        known = whole and content(connection) == whole
        differences = list(check(connection, about.get("seal", ""), rows=not known))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise BundleError(f"{path}: {_why(path, error)}; {advice}") from error
    if differences:
        raise BundleError(
            f"{path}: changed by something other than grice: {differences[0]}; {advice}"
        )
    return about


def _why(path: Path, error: Exception) -> str:
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as broken:
        return f"cannot be read: {broken.strerror}"
    if start != b"SQLite format 3\0":
        return f"not a file of knowledge (it begins with {start!r})"
    return f"damaged or cut off ({error})"


def check(connection: sqlite3.Connection, sealed: str, *, rows: bool = True) -> Iterator[str]:
    """Yield what does not agree with the marks and the seal, in words.

    Args:
        rows: Whether to look through all rows and indices, not only at the seal.
    """
    stored = {
        (kind, block): mark
        for kind, block, mark in connection.execute("SELECT kind, block, mark FROM marks")
    }
    if seal(connection) != sealed:
        yield "its seal does not fit its marks and settings"
    if not rows:
        return
    for (problem,) in connection.execute("PRAGMA integrity_check"):
        if problem != "ok":
            yield problem
    for table in MARKED:
        marks = dict(_marks(connection, table))
        for block in sorted(marks.keys() | {block for kind, block in stored if kind == table}):
            if marks.get(block) != stored.get((table, block)):
                first = block * BLOCK
                yield f"rows {first} to {first + BLOCK - 1} of the table {table}"


def remark(connection: sqlite3.Connection, touched: Mapping[str, Iterable[int]]) -> None:
    """Compute the marks of the blocks that hold the touched rows, and the seal, again."""
    for table, rows in touched.items():
        for block in sorted({row // BLOCK for row in rows}):
            marks = list(_marks(connection, table, block))
            connection.execute("DELETE FROM marks WHERE kind = ? AND block = ?", (table, block))
            connection.executemany(
                "INSERT INTO marks VALUES (?, ?, ?)",
                [(table, number, mark) for number, mark in marks],
            )
    state(connection, "seal", seal(connection))


def mark_all(connection: sqlite3.Connection) -> None:
    """Compute every mark and the seal."""
    connection.execute("DELETE FROM marks")
    for table in MARKED:
        connection.executemany(
            "INSERT INTO marks VALUES (?, ?, ?)",
            [(table, block, mark) for block, mark in _marks(connection, table)],
        )
    state(connection, "seal", seal(connection))


def state(connection: sqlite3.Connection, key: str, value: str) -> None:
    """Write one thing that the file says about itself."""
    connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, value))


def seal(connection: sqlite3.Connection) -> str:
    """Return the hash over all marks and all that the file says about itself."""
    digest = hashlib.blake2b(digest_size=16)
    for query in (
        "SELECT key, value FROM about WHERE key != 'seal' ORDER BY key",
        "SELECT kind, block, mark FROM marks ORDER BY kind, block",
    ):
        digest.update(msgspec.msgpack.encode(connection.execute(query).fetchall()))
    return digest.hexdigest()


def content(connection: sqlite3.Connection) -> str:
    """Return the hash over all that answers depend on.

    The same triples added in the same order give the same hash, whoever adds them and when.
    """
    digest = hashlib.blake2b(digest_size=16)
    for query, given in (
        ("SELECT key, value FROM about WHERE key IN ('schema', 'base') ORDER BY key", ()),
        *(
            ("SELECT kind, block, mark FROM marks WHERE kind = ? ORDER BY block", (table,))
            for table in ANSWERS
        ),
    ):
        digest.update(msgspec.msgpack.encode(connection.execute(query, given).fetchall()))
    return digest.hexdigest()


def _marks(
    connection: sqlite3.Connection, table: str, block: int | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield number and mark of each block of a table that has a row."""
    query = f"SELECT * FROM {table}"
    if block is not None:
        query += f" WHERE id >= {block * BLOCK} AND id < {(block + 1) * BLOCK}"
    cursor = connection.execute(query + " ORDER BY id")
    held: list[tuple[object, ...]] = []
    current = -1
    for row in cursor:
        number = row[0] // BLOCK
        if number != current and held:
            yield current, _hash(held)
            held = []
        current = number
        held.append(row)
    if held:
        yield current, _hash(held)


def _hash(rows: list[tuple[object, ...]]) -> bytes:
    return hashlib.blake2b(msgspec.msgpack.encode(rows), digest_size=16).digest()
