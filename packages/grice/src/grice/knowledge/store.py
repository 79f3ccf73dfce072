"""Known triples in one read-only file, and the known heads nearest to any event.

A store is a folder. ``triples.sqlite`` holds heads, tails, relations and sources; ``having.npy``
tells which heads have a tail under which relation;
``heads.npy`` holds one int8 vector per head: the encoder's vector of its worded text, projected
on the main axes (``axes.npz``). Nothing is read before it is asked for, and vectors are mapped
from disk.
"""

from __future__ import annotations

import re
import sqlite3
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import quote

import numpy as np

from grice.errors import BundleError
from grice.knowledge.lookup import KnowledgeBase, NearHead, StoredKnowledge, encoded, largest
from grice.knowledge.schema import load_schema
from grice.models.loader import NoSettings, Settings, model_type, read_settings
from grice.models.products import single_threaded
from grice.models.protocols import Encoder
from grice.records import Triple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from grice.knowledge.schema import Schema
    from grice.models.bundle import Bundle
    from grice.models.loader import ModelLoader

    Array: TypeAlias = NDArray[np.float32]

QUERIES = 64
"""Queries compared at once."""
SPARE = 8
"""Heads looked at beyond those wanted, so that rounding cannot keep a nearest one out."""

TRIPLES = (
    "SELECT heads.text, relations.name, tails.text, sources.name FROM triples"
    " JOIN heads ON heads.id = head JOIN tails ON tails.id = tail"
    " JOIN relations ON relations.id = relation JOIN sources ON sources.id = source"
)


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


class StoreSettings(Settings, frozen=True):
    """Of a bundle of kind ``knowledge``: the inventory of its relations."""

    schema: str


