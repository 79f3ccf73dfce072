"""Known triples: a read-only SQLite file, triples of your own, and the heads nearest to an event.

The folder of a store holds ``triples.sqlite`` (heads, tails, relations, sources), ``having.npy``
(which heads have a tail under which relation) and ``heads.npy``, one int8 vector per head: the
encoder's vector of its worded text, projected on the main axes (``axes.npz``). Vectors are mapped
from disk.
"""

from __future__ import annotations

import copy
import re
import sqlite3
from collections import Counter
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable
from urllib.parse import quote

import msgspec
import numpy as np

from grice.data import KnownTail, Triple
from grice.errors import InputError, ModelFolderError
from grice.knowledge.schema import load_schema
from grice.knowledge.wording import head_text, tail_text
from grice.models.loader import NoSettings, Settings, model_type, read_settings
from grice.models.products import single_threaded
from grice.models.protocols import Encoder
from grice.numeric import unit_dot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.knowledge.schema import Schema
    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Vector

    Array: TypeAlias = NDArray[np.float32]

QUERIES = 64
"""Queries compared at once."""
SPARE = 8
"""Heads compared beyond those wanted, so that rounding cannot keep a nearest one out."""
HEADS = 1
"""Nearest heads looked at for a triple. Two do better by 0.002 of the area on the development part
of CSKB Population and no better on DECO train, and cost as much again."""
TAILS = 10
"""Tails a triple is compared with, as many as ACCENT has COMET write."""
WIDE = 200
"""Tails of similar heads among which the nearest to a tail are searched."""

TRIPLES = (
    "SELECT heads.text, relations.name, tails.text, sources.name FROM triples"
    " JOIN heads ON heads.id = head JOIN tails ON tails.id = tail"
    " JOIN relations ON relations.id = relation JOIN sources ON sources.id = source"
)


@runtime_checkable
class KnowledgeBase(Protocol):
    """Tails that follow from a head under a relation, stored or generated."""

    identity: str
    """Content and arithmetic; equal identities give equal answers."""

    def tails(
        self, heads: Sequence[str], relations: Sequence[str], k: int
    ) -> list[list[KnownTail]]:
        """Return for each head and relation at most ``k`` different tails, the best first.

        ``head`` of a result is the known head and ``head_similarity`` its cosine with the head
        asked for, 1 for a generated tail; ``tail_similarity`` is 0. An unknown relation raises
        InputError.
        """
        ...

    def plausibility(self, triples: Sequence[Triple]) -> list[float]:
        """Return how well each triple agrees with what is known, 0 (nothing known) to 1."""
        ...


class NearHead(NamedTuple):
    """A head in the knowledge base and its cosine with an event, -1 to 1."""

    head: str
    similarity: float


class Axes(NamedTuple):
    """Projection of encoder vectors on short ones.

    The axes are not centred: the inner product is to be kept, not the variance.

    Attributes:
        axes: Orthonormal columns, shape ``(dimensions, kept)``.
        scale: The size of one step of int8.
    """

    axes: Array
    scale: float

    def shorten(self, vectors: Array) -> Array:
        """Return coordinates of shape ``(n, kept)``, or ``(kept,)`` for one vector."""
        return np.asarray(vectors @ self.axes, np.float32)


class StoreSettings(Settings, frozen=True):
    """Settings of type ``knowledge``: the schema of its relations."""

    schema: str


