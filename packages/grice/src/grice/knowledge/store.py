"""Known triples: a read-only SQLite file, triples of your own, and the heads nearest to an event.

The folder of a store holds ``triples.sqlite``, ``having.npy`` (which heads have a tail under which
relation) and ``heads.npy``: the encoder's vector of each head's worded text, projected on the main
axes (``axes.npz``), in int8. Triples of your own (``file:MY.tsv``) are merged with them.
"""

from __future__ import annotations

import copy
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import quote

import msgspec
import numpy as np

from grice.data import KnownTail, Triple
from grice.errors import InputError, ModelFolderError, RecordError, os_reason
from grice.knowledge.opposition import stance
from grice.knowledge.schema import Schema, head_text, load_schema, tail_text
from grice.models.folder import ModelFolder
from grice.models.loader import ModelLoader, Settings, model_type, read_settings
from grice.models.mlp import single_threaded
from grice.models.protocols import Encoder, Vector, encode_distinct
from grice.numeric import unit_dot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grice.numeric import Array

QUERIES = 64  # queries compared at once
SPARE = 8  # heads compared beyond those wanted, so that rounding cannot keep a nearest one out
HEADS, EACH = 1, 1
"""Nearest heads looked at for a triple, and stored tails of each; a second one gains at most 0.002
of the area on the development part of CSKB Population, and costs as much again."""
TAILS = 10  # tails a triple is compared with, as many as ACCENT has COMET write
SAME, SAME_HEADS = 0.9, 5  # least similarity of heads that are nearly the same, and most of them
KIN = (
    ("xEffect", "xReact", "xIntent", "xWant", "HasSubEvent"),
    ("oEffect", "oReact", "oWant"),
)
"""Relations whose tails may contradict each other: those of what one wants and what follows."""
WIDE = 200  # tails of similar heads among which the nearest to a tail are searched

TRIPLES = (
    "SELECT heads.text, relations.name, tails.text, sources.name FROM triples"
    " JOIN heads ON heads.id = head JOIN tails ON tails.id = tail"
    " JOIN relations ON relations.id = relation JOIN sources ON sources.id = source"
)

COLUMNS = ("head", "relation", "tail", "source")
MAX_LENGTH = 1000  # characters of a head or tail; a longer one is a text in the wrong column


class KnowledgeBase(Protocol):
    """Tails that follow from a head under a relation, stored or generated."""

    identity: str  # content and arithmetic; equal identities give equal answers

    def tails(
        self, heads: Sequence[str], relations: Sequence[str], k: int
    ) -> list[list[KnownTail]]:
        """Return for each head and relation at most ``k`` different tails, the best first.

        ``head_similarity`` is the cosine of the known head with the one asked for, 1 for a
        generated tail; ``tail_similarity`` is 0. An unknown relation raises InputError.
        """

    def plausibility(self, triples: Sequence[Triple]) -> list[float]:
        """Return how well each triple agrees with what is known, 0 (nothing known) to 1."""


class NearHead(NamedTuple):
    """A head in the knowledge base and its cosine with an event, -1 to 1."""

    head: str
    similarity: float


class Axes(NamedTuple):
    """Projection of vectors on orthonormal columns, shape ``(dimensions, kept)``.

    It is not centred: the inner product is to be kept. ``scale`` is the size of a step of int8.
    """

    axes: Array
    scale: float

    def shorten(self, vectors: Array) -> Array:
        """Return coordinates of shape ``(n, kept)``, or ``(kept,)`` for one vector."""
        return np.asarray(vectors @ self.axes, np.float32)


class StoreSettings(Settings, frozen=True):
    """Settings of type ``knowledge``: the schema of its relations."""

    schema: str


