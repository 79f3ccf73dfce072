"""Looking things up in known triples, wherever they lie: nearest heads, tails, best matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec
import numpy as np

from grice.errors import InputError
from grice.knowledge.wording import head_text, tail_text
from grice.models.products import single_threaded
from grice.numeric import unit_cosine, unit_dot
from grice.records import KnownTail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.knowledge.generative import Likelihood
    from grice.knowledge.schema import Schema
    from grice.models.protocols import Encoder, Vector
    from grice.records import KnownTail, Triple

    Array: TypeAlias = NDArray[np.float32]


@runtime_checkable
class KnowledgeBase(Protocol):
    """Knows which tails follow from a head under a relation."""

    identity: str
    """Names the content and the arithmetic; equal identities give equal answers."""

    def tails(
        self, heads: Sequence[str], relations: Sequence[str], k: int
    ) -> list[list[KnownTail]]:
        """Return for each head and relation at most ``k`` different tails, the best first.

        Args:
            heads: Events, such as ``PersonX bakes a cake``.

        Returns:
            Known tails. ``head`` is the head the tail was found under and ``head_similarity`` its
            likeness to the head asked for, 1 where the tail was written for exactly that head;
            ``tail_similarity`` is 0, for nothing was said yet that the tail could be like;
            ``source`` says where the tail comes from. Nothing known gives an empty list.

        Raises:
            InputError: For a relation the schema does not have (with the nearest name), a head
                without a word, or heads and relations of different number.
        """
        ...

    def plausibility(self, triples: Sequence[Triple]) -> list[float]:
        """Return how well each triple agrees with what is known, 0 to 1.

        Spans and sources are not read. A triple about which nothing is known gives 0.

        Raises:
            InputError: For a relation the schema does not have.
        """
        ...


@runtime_checkable
class TailProbabilities(Protocol):
    """Knows how probable a tail is: a knowledge base that generates tails."""

    def likelihoods(self, triples: Sequence[Triple]) -> list[Likelihood | None]:
        """Return how probable each tail is; None for a triple without a head or a tail.

        Raises:
            InputError: For a relation the schema does not have.
        """
        ...


HEADS = 1
"""Nearest heads that are looked at for a triple. Two do better by 0.002 of the area on the
development part of CSKB Population and no better on DECO train, and cost as much again."""
TAILS = 10
"""Tails a triple is compared with, as many as ACCENT has COMET write."""
WIDE = 200
"""Tails of like heads among which the nearest to a tail are sought."""
QUERIES = 64
"""Queries compared at once."""
ROWS = 16384
"""Rows compared at once."""
SPARE = 8
"""Rows looked at beyond those wanted, so that rounding cannot keep a nearest one out."""


class NearHead(NamedTuple):
    """A known head and its cosine with the event that was asked for, -1 to 1."""

    head: str
    similarity: float


class TripleStore(Protocol):
    """Known triples that can be looked up."""

    identity: str
    schema: Schema

    def __len__(self) -> int:
        """Return the number of triples."""
        ...

    def nearest_heads(
        self, texts: Sequence[str], count: int, *, encoder: Encoder, relation: str | None = None
    ) -> list[list[NearHead]]:
        """Return for each text, worded as the encoder reads heads, the known heads nearest to it.

        Args:
            texts: See :func:`grice.knowledge.wording.head_text`.
            relation: Look only at heads that have a tail under it.
        """
        ...

    def tails_of(self, head: str, relation: str, count: int | None = None) -> list[Triple]:
        """Return triples of exactly this head and relation, those to look at first before others.

        Args:
            head: Upper and lower case are the same.
            relation: Name of a relation of the schema.
            count: How many are wanted; what was added by hand comes on top. None means all.
        """
        ...

    def find(self, words: Sequence[str], count: int) -> list[Triple]:
        """Return at most ``count`` triples in which each of the words stands."""
        ...

    def exact(self, text: str, count: int) -> list[Triple]:
        """Return at most ``count`` triples whose head or tail is exactly this text, in any case."""
        ...

    def counts(self) -> dict[str, int]:
        """Return how many triples each relation has."""
        ...

    def origins(self) -> dict[str, int]:
        """Return how many triples come from each source."""
        ...


class StoredKnowledge:
    """Known triples with an encoder: a :class:`~grice.knowledge.lookup.KnowledgeBase`."""

    def __init__(self, store: TripleStore, encoder: Encoder) -> None:
        self.store = store
        self.identity = f"{store.identity}/{encoder.identity}"
        self._encoder = encoder

    @property
    def schema(self) -> Schema:
        """The inventory of the relations."""
        return self.store.schema

    def over(self, store: TripleStore) -> StoredKnowledge:
        """Return other triples with the same encoder."""
        return StoredKnowledge(store, self._encoder)

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
        near = _near_heads(self.store, heads, relations, self._encoder, count=k)
        return [
            _first_tails(self.store, nearest, relation, k)
            for nearest, relation in zip(near, relations, strict=True)
        ]

    def plausibility(self, triples: Sequence[Triple]) -> list[float]:
        """Return the largest cosine of each tail with the known tails of like heads, at least 0.

        The compatibility test of ACCENT (Ghazarian et al. 2023) with known in place of generated
        tails.
        """
        known = self.tails(
            [triple.head for triple in triples], [triple.relation for triple in triples], TAILS
        )
        texts = [_tail_words(self.schema, triple.tail, triple.relation) for triple in triples]
        others = [
            [_tail_words(self.schema, tail.tail, triple.relation) for tail in tails]
            for triple, tails in zip(triples, known, strict=True)
        ]
        vectors = encoded([*texts, *(text for each in others for text in each)], self._encoder)
        return [
            max([0.0, *(unit_cosine(vectors[text], vectors[other]) for other in each)])
            for text, each in zip(texts, others, strict=True)
        ]

    def best_known(
        self,
        triples: Sequence[Triple],
        *,
        encoder: Encoder | None = None,
        heads: int = HEADS,
        tails: int = 2,
    ) -> list[KnownTail | None]:
        """Return for each triple the known tail most like its tail; see :func:`best_known`."""
        own = self._encoder if encoder is None else encoder
        return best_known(self.store, triples, encoder=own, heads=heads, tails=tails)

    def nearest_tails(self, triple: Triple, k: int) -> list[KnownTail]:
        """Return the known tails most like a triple's, under heads like its head."""
        (known,) = self.tails([triple.head], [triple.relation], max(k, WIDE))
        words = [_tail_words(self.schema, tail.tail, triple.relation) for tail in known]
        asked = _tail_words(self.schema, triple.tail, triple.relation)
        vectors = encoded([asked, *words], self._encoder)
        tails = [
            msgspec.structs.replace(tail, tail_similarity=unit_dot(vectors[asked], vectors[text]))
            for tail, text in zip(known, words, strict=True)
        ]
        return sorted(tails, key=lambda tail: -tail.tail_similarity)[:k]

    def nearest(self, events: Sequence[str], count: int) -> list[list[NearHead]]:
        """Return for each event the known heads nearest to it, the nearest first."""
        return self.store.nearest_heads(
            [head_text(event) for event in events], count, encoder=self._encoder
        )