class TripleStore:
    """Known triples of one schema, and triples of your own.

    Own heads count where they are at least as near as the last of the nearest stored heads, and
    are added to these, so that own triples change results for similar heads only.
    """

    def __init__(self, folder: ModelFolder) -> None:
        self.identity = folder.identity
        self.schema: Schema = load_schema(read_settings(folder, StoreSettings).schema)
        self.own: tuple[Triple, ...] = ()
        self._own_tails: dict[tuple[str, str], list[Triple]] = {}
        self._own_vectors: dict[str, Array] = {}
        self._connection = _read_only(folder.file("triples.sqlite"))
        self._relations = dict(self._connection.execute("SELECT name, id FROM relations"))
        self._heads: NDArray[np.int8] = np.load(folder.file("heads.npy"), mmap_mode="r")
        with np.load(folder.file("axes.npz"), allow_pickle=False) as stored:
            self._axes = Axes(stored["axes"].astype(np.float32), float(stored["scale"]))
        self._having: NDArray[np.bool_] = np.load(folder.file("having.npy"), mmap_mode="r")
        count = self._count("heads")
        for name, array, width in (
            ("having.npy", self._having, len(self._relations)),
            ("heads.npy", self._heads, self._axes.axes.shape[1]),
        ):
            if array.shape != (count, width):
                raise ModelFolderError(
                    f"model {folder.card.name!r}: {name} has the shape {array.shape}, "
                    f"{(count, width)} is needed beside triples.sqlite"
                )

    def with_triples(self, own: Iterable[Triple], identity: str) -> TripleStore:
        """Return a store with more triples of your own."""
        store = copy.copy(self)
        store.identity = f"{identity}+{self.identity}"
        store.own = (*own, *self.own)
        store._own_vectors, store._own_tails = {}, {}
        for triple in store.own:
            store._own_tails.setdefault(_key(triple), []).append(triple)
        return store

    def __len__(self) -> int:
        """Return the number of triples, each once."""
        known = sum(
            any(stored.tail == triple.tail for stored in self._stored_tails(*_key(triple)))
            for triple in self.own
        )
        return self._count("triples") + len(self.own) - known

    def nearest_heads(
        self, texts: Sequence[str], count: int, *, encoder: Encoder, relation: str | None = None
    ) -> list[list[NearHead]]:
        """Return for each worded event the nearest known heads, own ones where near enough.

        Similarities of stored heads are those of the short vectors, within a few hundredths of the
        cosine. With a relation only heads that have a tail under it are compared.
        """
        vectors = encoded(texts, encoder)
        among = np.arange(len(self._heads))
        if relation is not None:
            number = self._known_relation(relation)
            among = among[:0] if number is None else np.flatnonzero(self._having[:, number])
        queries = [self._axes.shorten(vectors[text]) for text in texts]
        stored = [
            [NearHead(self._head(row), similarity) for row, similarity in rows]
            for rows in nearest_rows(self._rows, among, queries, count, self._axes.scale)
        ]
        heads = list(dict.fromkeys(triple.head for triple in self.own))
        matching = [
            row
            for row, head in enumerate(heads)
            if relation is None or (head.lower(), relation) in self._own_tails
        ]
        if not matching or not texts:
            return stored
        if encoder.identity not in self._own_vectors:
            made = np.stack(encoder.encode([head_text(head) for head in heads]))
            self._own_vectors[encoder.identity] = made.astype(np.float16).astype(np.float32)
        rows = self._own_vectors[encoder.identity]
        queries = [vectors[text] for text in texts]
        own = nearest_rows(rows, np.array(matching), queries, count, 1.0)
        return [
            _merged(near, [NearHead(heads[row], similarity) for row, similarity in mine], count)
            for near, mine in zip(stored, own, strict=True)
        ]

    def tails_of(self, head: str, relation: str, count: int | None = None) -> list[Triple]:
        """Return all own triples of a head and relation, then the first ``count`` stored ones."""
        own = self._own_tails.get((head.strip().lower(), relation), [])
        known = {triple.tail for triple in own}
        stored = self._stored_tails(head, relation, count)
        return own + [triple for triple in stored if triple.tail not in known]

    def find(self, words: Sequence[str], count: int) -> list[Triple]:
        """Return triples that hold words beginning with each of the given ones, own ones first."""
        own = [
            triple
            for triple in self.own
            if all(f" {w.lower()}" in f" {triple.head} {triple.tail}".lower() for w in words)
        ]
        clause = "(' ' || heads.text || ' ' || tails.text LIKE ? ESCAPE '\\')"
        given = (re.sub(r"[\\%_]", r"\\\g<0>", word) for word in words)
        stored = self._triples(
            f" WHERE {' AND '.join([clause] * len(words))} LIMIT ?",
            *(f"% {word}%" for word in given),
            count + len(own),
        )
        return _own_first(own, stored, count)

    def exact(self, text: str, count: int) -> list[Triple]:
        """Return triples whose head or tail is exactly this text in any case, own ones first."""
        wanted = text.strip().lower()
        own = [
            triple for triple in self.own if wanted in (triple.head.lower(), triple.tail.lower())
        ]
        stored = self._triples(
            " WHERE head IN (SELECT id FROM heads WHERE text = ?1 COLLATE NOCASE)"
            " OR tail IN (SELECT id FROM tails WHERE text = ?1 COLLATE NOCASE) LIMIT ?2",
            text.strip(),
            count + len(own),
        )
        return _own_first(own, stored, count)

    def counts(self) -> dict[str, int]:
        """Return the number of triples of each relation."""
        return self._counted("relation")

    def origins(self) -> dict[str, int]:
        """Return the number of triples of each source."""
        return self._counted("source")

    @cached_property
    def _rows(self) -> Array:
        """Coordinates of the heads in steps, shape ``(heads, kept)``."""
        return self._heads.astype(np.float32)

    def _count(self, table: str) -> int:
        (count,) = self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(count)

    def _counted(self, column: str) -> dict[str, int]:
        rows = self._connection.execute(
            f"SELECT {column}s.name, count(*) FROM triples"
            f" JOIN {column}s ON {column}s.id = {column} GROUP BY {column} ORDER BY {column}"
        )
        return dict(Counter(dict(rows)) + Counter(getattr(triple, column) for triple in self.own))

    def _triples(self, rest: str, *given: object) -> list[Triple]:
        rows = self._connection.execute(TRIPLES + rest, given)
        return [Triple(head, name, tail, source=source) for head, name, tail, source in rows]

    def _stored_tails(self, head: str, relation: str, count: int | None = None) -> list[Triple]:
        return self._triples(
            " WHERE head IN (SELECT id FROM heads WHERE text = ? COLLATE NOCASE)"
            " AND relation = ? ORDER BY head, tail LIMIT ?",
            head.strip(),
            self._known_relation(relation),
            -1 if count is None else count,
        )

    def _known_relation(self, relation: str) -> int | None:
        _ = self.schema[relation]
        return self._relations.get(relation)

    def _head(self, number: int) -> str:
        query = "SELECT text FROM heads WHERE id = ?"
        (text,) = self._connection.execute(query, (number,)).fetchone()
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
        raise ModelFolderError(f"{path}: not a store of triples: {error}") from error
    # A view or a computed column would be run when it is read, and might never end.
    for kind, sql in defined:
        if kind not in ("table", "index") or re.search(r"\bVIRTUAL\b|\bAS\b", sql, re.I):
            connection.close()
            raise ModelFolderError(f"{path}: not a store of triples: it defines more than tables")
    return connection


