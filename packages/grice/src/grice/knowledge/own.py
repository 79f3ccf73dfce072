"""Triples of your own, read from a table and merged with the shipped ones: ``file:MY.tsv``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grice.errors import BundleError, RecordError, did_you_mean, os_reason
from grice.knowledge.lookup import KnowledgeBase, NearHead, StoredKnowledge, encoded, nearest_rows
from grice.knowledge.wording import head_text
from grice.models.bundle import Bundle, Card, file_sha256, open_bundle
from grice.models.loader import NoSettings, model_type, reference_scheme
from grice.models.protocols import Encoder
from grice.records import Triple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from grice.knowledge.lookup import TripleStore
    from grice.knowledge.schema import Schema
    from grice.models.loader import ModelLoader

BASE = "bundle:atomic"
"""The knowledge that triples of your own are merged with."""
TABLES = (".tsv", ".jsonl")
"""Suffixes of the files that hold triples."""
COLUMNS = ("head", "relation", "tail", "source")
LONGEST = 1000
"""Characters of a head or tail; a longer one is a text in the wrong column."""


@reference_scheme("file")
def own_model(place: str) -> Bundle:
    """Return the model of ``file:FOLDER``, or the triples of ``file:MY.tsv``."""
    path = Path(place)
    if path.suffix == ".kb":
        raise BundleError(
            f"{path}: files of grice kb build are not read any more: write their triples as "
            f"{path.with_suffix('.tsv')}, one a line: head, relation, tail and source"
        )
    if path.suffix not in TABLES or path.is_dir():
        return open_bundle(path)
    if not path.is_file():
        near = [known.name for suffix in TABLES for known in path.parent.glob(f"*{suffix}")]
        raise BundleError(f"{path}: no such file of triples{did_you_mean(path.name, near)}")
    digest = file_sha256(path)
    card = Card(
        path.stem,
        "own-triples",
        "1",
        "Triples of your own.",
        "your own",
        {path.name: digest},
        encoder="encoder",
        settings={"base": BASE},
    )
    return Bundle(path.parent, card, digest[:8])


@model_type("own-triples", task="knowledge", protocol=KnowledgeBase, settings=NoSettings)
def own_triples(bundle: Bundle, _: NoSettings, loader: ModelLoader) -> StoredKnowledge:
    """Open triples of your own, merged with the shipped ones."""
    base = loader.dependency(bundle, BASE, KnowledgeBase, "knowledge")
    assert isinstance(base, StoredKnowledge)
    ((name, _digest),) = bundle.card.files.items()
    triples = read_triples(bundle.folder / name, base.schema)
    merged = MergedStore(triples, base.store, bundle.identity)
    return StoredKnowledge(merged, loader.encoder_of(bundle, Encoder))


def read_triples(path: Path, schema: Schema) -> list[Triple]:
    """Return the triples of a table with tabs, or of JSON lines, each once.

    A table has the columns head, relation, tail and perhaps source, in the order of its first
    line if that names them. A triple without a source has the name of the file.
    """
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {os_reason(error)}") from error
    except UnicodeDecodeError as error:
        raise BundleError(f"{path}: not UTF-8 at byte {error.start}") from error
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    rows = _json_rows(path, numbered) if path.suffix == ".jsonl" else _table_rows(path, numbered)
    triples: dict[tuple[str, str, str], Triple] = {}
    for number, (head, relation, tail, source) in rows:
        texts = (" ".join(head.split()), relation.strip(), " ".join(tail.split()))
        triple = schema.renamed(Triple(*texts, source=source.strip() or path.name))
        problems = [
            *schema.problems(triple),
            *(
                f"{name} of {len(text):,} characters; at most {LONGEST:,} are allowed"
                for name, text in (("head", triple.head), ("tail", triple.tail))
                if len(text) > LONGEST
            ),
        ]
        if problems:
            raise RecordError("; ".join(problems), file=str(path), line=number)
        triples.setdefault((triple.head, triple.relation, triple.tail), triple)
    return list(triples.values())


def _table_rows(
    path: Path, lines: Sequence[tuple[int, str]]
) -> Iterator[tuple[int, tuple[str, str, str, str]]]:
    names = [cell.strip().lower() for cell in lines[0][1].split("\t")] if lines else []
    if set(COLUMNS[:3]) <= set(names):
        lines = lines[1:]
    else:
        names = list(COLUMNS)
    for number, line in lines:
        cells = dict(zip(names, line.split("\t"), strict=False))
        missing = [name for name in COLUMNS[:3] if name not in cells]
        if missing:
            raise RecordError(
                f"no {' and no '.join(missing)}: head, relation and tail are needed, with tabs "
                "between",
                file=str(path),
                line=number,
            )
        yield number, (cells["head"], cells["relation"], cells["tail"], cells.get("source", ""))


def _json_rows(
    path: Path, lines: Sequence[tuple[int, str]]
) -> Iterator[tuple[int, tuple[str, str, str, str]]]:
    for number, line in lines:
        try:
            row = json.loads(line)
        except ValueError as error:
            raise RecordError(f"no JSON: {error}", file=str(path), line=number) from error
        if not isinstance(row, dict):
            raise RecordError("an object is needed", file=str(path), line=number)
        for name in COLUMNS[:3]:
            if not isinstance(row.get(name), str):
                raise RecordError("a text is needed", file=str(path), line=number, field=name)
        yield number, (row["head"], row["relation"], row["tail"], str(row.get("source") or ""))


class MergedStore:
    """Triples of your own beside stored ones: a :class:`~grice.knowledge.lookup.TripleStore`.

    Own heads count where they are at least as near as the last of the nearest stored heads, and
    come on top of these: added knowledge takes none away, and moves only what is like it.
    """

    def __init__(self, own: Sequence[Triple], base: TripleStore, identity: str) -> None:
        self.own = own
        self.base = base
        self.schema = base.schema
        self.identity = f"{identity}+{base.identity}"
        self._own: dict[tuple[str, str], list[Triple]] = {}
        for triple in own:
            self._own.setdefault((triple.head.lower(), triple.relation), []).append(triple)
        self._heads = list(dict.fromkeys(triple.head for triple in own))
        self._vectors: dict[str, NDArray[np.float16]] = {}

    def __len__(self) -> int:
        """Return the number of triples, each once."""
        known = sum(
            any(other.tail == triple.tail for other in self.base.tails_of(*_asked(triple)))
            for triple in self.own
        )
        return len(self.base) + len(self.own) - known

    def nearest_heads(
        self, texts: Sequence[str], count: int, *, encoder: Encoder, relation: str | None = None
    ) -> list[list[NearHead]]:
        """Return known heads near to worded texts, own ones where they are near enough."""
        below = self.base.nearest_heads(texts, count, encoder=encoder, relation=relation)
        own = self._nearest_own(texts, count, encoder, relation)
        return [_merged(base, mine, count) for base, mine in zip(below, own, strict=True)]

    def _nearest_own(
        self, texts: Sequence[str], count: int, encoder: Encoder, relation: str | None
    ) -> list[list[NearHead]]:
        among = np.array(
            [
                place
                for place, head in enumerate(self._heads)
                if relation is None or (head.lower(), relation) in self._own
            ],
            np.int64,
        )
        if not len(among) or not texts:
            return [[] for _ in texts]
        if encoder.identity not in self._vectors:
            made = encoder.encode([head_text(head) for head in self._heads])
            self._vectors[encoder.identity] = np.stack(made).astype(np.float16)
        vectors = encoded(texts, encoder)
        rows = self._vectors[encoder.identity]
        nearest = nearest_rows(rows, among, [vectors[text] for text in texts], count)
        return [
            [NearHead(self._heads[place], similarity) for place, similarity in each]
            for each in nearest
        ]

    def tails_of(self, head: str, relation: str, count: int | None = None) -> list[Triple]:
        """Return all own triples of a head and relation, then the first stored ones."""
        own = self._own.get((head.strip().lower(), relation), [])
        known = {triple.tail for triple in own}
        stored = self.base.tails_of(head, relation)[:count]
        return own + [triple for triple in stored if triple.tail not in known]

    def find(self, words: Sequence[str], count: int) -> list[Triple]:
        """Return triples that hold each of the words, own ones first."""
        wanted = [f" {word.lower()}" for word in words]
        own = [
            triple
            for triple in self.own
            if all(word in f" {triple.head} {triple.tail}".lower() for word in wanted)
        ]
        return self._with_stored(own, self.base.find(words, count + len(own)), count)

    def exact(self, text: str, count: int) -> list[Triple]:
        """Return triples whose head or tail is exactly this text, own ones first."""
        wanted = text.strip().lower()
        own = [
            triple for triple in self.own if wanted in (triple.head.lower(), triple.tail.lower())
        ]
        return self._with_stored(own, self.base.exact(text, count + len(own)), count)

    def counts(self) -> dict[str, int]:
        """Return how many triples each relation has, own and stored ones together."""
        return _summed((triple.relation for triple in self.own), self.base.counts())

    def origins(self) -> dict[str, int]:
        """Return how many triples come from each source, own and stored ones together."""
        return _summed((triple.source for triple in self.own), self.base.origins())

    def _with_stored(
        self, own: Sequence[Triple], stored: Sequence[Triple], count: int
    ) -> list[Triple]:
        seen = {(*_asked(triple), triple.tail) for triple in own}
        return [
            *own,
            *(triple for triple in stored if (*_asked(triple), triple.tail) not in seen),
        ][:count]


def with_triple(knowledge: StoredKnowledge, triple: Triple) -> StoredKnowledge:
    """Return knowledge with one triple more."""
    store = MergedStore([triple], knowledge.store, "more")
    return knowledge.over(store)


def _asked(triple: Triple) -> tuple[str, str]:
    return triple.head.lower(), triple.relation


def _merged(below: list[NearHead], own: list[NearHead], count: int) -> list[NearHead]:
    least = below[-1].similarity if len(below) == count else -1.0
    merged = {near.head.lower(): near for near in below}
    for near in own:
        if near.similarity >= least:
            merged.setdefault(near.head.lower(), near)
    return sorted(merged.values(), key=lambda near: -near.similarity)


def _summed(own: Iterable[str], stored: dict[str, int]) -> dict[str, int]:
    total = dict(stored)
    for name in own:
        total[name] = total.get(name, 0) + 1
    return total
