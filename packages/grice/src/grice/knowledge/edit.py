"""Changing files of your own knowledge: all of a change is written, or nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from grice.errors import InputError, OutputError, os_reason
from grice.knowledge.build import build, index_words, log_change, parts_of
from grice.knowledge.file import Change, KnowledgeFile, connect
from grice.knowledge.layout import remark
from grice.records import Triple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from grice.knowledge.build import Author, Below
    from grice.knowledge.lookup import TripleStore
    from grice.knowledge.schema import Schema


def add(path: Path, triples: Iterable[Triple], by: Author, *, below: Below | None = None) -> int:
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


def remove(path: Path, triple: Triple, by: Author, *, below: Below | None = None) -> None:
    """Take a triple out of a file of knowledge, or hide it in the knowledge below.

    Raises:
        InputError: If there is no such triple.
        BundleError: If the file is not whole.
        OutputError: If it cannot be written; it is then as it was.
    """
    with _changing(path, triple, by, below) as (file, connection):
        removed = _take_out(connection, _checked(file.schema, triple), below)
        change = log_change(
            connection, Change(by.at, by.who, "remove", *parts_of(removed), removed.source)
        )
        remark(connection, {"changes": [change]})


def edit(path: Path, triple: Triple, tail: str, by: Author, *, below: Below | None = None) -> None:
    """Replace the tail of a triple; what it was stays in the history.

    Raises:
        InputError: If there is no such triple, or there is one with the new tail.
        BundleError: If the file is not whole.
        OutputError: If it cannot be written; it is then as it was.
    """
    with _changing(path, triple, by, below) as (file, connection):
        old = _checked(file.schema, triple)
        new = _checked(file.schema, msgspec.structs.replace(triple, tail=tail))
        old_triple = _take_out(connection, old, below)
        source = triple.source or by.who
        fresh = msgspec.structs.replace(new, source=source)
        if not _insert(connection, [fresh], by, "edit", before=old_triple.tail):
            raise InputError(f"{_triple_text(new)} is there already; remove the old one instead")


@contextmanager
def _changing(
    path: Path, triple: Triple, by: Author, below: Below | None
) -> Iterator[tuple[KnowledgeFile, sqlite3.Connection]]:
    """Yield what :func:`_writing` does; a file that is not there is made for a triple below it."""
    if not path.exists() and below is not None:
        _found_below(triple, below)
        build(path, (), below.store.schema, by, below=below)
    with _writing(path) as opened:
        yield opened


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


def _insert(
    connection: sqlite3.Connection,
    triples: Sequence[Triple],
    by: Author,
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
        change = log_change(
            connection,
            Change(by.at, by.who, action, *parts_of(triple), triple.source or by.who, before),
        )
        cursor = connection.execute(
            "INSERT INTO triples (head, relation, tail, source, change) VALUES (?, ?, ?, ?, ?)",
            (head, relation, tail, source, change),
        )
        written.append(int(cursor.lastrowid or 0))
    _index_since(connection, last)
    return written


def _take_out(connection: sqlite3.Connection, triple: Triple, below: Below | None) -> Triple:
    """Remove a triple of the file, or hide one that lies below; return it as it was written."""
    row = connection.execute(
        "SELECT triples.id, heads.text, tails.text, sources.name FROM triples"
        " JOIN texts AS heads ON heads.id = head JOIN texts AS tails ON tails.id = tail"
        " JOIN names AS relations ON relations.id = relation"
        " JOIN names AS sources ON sources.id = source"
        " WHERE heads.text = ? COLLATE NOCASE AND relations.name = ? AND tails.text = ?",
        parts_of(triple),
    ).fetchone()
    if row is not None:
        number, head, tail, source = row
        connection.execute("DELETE FROM triples WHERE id = ?", (number,))
        remark(connection, {"triples": [number]})
        return Triple(head, triple.relation, tail, source=source)
    if below is None:
        raise InputError(f"{_triple_text(triple)} is not there")
    base_triple = _found_below(triple, below)
    last = {table: _last(connection, table) for table in ("texts", "names", "hidden")}
    numbers = (
        _number(connection, "texts", base_triple.head),
        _number(connection, "names", base_triple.relation),
        _number(connection, "texts", base_triple.tail),
    )
    try:
        connection.execute("INSERT INTO hidden (head, relation, tail) VALUES (?, ?, ?)", numbers)
    except sqlite3.IntegrityError:
        raise InputError(f"{_triple_text(triple)} was taken out before") from None
    _index_since(connection, last)
    return base_triple


def _found_below(triple: Triple, below: Below) -> Triple:
    for known in below.store.tails_of(triple.head, triple.relation):
        if known.tail == triple.tail:
            return known
    raise InputError(f"{_triple_text(triple)} is not there")


def _number(connection: sqlite3.Connection, table: str, text: str) -> int:
    column = "text" if table == "texts" else "name"
    connection.execute(f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)", (text,))
    (number,) = connection.execute(f"SELECT id FROM {table} WHERE {column} = ?", (text,)).fetchone()
    return int(number)


def _index_since(connection: sqlite3.Connection, last: dict[str, int]) -> None:
    """Index and mark the rows behind the last ones that there were of each table."""
    index_words(connection, last["texts"])
    added = {table: range(since + 1, _last(connection, table) + 1) for table, since in last.items()}
    remark(connection, added)


def _last(connection: sqlite3.Connection, table: str) -> int:
    (last,) = connection.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()
    return int(last)


def _checked(schema: Schema, triple: Triple) -> Triple:
    head, tail = (" ".join(text.split()) for text in (triple.head, triple.tail))
    cleaned = schema.renamed(Triple(head, triple.relation.strip(), tail, source=triple.source))
    if problems := schema.problems(cleaned):
        raise InputError(f"{_triple_text(triple)}: {'; '.join(problems)}")
    if any("\0" in text for text in (head, tail)):
        raise InputError(f"{_triple_text(triple)}: NUL is no part of a text")
    return cleaned


def _triple_text(triple: Triple) -> str:
    return f"{triple.head!r} {triple.relation} {triple.tail!r}"


def drop_vectors(path: Path) -> None:
    """Drop the kept vectors of a file; they are computed again when they are needed.

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
