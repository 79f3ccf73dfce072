"""Known triples in one read-only file, and the known heads nearest to any event.

A store is a folder. ``triples.sqlite`` holds heads, tails, relations and sources; ``having.npy``
tells which heads have a tail under which relation;
``heads.npy`` holds one int8 vector per head: the encoder's vector of its worded text, projected
on the main axes (``axes.npz``). Nothing is read before it is asked for, and vectors are mapped
from disk.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import quote

import numpy as np

from grice.errors import BundleError
from grice.knowledge.schema import load_schema
from grice.knowledge.wording import head_text, tail_text
from grice.records import KnownTail, Triple
from grice.runtime.blas import single_threaded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from grice.knowledge.schema import Schema
    from grice.runtime.bundle import Bundle
    from grice.runtime.protocols import Encoder, Vector

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["Axes", "KnowledgeStore", "NearHead", "write_triples"]

QUERIES = 64
"""Queries compared at once."""
SPARE = 8
"""Heads looked at beyond those wanted, so that rounding cannot keep a nearest one out."""

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


class NearHead(NamedTuple):
    """A known head and its cosine with the event that was asked for, -1 to 1."""

    head: str
    similarity: float


class Axes(NamedTuple):
    """How an encoder vector becomes a short one.

    The axes are not centred: what is to be kept is the inner product, not the variance.

    Attributes:
        axes: Orthonormal columns, shape ``(dimensions, kept)``.
        scale: What one step of int8 stands for.
    """

    axes: Array
    scale: float

    def shorten(self, vectors: Array) -> Array:
        """Return float coordinates of shape ``(n, kept)``, or ``(kept,)`` for one vector."""
        return np.asarray(vectors @ self.axes, np.float32)

    def pack(self, vectors: Array) -> NDArray[np.int8]:
        """Return the coordinates as int8."""
        steps = np.rint(self.shorten(vectors) / self.scale)
        return np.asarray(np.clip(steps, -127, 127), np.int8)


class KnowledgeStore:
    """Known triples of one schema.

    Args:
        bundle: An opened bundle of kind ``knowledge``; its settings name the ``schema``, its card
            the encoder whose vectors it keeps.

    Raises:
        BundleError: If the files do not belong together.
    """

    def __init__(self, bundle: Bundle) -> None:
        if bundle.card.kind != "knowledge":
            raise BundleError(
                f"bundle {bundle.card.name!r} is of kind {bundle.card.kind!r}, not 'knowledge'"
            )
        self.identity = f"{bundle.card.name}@{bundle.digest}"
        self.schema: Schema = load_schema(str(bundle.card.settings.get("schema", "")))
        self._connection = _read_only(bundle.path("triples.sqlite"))
        self._relations = _names(self._connection, "relations")
        self._sources = {
            number: name for name, number in _names(self._connection, "sources").items()
        }
        self._heads: NDArray[np.int8] = np.load(bundle.path("heads.npy"), mmap_mode="r")
        with np.load(bundle.path("axes.npz"), allow_pickle=False) as stored:
            self._axes = Axes(stored["axes"].astype(np.float32), float(stored["scale"]))
        self._having: NDArray[np.bool_] = np.load(bundle.path("having.npy"), mmap_mode="r")
        self._check(bundle)

    def _check(self, bundle: Bundle) -> None:
        (count,) = self._connection.execute("SELECT count(*) FROM heads").fetchone()
        if self._having.shape != (count, len(self._relations)):
            raise BundleError(
                f"bundle {bundle.card.name!r}: having.npy has the shape {self._having.shape}, "
                f"triples.sqlite has {count} heads and {len(self._relations)} relations"
            )
        if self._heads.shape != (count, self._axes.axes.shape[1]):
            raise BundleError(
                f"bundle {bundle.card.name!r}: heads.npy has the shape {self._heads.shape}, "
                f"triples.sqlite has {count} heads of {self._axes.axes.shape[1]} coordinates"
            )

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations of which the store knows triples."""
        return tuple(self._relations)

    def __len__(self) -> int:
        """Return the number of triples."""
        (count,) = self._connection.execute("SELECT count(*) FROM triples").fetchone()
        return int(count)

    def tails(self, head: str, relation: str) -> tuple[Triple, ...]:
        """Return the known triples of exactly this head and relation, in the order of the store.

        A head that is not known gives none.

        Raises:
            InputError: If the schema has no such relation.
        """
        self._known_relation(relation)
        found = self._connection.execute(
            "SELECT id FROM heads WHERE text = ? COLLATE NOCASE", (head.strip(),)
        ).fetchall()
        return tuple(triple for (number,) in found for triple in self._tails(number, relation))

    def nearest(
        self, events: Sequence[str], count: int, *, encoder: Encoder
    ) -> list[tuple[NearHead, ...]]:
        """Return for each event the known heads nearest to it, the nearest first.

        Similarities are those of the short vectors, within a few hundredths of the cosine. Heads
        of equal similarity stand in the order of the store.
        """
        everything = np.arange(len(self._heads))
        near = self._nearest([head_text(event) for event in events], count, encoder, everything)
        return [
            tuple(NearHead(self._head(number), similarity) for number, similarity in found)
            for found in near
        ]

    def best_known(
        self, triples: Sequence[Triple], *, encoder: Encoder, heads: int = 2, tails: int = 2
    ) -> list[KnownTail | None]:
        """Return for each triple the known tail most like its tail, under heads like its head.

        Args:
            triples: What was said. Only heads that have tails under its relation are looked at.
            encoder: The encoder whose vectors the store keeps.
            heads: How many nearest heads are looked at.
            tails: How many tails of each of them.

        Returns:
            None for a relation of which the store knows nothing.
        """
        near: list[list[tuple[int, float]]] = [[] for _ in triples]
        for relation in dict.fromkeys(triple.relation for triple in triples):
            asked = [i for i, triple in enumerate(triples) if triple.relation == relation]
            texts = [head_text(triples[i].head) for i in asked]
            found = self._nearest(texts, heads, encoder, self._heads_with(relation))
            for i, nearest in zip(asked, found, strict=True):
                near[i] = nearest
        known = [
            [
                (similarity, known)
                for number, similarity in found
                for known in self._tails(number, triple.relation)[:tails]
            ]
            for triple, found in zip(triples, near, strict=True)
        ]
        said = [self._tail_text(triple) for triple in triples]
        wording = [[self._tail_text(candidate) for _, candidate in each] for each in known]
        vectors = _encoded([*said, *(text for each in wording for text in each)], encoder)
        return [
            _best(each, [_cosine(vectors[text], vectors[other]) for other in others])
            for each, text, others in zip(known, said, wording, strict=True)
        ]

    def _tail_text(self, triple: Triple) -> str:
        return tail_text(triple.tail, self.schema[triple.relation])

    def _nearest(
        self, texts: Sequence[str], count: int, encoder: Encoder, among: NDArray[np.int64]
    ) -> list[list[tuple[int, float]]]:
        """Return numbers of known heads with their similarities, best first."""
        vectors = _encoded(texts, encoder)
        rows = self._heads[among].astype(np.float32)
        found: list[list[tuple[int, float]]] = []
        for start in range(0, len(texts), QUERIES):
            asked = [self._axes.shorten(vectors[text]) for text in texts[start : start + QUERIES]]
            with single_threaded():
                shares = np.stack(asked) @ rows.T
            for query, share in zip(asked, shares, strict=True):
                # BLAS rounds a product by its place among the others, so it only picks; what is
                # picked is multiplied again, each row by itself.
                picked = _largest(share, 2 * count + SPARE)
                exact = (rows[picked] * query).sum(axis=1, dtype=np.float64) * self._axes.scale
                best = sorted(zip((-exact).tolist(), among[picked].tolist(), strict=True))
                found.append([(number, -value) for value, number in best[:count]])
        return found

    def _heads_with(self, relation: str) -> NDArray[np.int64]:
        """Return the numbers of the heads that have a tail under a relation, in order."""
        number = self._known_relation(relation)
        if number is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self._having[:, number])

    def _known_relation(self, relation: str) -> int | None:
        _ = self.schema[relation]
        return self._relations.get(relation)

    def _tails(self, head: int, relation: str) -> list[Triple]:
        number = self._known_relation(relation)
        found = self._connection.execute(
            "SELECT heads.text, tails.text, source FROM triples"
            " JOIN heads ON heads.id = head JOIN tails ON tails.id = tail"
            " WHERE head = ? AND relation = ? ORDER BY tail",
            (head, number),
        )
        return [
            Triple(text, relation, tail, source=self._sources[source])
            for text, tail, source in found
        ]

    def _head(self, number: int) -> str:
        (text,) = self._connection.execute(
            "SELECT text FROM heads WHERE id = ?", (number,)
        ).fetchone()
        return str(text)