class BundledStore:
    """Known triples of one schema."""

    def __init__(self, bundle: Bundle) -> None:
        if bundle.card.kind != "knowledge":
            raise BundleError(
                f"bundle {bundle.card.name!r} is of kind {bundle.card.kind!r}, not 'knowledge'"
            )
        self.identity = bundle.identity
        self.schema: Schema = load_schema(read_settings(bundle, StoreSettings).schema)
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

    @cached_property
    def _rows(self) -> Array:
        """The heads' coordinates in steps, as products need them; shape ``(heads, kept)``."""
        return self._heads.astype(np.float32)

    def __len__(self) -> int:
        """Return the number of triples."""
        (count,) = self._connection.execute("SELECT count(*) FROM triples").fetchone()
        return int(count)

    def nearest_heads(
        self, texts: Sequence[str], count: int, *, encoder: Encoder, relation: str | None = None
    ) -> list[list[NearHead]]:
        """Return heads near to worded texts; see :class:`~grice.knowledge.lookup.TripleStore`.

        Similarities are those of the short vectors, within a few hundredths of the cosine. Heads
        of equal similarity stand in the order of the store.
        """
        among = np.arange(len(self._heads))
        if relation is not None:
            number = self._known_relation(relation)
            among = among[:0] if number is None else np.flatnonzero(self._having[:, number])
        return [
            [NearHead(self._head(number), similarity) for number, similarity in nearest]
            for nearest in self._nearest(texts, count, encoder, among)
        ]

    def tails_of(self, head: str, relation: str, count: int | None = None) -> list[Triple]:
        """Return the first ``count`` triples of a head and relation, in the order of the store.

        A head that is not known gives none; a count of None means all.
        """
        self._known_relation(relation)
        numbers = self._connection.execute(
            "SELECT id FROM heads WHERE text = ? COLLATE NOCASE", (head.strip(),)
        ).fetchall()
        triples = [triple for (number,) in numbers for triple in self._tails(number, relation)]
        return triples[:count]

    def find(self, words: Sequence[str], count: int) -> list[Triple]:
        """Return triples whose head or tail holds each of the words, in the order of the store."""
        condition = " AND ".join(
            "(' ' || heads.text || ' ' || tails.text LIKE ? ESCAPE '\\')" for _ in words
        )
        given = (*(like(word) for word in words), count)
        return list(self._rows_of(f" WHERE {condition} LIMIT ?", given))

    def exact(self, text: str, count: int) -> list[Triple]:
        """Return triples whose head or tail is exactly this text, in any case."""
        same = (
            " WHERE head IN (SELECT id FROM heads WHERE text = ?1 COLLATE NOCASE)"
            " OR tail IN (SELECT id FROM tails WHERE text = ?1 COLLATE NOCASE) LIMIT ?2"
        )
        return list(self._rows_of(same, (text.strip(), count)))

    def counts(self) -> dict[str, int]:
        """Return how many triples each relation has."""
        return self._counted("relation")

    def origins(self) -> dict[str, int]:
        """Return how many triples come from each source."""
        return self._counted("source")

    def _rows_of(self, rest: str, given: tuple[object, ...]) -> Iterator[Triple]:
        for head, name, tail, source in self._connection.execute(TRIPLES + rest, given):
            yield Triple(head, name, tail, source=source)

    def _counted(self, column: str) -> dict[str, int]:
        return dict(
            self._connection.execute(
                f"SELECT {column}s.name, count(*) FROM triples"
                f" JOIN {column}s ON {column}s.id = {column} GROUP BY {column} ORDER BY {column}"
            )
        )

    def _nearest(
        self, texts: Sequence[str], count: int, encoder: Encoder, among: NDArray[np.int64]
    ) -> list[list[tuple[int, float]]]:
        """Return numbers of known heads with their similarities, best first."""
        vectors = encoded(texts, encoder)
        nearest: list[list[tuple[int, float]]] = []
        for start in range(0, len(texts), QUERIES):
            asked = [self._axes.shorten(vectors[text]) for text in texts[start : start + QUERIES]]
            # All heads, also those not among the wanted: to copy these out for every relation
            # takes longer than to multiply the others along.
            with single_threaded():
                shares = np.stack(asked) @ self._rows.T
            for query, share in zip(asked, shares, strict=True):
                # BLAS rounds a product by its place among the others, so it only picks; what is
                # picked is multiplied again, each row by itself.
                picked = among[largest(share[among], 2 * count + SPARE)]
                exact = (self._rows[picked] * query).sum(axis=1, dtype=np.float64)
                exact *= -self._axes.scale
                best = sorted(zip(exact.tolist(), picked.tolist(), strict=True))
                nearest.append([(number, -value) for value, number in best[:count]])
        return nearest

    def _known_relation(self, relation: str) -> int | None:
        _ = self.schema[relation]
        return self._relations.get(relation)

    def _tails(self, head: int, relation: str) -> list[Triple]:
        number = self._known_relation(relation)
        rows = self._connection.execute(
            "SELECT heads.text, tails.text, source FROM triples"
            " JOIN heads ON heads.id = head JOIN tails ON tails.id = tail"
            " WHERE head = ? AND relation = ? ORDER BY tail",
            (head, number),
        )
        return [
            Triple(text, relation, tail, source=self._sources[source])
            for text, tail, source in rows
        ]

    def _head(self, number: int) -> str:
        (text,) = self._connection.execute(
            "SELECT text FROM heads WHERE id = ?", (number,)
        ).fetchone()
        return str(text)


def _read_only(path: Path) -> sqlite3.Connection:
    # immutable: the file is part of the package, perhaps on a read-only disk, and never changes.
    uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        defined = connection.execute(
            "SELECT type, sql FROM sqlite_master WHERE sql IS NOT NULL"
        ).fetchall()
    except sqlite3.Error as error:
        raise BundleError(f"{path}: not a store of triples: {error}") from error
    # A view or a computed column would be run when it is read, and might never end.
    for kind, sql in defined:
        if kind not in ("table", "index") or re.search(r"\bVIRTUAL\b|\bAS\b", sql, re.I):
            connection.close()
            raise BundleError(f"{path}: not a store of triples: it defines more than tables")
    return connection


def like(word: str) -> str:
    """Return the pattern of a word at the start of any word of a text, for SQL's LIKE."""
    plain = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"% {plain}%"


def _names(connection: sqlite3.Connection, table: str) -> dict[str, int]:
    return dict(connection.execute(f"SELECT name, id FROM {table} ORDER BY id"))


@model_type("knowledge", task="knowledge", protocol=KnowledgeBase, settings=NoSettings)
def knowledge(bundle: Bundle, _: NoSettings, loader: ModelLoader) -> StoredKnowledge:
    """Open known triples, ready to be asked."""
    return StoredKnowledge(BundledStore(bundle), loader.encoder_of(bundle, Encoder))
