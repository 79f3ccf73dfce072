"""Builds the model ``atomic``: known triples, and short vectors of their heads.

    python -m grice_research.recipes.knowledge.build [--data ../shared/data]

Prints how often the nearest heads found through the short vectors are those of the whole ones.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from grice.data import Triple
from grice.files import replacing, writing
from grice.knowledge.schema import head_text, load_schema
from grice.knowledge.store import Axes
from grice.stats import mean
from grice_research.places import MODELS
from grice_research.recipes.common import (
    exact_encoder,
    figure_of,
    parser_of,
    table_of,
    update_card,
)
from grice_research.recipes.knowledge.atomic import Known, barrier, folded, training_triples
from grice_research.training_texts import record_texts

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

    tables = ("heads", "relations", "tails", "sources")
    rows = [
        tuple(map(number, tables, (each.head, each.relation, each.tail, each.source)))
        for each in triples
    ]
    with (
        replacing(folder / "triples.sqlite") as temporary,
        closing(sqlite3.connect(temporary)) as connection,
    ):
        connection.executescript(TABLES)
        for table, listed in numbers.items():
            column = "text" if table in ("heads", "tails") else "name"
            insert = f"INSERT INTO {table} ({column}, id) VALUES (?, ?)"
            connection.executemany(insert, listed.items())
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


KEPT = 192  # coordinates of a short vector
TAILS = 8  # most tails kept per head and relation
CLIPPED = 0.9999  # share of coordinates that int8 holds without clipping
NEIGHBOURS = (1, 5, 10)
COMMAND = "python -m grice_research.recipes.knowledge.build --data ../shared/data"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=MODELS / "atomic")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)

    known, dropped = training_triples(arguments.data, barrier(arguments.data))
    kept = chosen(known)
    print(f"{len(known):,} triples may be learned from, {len(kept):,} are kept; dropped: {dropped}")
    heads = write_triples(arguments.out, kept)
    encoder = exact_encoder()
    vectors = np.stack(encoder.encode([head_text(head) for head in heads]))
    axes = main_axes(vectors, KEPT)
    np.save(arguments.out / "heads.npy", packed(axes, vectors))
    scale = np.float32(axes.scale)
    np.savez(arguments.out / "axes.npz", axes=axes.axes.astype(np.float16), scale=scale)
    # Events nobody kept: heads of the evaluated part of CSKB Population, development only.
    rows = table_of(arguments.data / "cskb_population/dev.tsv.gz")
    queries = list(dict.fromkeys(row["head"] for row in rows))[:2000]
    asked = np.stack(encoder.encode([head_text(query) for query in queries]))
    reasons = "; ".join(f"{reason}: {count}" for reason, count in sorted(dropped.items()))
    update_card(
        arguments.out,
        "atomic",
        files=("axes.npz", "having.npy", "heads.npy", "triples.sqlite"),
        quality=recalls(axes, vectors, asked),
        excluded=f"rows dropped: {reasons}; then more than {TAILS} tails per head and relation, "
        "and relations beyond the 12",
    )
    record_texts(arguments.out, held(arguments.out))


def chosen(known: list[Known]) -> list[Triple]:
    """Keep ACCENT's relations, and at most ``TAILS`` tails per head and relation.

    A tail that several workers wrote in nearly the same words stands once. Which of the others
    stay is decided by a checksum, which prefers no kind of tail.
    """
    accent = set(load_schema("atomic2020").group("accent"))
    groups: dict[tuple[str, str], dict[str, Known]] = {}
    for triple in known:
        if triple.relation in accent:
            group = groups.setdefault((folded(triple.head), triple.relation), {})
            group.setdefault(folded(triple.tail.removeprefix("to ")), triple)
    spelled: dict[str, str] = {}
    kept = []
    for (head, relation), tails in sorted(groups.items()):
        for tail in sorted(tails, key=lambda tail: crc32(tail.encode()))[:TAILS]:
            tail_row = tails[tail]
            name = spelled.setdefault(head, tail_row.head)
            kept.append(Triple(name, relation, tail_row.tail, source=tail_row.source))
    return kept


def main_axes(vectors: np.ndarray, width: int) -> Axes:
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    axes = directions[:, ::-1][:, :width]
    # The sign of an axis is arbitrary; a fixed one makes the file the same on every machine.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(width)])
    axes = axes.astype(np.float16).astype(np.float32)
    reach = np.quantile(np.abs(vectors @ axes), CLIPPED)
    return Axes(axes, float(np.float32(reach / 127)))


def recalls(axes: Axes, vectors: np.ndarray, asked: np.ndarray) -> Iterator[dict[str, Any]]:
    exact = np.argsort(-(asked @ vectors.T), axis=1, kind="stable")
    short = packed(axes, vectors).astype(np.float32)
    found = np.argsort(-(axes.shorten(asked) @ short.T), axis=1, kind="stable")
    for count in NEIGHBOURS:
        pairs = zip(exact[:, :count], found[:, :count], strict=True)
        hits = np.array([len(set(nearest) & set(taken)) / count for nearest, taken in pairs])
        measure = f"share of the {count} truly nearest heads that {KEPT} x int8 find"
        share = mean(hits.tolist(), bounds=(0, 1))
        yield figure_of("CSKB Population dev, distinct heads", measure, share, COMMAND)


def held(folder: Path) -> Iterator[str]:
    """Yield heads, as written and as the encoder reads them, and tails."""
    with closing(sqlite3.connect(folder / "triples.sqlite")) as store:
        for (text,) in store.execute("SELECT text FROM heads ORDER BY id"):
            yield from (text, head_text(text))
        for (text,) in store.execute("SELECT text FROM tails ORDER BY id"):
            yield text


if __name__ == "__main__":
    main()