def best_known(
    store: TripleStore, triples: Sequence[Triple], *, encoder: Encoder, heads: int, tails: int
) -> list[KnownTail | None]:
    """Return for each triple the known tail most like its tail, under heads like its head.

    Args:
        triples: What was said. Only heads that have tails under its relation are looked at.
        tails: How many tails of each of them; those added by hand come on top.

    Returns:
        None for a relation of which nothing is known.
    """
    near = _near_heads(
        store, [t.head for t in triples], [t.relation for t in triples], encoder, count=heads
    )
    known = [
        [
            (head.similarity, triple)
            for head in nearest
            for triple in store.tails_of(head.head, asked.relation, tails)
        ]
        for asked, nearest in zip(triples, near, strict=True)
    ]
    texts = [_tail_words(store.schema, triple.tail, triple.relation) for triple in triples]
    wording = [
        [_tail_words(store.schema, triple.tail, triple.relation) for _, triple in each]
        for each in known
    ]
    vectors = encoded([*texts, *(text for each in wording for text in each)], encoder)
    return [
        _best(each, [unit_dot(vectors[text], vectors[other]) for other in others])
        for each, text, others in zip(known, texts, wording, strict=True)
    ]


def _near_heads(
    store: TripleStore,
    heads: Sequence[str],
    relations: Sequence[str],
    encoder: Encoder,
    *,
    count: int,
) -> list[list[NearHead]]:
    near: list[list[NearHead]] = [[] for _ in heads]
    for relation in dict.fromkeys(relations):
        asked = [i for i, name in enumerate(relations) if name == relation]
        texts = [head_text(heads[i]) for i in asked]
        nearest_each = store.nearest_heads(texts, count, encoder=encoder, relation=relation)
        for i, nearest in zip(asked, nearest_each, strict=True):
            near[i] = nearest
    return near


def _first_tails(
    store: TripleStore, near: Sequence[NearHead], relation: str, k: int
) -> list[KnownTail]:
    tails: dict[str, KnownTail] = {}
    for head in near:
        for triple in store.tails_of(head.head, relation, k):
            known = KnownTail(triple.head, triple.tail, head.similarity, 0.0, triple.source)
            tails.setdefault(triple.tail, known)
        if len(tails) >= k:
            break
    return list(tails.values())[:k]


def _tail_words(schema: Schema, tail: str, relation: str) -> str:
    return tail_text(tail, schema[relation])


def nearest_rows(
    rows: NDArray[np.float16], among: NDArray[np.int64], asked: Sequence[Vector], count: int
) -> list[list[tuple[int, float]]]:
    """Return for each query the rows of largest inner product with it, the largest first.

    Rows are unit vectors, shape ``(n, dimensions)``; those in ``among``, rising, are looked at. The
    bits of an answer depend on the query and the rows alone.
    """
    nearest: list[list[tuple[float, int]]] = [[] for _ in asked]
    for first in range(0, len(among), ROWS):
        places = among[first : first + ROWS]
        block = rows[places].astype(np.float32)
        for start in range(0, len(asked), QUERIES):
            queries = asked[start : start + QUERIES]
            with single_threaded():
                shares = np.stack(queries) @ block.T
            for i, (query, share) in enumerate(zip(queries, shares, strict=True), start):
                # BLAS rounds a product by its place among the others, so it only picks; what is
                # picked is multiplied again, each row by itself.
                picked = largest(share, 2 * count + SPARE)
                exact = (block[picked] * query).sum(axis=1, dtype=np.float64)
                best = zip((-exact).tolist(), places[picked].tolist(), strict=True)
                nearest[i] = sorted([*nearest[i], *best])[:count]
    return [[(number, -value) for value, number in each] for each in nearest]


def encoded(texts: Sequence[str], encoder: Encoder) -> dict[str, Vector]:
    """Return the vector of each distinct text."""
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, encoder.encode(distinct), strict=True)) if distinct else {}


def largest(row: Array, count: int) -> list[int]:
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