def _key(triple: Triple) -> tuple[str, str]:
    return triple.head.lower(), triple.relation


def _own_first(own: Sequence[Triple], stored: Sequence[Triple], count: int) -> list[Triple]:
    merged = {(*_key(triple), triple.tail): triple for triple in chain(stored, reversed(own))}
    order = dict.fromkeys((*_key(triple), triple.tail) for triple in chain(own, stored))
    return [merged[key] for key in order][:count]


def _merged(stored: list[NearHead], own: list[NearHead], count: int) -> list[NearHead]:
    least = stored[-1].similarity if len(stored) == count else -1.0
    merged = {near.head.lower(): near for near in stored}
    for near in own:
        if near.similarity >= least:
            merged.setdefault(near.head.lower(), near)
    return sorted(merged.values(), key=lambda near: -near.similarity)


def nearest_rows(
    rows: Array, among: NDArray[np.int64], queries: Sequence[Vector], count: int, scale: float
) -> list[list[tuple[int, float]]]:
    """Return for each query the numbers and similarities of the nearest rows, the nearest first.

    A similarity is the inner product times ``scale``. Equal ones are in the order of the rows. The
    bits of a result depend on its query and the rows alone.
    """
    nearest: list[list[tuple[int, float]]] = []
    for start in range(0, len(queries), QUERIES):
        block = queries[start : start + QUERIES]
        # All rows, also those not in ``among``: to copy these out takes longer than the product.
        with single_threaded():
            products = np.stack(block) @ rows.T
        for query, row in zip(block, products, strict=True):
            # BLAS rounds a product by its place among the others, so it only picks; the picked rows
            # are multiplied again, each by itself.
            picked = among[largest(row[among], 2 * count + SPARE)]
            exact = (rows[picked] * query).sum(axis=1, dtype=np.float64)
            exact *= -scale
            best = sorted(zip(exact.tolist(), picked.tolist(), strict=True))
            nearest.append([(number, -value) for value, number in best[:count]])
    return nearest


def largest(row: Array, count: int) -> list[int]:
    """Return the places of the largest values, the largest first, the earlier of equal ones."""
    if count >= len(row):
        return [int(i) for i in np.argsort(-row, kind="stable")]
    least = np.partition(row, len(row) - count)[len(row) - count]
    places = np.flatnonzero(row >= least)
    return [int(i) for i in places[np.argsort(-row[places], kind="stable")][:count]]


def encoded(texts: Iterable[str], encoder: Encoder) -> dict[str, Vector]:
    """Return the vector of each distinct text."""
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, encoder.encode(distinct), strict=True)) if distinct else {}