class StoredKnowledge:
    """A :class:`KnowledgeBase` of known triples of one schema, searched with an encoder.

    Own heads count where they are at least as near as the last of the nearest stored heads, and
    are added to these, so that own triples change results for similar heads only.
    """

    def __init__(self, folder: ModelFolder, encoder: Encoder) -> None:
        self.triples_identity = folder.identity
        self.identity = f"{folder.identity}/{encoder.identity}"
        self.schema: Schema = load_schema(read_settings(folder, StoreSettings).schema)
        self._encoder = encoder
        self.own: tuple[Triple, ...] = ()
        self._own_tails: dict[tuple[str, str], list[Triple]] = {}
        self._own_vectors: Array | None = None
        self._connection = _read_only(folder.file("triples.sqlite"))
        self._relations = dict(self._connection.execute("SELECT name, id FROM relations"))
        self._heads: NDArray[np.int8] = np.load(folder.file("heads.npy"), mmap_mode="r")
        with np.load(folder.file("axes.npz"), allow_pickle=False) as stored:
            self._axes = Axes(stored["axes"].astype(np.float32), float(stored["scale"]))
        self._having: NDArray[np.bool_] = np.load(folder.file("having.npy"), mmap_mode="r")
        shapes = {
            "having.npy": (self._having.shape, len(self._relations)),
            "heads.npy": (self._heads.shape, self._axes.axes.shape[1]),
        }
        for name, (shape, width) in shapes.items():
            if shape != (needed := (self._count("heads"), width)):
                raise ModelFolderError(
                    f"model {folder.card.name!r}: {name} has the shape {shape}, {needed} is needed "
                    "beside triples.sqlite"
                )

    def with_triples(self, own: Iterable[Triple], identity: str) -> StoredKnowledge:
        """Return knowledge with more triples of your own."""
        more = copy.copy(self)
        more.triples_identity = f"{identity}+{self.triples_identity}"
        more.identity = f"{identity}+{self.identity}"
        more.own = (*own, *self.own)
        more._own_vectors, more._own_tails = None, {}
        for triple in more.own:
            more._own_tails.setdefault(_key(triple), []).append(triple)
        return more

    def __len__(self) -> int:
        """Return the number of triples, each once."""
        new = [
            own for own in self.own if own.tail not in {t.tail for t in self._stored(*_key(own))}
        ]
        return self._count("triples") + len(new)

    def counts(self, column: str) -> dict[str, int]:
        """Return the number of triples of each ``relation`` or ``source``."""
        rows = self._connection.execute(
            f"SELECT {column}s.name, count(*) FROM triples"
            f" JOIN {column}s ON {column}s.id = {column} GROUP BY {column} ORDER BY {column}"
        )
        return dict(Counter(dict(rows)) + Counter(getattr(triple, column) for triple in self.own))

    def find(self, words: Sequence[str], count: int) -> list[Triple]:
        """Return triples that hold words beginning with each of the given ones, own ones first."""
        own = [
            triple
            for triple in self.own
            if all(f" {w.lower()}" in f" {triple.head} {triple.tail}".lower() for w in words)
        ]
        clause = "(' ' || heads.text || ' ' || tails.text LIKE ? ESCAPE '\\')"
        given = (re.sub(r"[\\%_]", r"\\\g<0>", word) for word in words)
        where = f"WHERE {' AND '.join([clause] * len(words))}"
        return self._own_first(own, where, *(f"% {word}%" for word in given), count=count)

    def exact(self, text: str, count: int) -> list[Triple]:
        """Return triples whose head or tail is exactly this text in any case, own ones first."""
        text = text.strip()
        own = [each for each in self.own if text.lower() in (each.head.lower(), each.tail.lower())]
        where = (
            "WHERE head IN (SELECT id FROM heads WHERE text = ?1 COLLATE NOCASE)"
            " OR tail IN (SELECT id FROM tails WHERE text = ?1 COLLATE NOCASE)"
        )
        return self._own_first(own, where, text, count=count)

    def _own_first(
        self, own: Sequence[Triple], where: str, *given: str, count: int
    ) -> list[Triple]:
        stored = self._triples(f"{where} LIMIT {count + len(own)}", *given)
        distinct: dict[tuple[str, ...], Triple] = {}
        for triple in (*own, *stored):
            distinct.setdefault((*_key(triple), triple.tail), triple)
        return list(distinct.values())[:count]

    def tails_of(self, head: str, relation: str, count: int = -1) -> list[Triple]:
        """Return all own triples of a head and relation, then the first ``count`` stored ones."""
        own = self._own_tails.get((head.strip().lower(), relation), [])
        known = {triple.tail for triple in own}
        return own + [t for t in self._stored(head, relation, count) if t.tail not in known]

    def tails(
        self, heads: Sequence[str], relations: Sequence[str], k: int
    ) -> list[list[KnownTail]]:
        """Return the tails of the known heads nearest to each head, the nearest head's first."""
        if not all(head.strip() for head in heads):
            raise InputError("empty head: give an event, such as 'PersonX bakes a cake'")
        known = self._known_tails(heads, relations, k, k)
        return [list(islice(each, k)) for each in known]

    def plausibility(self, triples: Sequence[Triple]) -> list[float]:
        """Return the largest cosine of each tail with the known tails of similar heads, at least 0.

        The compatibility test of ACCENT (Ghazarian et al. 2023) with known in place of generated
        tails.
        """
        heads, relations = [t.head for t in triples], [t.relation for t in triples]
        known = self._compared(triples, self.tails(heads, relations, TAILS))
        return [min(1.0, max([0.0, *(t.tail_similarity for t in tails)])) for tails in known]

    def best_known(self, triples: Sequence[Triple]) -> list[KnownTail | None]:
        """Return for each triple the known tail most similar to its tail, under similar heads.

        None for a relation without known triples.
        """
        heads, relations = [t.head for t in triples], [t.relation for t in triples]
        known = self._known_tails(heads, relations, HEADS, EACH)
        return [
            max(each, key=lambda tail: (tail.tail_similarity, tail.head_similarity), default=None)
            for each in self._compared(triples, [list(each) for each in known])
        ]

    def opposing(self, triples: Sequence[Triple]) -> list[KnownTail | None]:
        """Return for each triple a known tail of nearly the same head that says the opposite.

        None unless more tails of such heads say the opposite than say the same.
        """
        near = self.nearest(list(dict.fromkeys(triple.head for triple in triples)), SAME_HEADS)
        heads = dict(zip(dict.fromkeys(triple.head for triple in triples), near, strict=True))
        found: list[KnownTail | None] = []
        for triple in triples:
            relations = next((kin for kin in KIN if triple.relation in kin), (triple.relation,))
            known = [
                KnownTail(each.head, each.tail, head.similarity, 0.0, each.source, opposes=True)
                for head in heads[triple.head]
                if head.similarity >= SAME
                for relation in relations
                for each in self.tails_of(head.head, relation)
            ]
            stances = [stance(triple.tail, each.tail) for each in known]
            found.append(known[stances.index(-1)] if sum(stances) < 0 else None)
        against = [
            (triple, tail) for triple, tail in zip(triples, found, strict=True) if tail is not None
        ]
        given, tails = [triple for triple, _ in against], [[tail] for _, tail in against]
        compared = iter(self._compared(given, tails))
        return [tail and next(compared)[0] for tail in found]

    def nearest_tails(self, triple: Triple, k: int) -> list[KnownTail]:
        """Return the known tails most similar to that of a triple, under similar heads."""
        known = self.tails([triple.head], [triple.relation], max(k, WIDE))
        (tails,) = self._compared([triple], known)
        return sorted(tails, key=lambda tail: -tail.tail_similarity)[:k]

    def nearest(self, events: Sequence[str], count: int) -> list[list[NearHead]]:
        """Return for each event the nearest known heads, the nearest first."""
        return self._nearest_heads([head_text(event) for event in events], count)

    def _nearest_heads(
        self, texts: Sequence[str], count: int, relation: str | None = None
    ) -> list[list[NearHead]]:
        """Return for each worded event the nearest known heads, own ones where near enough.

        Similarities of stored heads are those of the short vectors, within a few hundredths of the
        cosine. With a relation only heads that have a tail under it are compared.
        """
        by_text = encode_distinct(self._encoder, texts)
        vectors = [by_text[text] for text in texts]
        among = np.arange(len(self._heads))
        if relation is not None:
            number = self._relation_id(relation)
            among = among[:0] if number is None else np.flatnonzero(self._having[:, number])
        short = [self._axes.shorten(vector) for vector in vectors]
        stored = [
            [NearHead(self._head(row), similarity) for row, similarity in rows]
            for rows in nearest_rows(self._rows, among, short, count, self._axes.scale)
        ]
        heads = list(dict.fromkeys(triple.head for triple in self.own))
        matching = [
            row
            for row, head in enumerate(heads)
            if relation is None or (head.lower(), relation) in self._own_tails
        ]
        if not matching or not texts:
            return stored
        if self._own_vectors is None:
            made = np.stack(self._encoder.encode([head_text(head) for head in heads]))
            self._own_vectors = made.astype(np.float16).astype(np.float32)
        nearest_own = nearest_rows(self._own_vectors, np.array(matching), vectors, count, 1.0)
        merged = []
        for near, own in zip(stored, nearest_own, strict=True):
            least = near[-1].similarity if len(near) == count else -1.0
            each = {head.head.lower(): head for head in near}
            for row, similarity in own:
                if similarity >= least:
                    each.setdefault(heads[row].lower(), NearHead(heads[row], similarity))
            merged.append(sorted(each.values(), key=lambda head: -head.similarity))
        return merged

    def _known_tails(
        self, heads: Sequence[str], relations: Sequence[str], heads_each: int, tails_each: int
    ) -> list[Iterator[KnownTail]]:
        """Return different tails of the heads nearest to each head, one search per relation."""
        near: dict[tuple[str, str], list[NearHead]] = {}
        for asked in dict.fromkeys(relations):
            given = [h for h, relation in zip(heads, relations, strict=True) if relation == asked]
            found = self._nearest_heads(list(map(head_text, given)), heads_each, asked)
            near |= {(head, asked): nearest for head, nearest in zip(given, found, strict=True)}

        def tails(nearest: Sequence[NearHead], relation: str) -> Iterator[KnownTail]:
            seen: set[str] = set()
            for head in nearest:
                for triple in self.tails_of(head.head, relation, tails_each):
                    if triple.tail not in seen:
                        seen.add(triple.tail)
                        similarity = head.similarity
                        yield KnownTail(triple.head, triple.tail, similarity, 0.0, triple.source)

        return [tails(near[key], key[1]) for key in zip(heads, relations, strict=True)]

    def _compared(
        self, triples: Sequence[Triple], known: Sequence[Sequence[KnownTail]]
    ) -> list[list[KnownTail]]:
        """Return known tails with their similarity to the tail of each triple."""
        relations = [self.schema[triple.relation] for triple in triples]
        texts = [tail_text(t.tail, r) for t, r in zip(triples, relations, strict=True)]
        others = [
            [tail_text(tail.tail, relation) for tail in tails]
            for tails, relation in zip(known, relations, strict=True)
        ]
        vectors = encode_distinct(self._encoder, chain(texts, *others))
        return [
            [
                msgspec.structs.replace(
                    tail, tail_similarity=unit_dot(vectors[text], vectors[other])
                )
                for tail, other in zip(tails, worded, strict=True)
            ]
            for text, tails, worded in zip(texts, known, others, strict=True)
        ]

    @cached_property
    def _rows(self) -> Array:
        """Coordinates of the heads in steps, shape ``(heads, kept)``."""
        return self._heads.astype(np.float32)

    def _count(self, table: str) -> int:
        (count,) = self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(count)

    def _triples(self, rest: str, *given: object) -> list[Triple]:
        rows = self._connection.execute(f"{TRIPLES} {rest}", given)
        return [Triple(head, name, tail, source=source) for head, name, tail, source in rows]

    def _stored(self, head: str, relation: str, count: int = -1) -> list[Triple]:
        return self._triples(
            "WHERE head IN (SELECT id FROM heads WHERE text = ? COLLATE NOCASE)"
            " AND relation = ? ORDER BY head, tail LIMIT ?",
            *(head.strip(), self._relation_id(relation), count),
        )

    def _relation_id(self, relation: str) -> int | None:
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
            near = row[among]
            last = len(near) - min(len(near), 2 * count + SPARE)
            picked = among[near >= np.partition(near, last)[last]] if len(near) else among
            exact = (rows[picked] * query).sum(axis=1, dtype=np.float64)
            exact *= -scale
            best = sorted(zip(exact.tolist(), picked.tolist(), strict=True))
            nearest.append([(number, -value) for value, number in best[:count]])
    return nearest