def write_triples(folder: Path, triples: Iterable[Triple]) -> tuple[str, ...]:
    """Write ``triples.sqlite`` and ``having.npy``; return the heads in order of their numbers.

    Repeated triples are written once, with the source that came first.
    """
    path = folder / "triples.sqlite"
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
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
    with connection:
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
    connection.execute("VACUUM")
    connection.close()
    having = np.zeros((len(numbers["heads"]), len(numbers["relations"])), np.bool_)
    for head, relation, _, _ in rows:
        having[head, relation] = True
    np.save(folder / "having.npy", having)
    return tuple(numbers["heads"])


def _read_only(path: Path) -> sqlite3.Connection:
    # immutable: the file is part of the package, perhaps on a read-only disk, and never changes.
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1",
            uri=True,
            check_same_thread=False,
        )
        connection.execute("SELECT count(*) FROM relations")
    except sqlite3.Error as error:
        raise BundleError(f"{path}: not a store of triples: {error}") from error
    return connection


def _names(connection: sqlite3.Connection, table: str) -> dict[str, int]:
    return dict(connection.execute(f"SELECT name, id FROM {table} ORDER BY id"))


def _cosine(left: Vector, right: Vector) -> float:
    """Return the product of two unit vectors; summed in one order whatever the machine's BLAS."""
    return float(np.sum(left * right, dtype=np.float64))


def _encoded(texts: Sequence[str], encoder: Encoder) -> dict[str, Vector]:
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, encoder.encode(distinct), strict=True)) if distinct else {}


def _largest(row: Array, count: int) -> list[int]:
    """Return the places of the largest values, the largest first, the earlier of equal ones."""
    if count >= len(row):
        return [int(i) for i in np.argsort(-row, kind="stable")]
    least = np.partition(row, len(row) - count)[len(row) - count]
    places = np.flatnonzero(row >= least)
    return [int(i) for i in places[np.argsort(-row[places], kind="stable")][:count]]


def _best(known: list[tuple[float, Triple]], similarities: list[float]) -> KnownTail | None:
    if not known:
        return None
    best = max(range(len(known)), key=lambda i: (similarities[i], known[i][0], -i))
    head_similarity, triple = known[best]
    return KnownTail(triple.head, triple.tail, head_similarity, similarities[best], triple.source)
