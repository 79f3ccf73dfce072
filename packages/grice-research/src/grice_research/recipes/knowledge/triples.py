"""Write the files of a store of triples."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from grice.files import replacing, writing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from grice.knowledge.store import Axes
    from grice.records import Triple

TABLES = """
CREATE TABLE relations (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE sources (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE heads (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE tails (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE triples (
    head INTEGER NOT NULL, relation INTEGER NOT NULL, tail INTEGER NOT NULL,
    source INTEGER NOT NULL, PRIMARY KEY (head, relation, tail)
) WITHOUT ROWID;
"""


def packed(axes: Axes, vectors: np.ndarray) -> np.ndarray:
    """Return short coordinates as int8, as ``heads.npy`` holds them."""
    steps = np.rint(axes.shorten(vectors) / axes.scale)
    return np.asarray(np.clip(steps, -127, 127), np.int8)


def write_triples(folder: Path, triples: Iterable[Triple]) -> tuple[str, ...]:
    """Write ``triples.sqlite`` and ``having.npy``; return the heads in order of their numbers.

    Repeated triples are written once, with the source that came first.
    """
    numbers: dict[str, dict[str, int]] = {"heads": {}, "relations": {}, "tails": {}, "sources": {}}

    def number(table: str, text: str) -> int:
        return numbers[table].setdefault(text, len(numbers[table]))

    rows = [
        (
            number("heads", triple.head),
            number("relations", triple.relation),
            number("tails", triple.tail),
            number("sources", triple.source),
        )
        for triple in triples
    ]
    with (
        replacing(folder / "triples.sqlite") as temporary,
        closing(sqlite3.connect(temporary)) as connection,
    ):
        connection.executescript(TABLES)
        for table, column in (
            ("heads", "text"),
            ("tails", "text"),
            ("relations", "name"),
            ("sources", "name"),
        ):
            connection.executemany(
                f"INSERT INTO {table} ({column}, id) VALUES (?, ?)", numbers[table].items()
            )
        connection.executemany("INSERT OR IGNORE INTO triples VALUES (?, ?, ?, ?)", rows)
        connection.execute("CREATE INDEX heads_by_text ON heads (text COLLATE NOCASE)")
        connection.commit()
        connection.execute("VACUUM")
    having = np.zeros((len(numbers["heads"]), len(numbers["relations"])), np.bool_)
    for head, relation, _, _ in rows:
        having[head, relation] = True
    with writing(folder / "having.npy") as file:
        np.save(file, having)
    return tuple(numbers["heads"])