class StoredKnowledge:
    """A knowledge base of known triples, searched with an encoder."""

    def __init__(self, store: TripleStore, encoder: Encoder) -> None:
        self.store = store
        self.identity = f"{store.identity}/{encoder.identity}"
        self._encoder = encoder

    def with_triples(self, own: Iterable[Triple], identity: str) -> StoredKnowledge:
        """Return knowledge with more triples of your own."""
        return StoredKnowledge(self.store.with_triples(own, identity), self._encoder)

    def tails(
        self, heads: Sequence[str], relations: Sequence[str], k: int
    ) -> list[list[KnownTail]]:
        """Return the tails of the known heads nearest to each head, the nearest head's first."""
        if len(heads) != len(relations):
            raise InputError(f"{len(heads)} heads and {len(relations)} relations: as many needed")
        if not all(head.strip() for head in heads):
            raise InputError("empty head: give an event, such as 'PersonX bakes a cake'")
        if k < 1:
            raise InputError(f"{k} tails: at least one is needed")
        given = []
        near = self._near_heads(heads, relations, self._encoder, k)
        for nearest, relation in zip(near, relations, strict=True):
            tails: dict[str, KnownTail] = {}
            for tail in self._known_tails(nearest, relation, k):
                if len(tails) >= k:
                    break
                tails.setdefault(tail.tail, tail)
            given.append(list(tails.values()))
        return given

    def plausibility(self, triples: Sequence[Triple]) -> list[float]:
        """Return the largest cosine of each tail with the known tails of similar heads, at least 0.

        The compatibility test of ACCENT (Ghazarian et al. 2023) with known in place of generated
        tails.
        """
        heads, relations = [t.head for t in triples], [t.relation for t in triples]
        known = self._compared(triples, self.tails(heads, relations, TAILS), self._encoder)
        return [min(1.0, max([0.0, *(t.tail_similarity for t in tails)])) for tails in known]

    def best_known(
        self, triples: Sequence[Triple], *, encoder: Encoder | None = None, tails: int = 2
    ) -> list[KnownTail | None]:
        """Return for each triple the known tail most similar to its tail, under similar heads.

        None for a relation without known triples. ``tails`` is the number of stored tails compared
        per head; own ones are added.
        """
        encoder = encoder or self._encoder
        heads, relations = [t.head for t in triples], [t.relation for t in triples]
        near = self._near_heads(heads, relations, encoder, HEADS)
        known = [
            list(self._known_tails(nearest, relation, tails))
            for nearest, relation in zip(near, relations, strict=True)
        ]
        return [
            max(each, key=lambda tail: (tail.tail_similarity, tail.head_similarity), default=None)
            for each in self._compared(triples, known, encoder)
        ]

    def nearest_tails(self, triple: Triple, k: int) -> list[KnownTail]:
        """Return the known tails most similar to that of a triple, under similar heads."""
        known = self.tails([triple.head], [triple.relation], max(k, WIDE))
        (tails,) = self._compared([triple], known, self._encoder)
        return sorted(tails, key=lambda tail: -tail.tail_similarity)[:k]

    def nearest(self, events: Sequence[str], count: int) -> list[list[NearHead]]:
        """Return for each event the nearest known heads, the nearest first."""
        texts = [head_text(event) for event in events]
        return self.store.nearest_heads(texts, count, encoder=self._encoder)

    def _near_heads(
        self, heads: Sequence[str], relations: Sequence[str], encoder: Encoder, count: int
    ) -> list[list[NearHead]]:
        near: list[list[NearHead]] = [[] for _ in heads]
        for relation in dict.fromkeys(relations):
            asked = [i for i, name in enumerate(relations) if name == relation]
            texts = [head_text(heads[i]) for i in asked]
            found = self.store.nearest_heads(texts, count, encoder=encoder, relation=relation)
            for i, nearest in zip(asked, found, strict=True):
                near[i] = nearest
        return near

    def _known_tails(
        self, near: Sequence[NearHead], relation: str, count: int
    ) -> Iterator[KnownTail]:
        for head in near:
            for triple in self.store.tails_of(head.head, relation, count):
                yield KnownTail(triple.head, triple.tail, head.similarity, 0.0, triple.source)

    def _compared(
        self, triples: Sequence[Triple], known: Sequence[Sequence[KnownTail]], encoder: Encoder
    ) -> list[list[KnownTail]]:
        """Return known tails with their similarity to the tail of each triple."""
        relations = [self.store.schema[triple.relation] for triple in triples]
        texts = [tail_text(t.tail, r) for t, r in zip(triples, relations, strict=True)]
        others = [
            [tail_text(tail.tail, relation) for tail in tails]
            for tails, relation in zip(known, relations, strict=True)
        ]
        vectors = encoded(chain(texts, *others), encoder)
        return [
            [
                msgspec.structs.replace(
                    tail, tail_similarity=unit_dot(vectors[text], vectors[other])
                )
                for tail, other in zip(tails, worded, strict=True)
            ]
            for text, tails, worded in zip(texts, known, others, strict=True)
        ]


@model_type("knowledge", task="knowledge", protocol=KnowledgeBase, settings=NoSettings)
def knowledge(folder: ModelFolder, _: NoSettings, loader: ModelLoader) -> StoredKnowledge:
    """Open known triples with their encoder."""
    return StoredKnowledge(TripleStore(folder), loader.encoder_of(folder, Encoder))