@model_type("knowledge", task="knowledge", settings=Settings)
def knowledge(folder: ModelFolder, _: Settings, loader: ModelLoader) -> StoredKnowledge:
    """Open known triples with their encoder."""
    return StoredKnowledge(folder, loader.encoder_of(folder, Encoder))


@model_type("own-triples", task="knowledge", settings=Settings)
def own_triples(folder: ModelFolder, _: Settings, loader: ModelLoader) -> StoredKnowledge:
    """Open triples of your own, merged with the shipped ones."""
    reference = str(folder.card.settings["base"])
    base = loader.dependency(folder, reference, StoredKnowledge, "knowledge")
    (name,) = folder.card.files
    triples = read_triples(folder.path / name, base.schema)
    return base.with_triples(triples, folder.identity)


def read_triples(path: Path, schema: Schema) -> list[Triple]:
    """Return the triples of a table with tabs, or of JSON lines, each once.

    A table has the columns head, relation, tail and perhaps source, in the order of its first
    line if that names them. A triple without a source has the name of the file.
    """
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise ModelFolderError(f"{path}: cannot be read: {os_reason(error)}") from error
    except UnicodeDecodeError as error:
        raise ModelFolderError(f"{path}: not UTF-8 at byte {error.start}") from error
    triples: dict[tuple[str, str, str], Triple] = {}
    names: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if path.suffix == ".tsv" and not names:
            header = [cell.strip().lower() for cell in cells]
            if set(COLUMNS[:3]) <= set(header):
                names = header
                continue
            names = list(COLUMNS)
        try:
            row = json.loads(line) if path.suffix == ".jsonl" else dict(zip(names, cells))  # noqa: B905
            triple = _triple(row, schema, path.name)
        except json.JSONDecodeError as error:
            raise RecordError(f"no JSON: {error}", file=str(path), line=number) from error
        except InputError as error:
            raise RecordError(str(error), file=str(path), line=number) from error
        triples.setdefault((triple.head, triple.relation, triple.tail), triple)
    return list(triples.values())


def _triple(row: object, schema: Schema, source: str) -> Triple:
    """Return the triple of a row; InputError states its first problem."""
    if not isinstance(row, dict):
        raise InputError("a JSON object is needed")
    missing = [name for name in COLUMNS[:3] if not isinstance(row.get(name), str)]
    if missing:
        listed = " and no ".join(missing)
        raise InputError(f"no {listed}: texts head, relation and tail are needed")
    head, relation, tail = (" ".join(row[name].split()) for name in COLUMNS[:3])
    stated = str(row.get("source") or "").strip() or source
    triple = schema.renamed(Triple(head, relation, tail, source=stated))
    _ = schema[triple.relation]  # raises InputError for an unknown one
    for name, text in (("head", triple.head), ("tail", triple.tail)):
        if not 1 <= len(text) <= MAX_LENGTH:
            raise InputError(f"{name} of {len(text):,} characters; 1 to {MAX_LENGTH:,} are allowed")
    return triple
