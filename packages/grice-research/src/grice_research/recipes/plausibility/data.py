"""Training and test data of the plausibility heads, as plain records."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

from grice.knowledge.schema import load_schema
from grice.knowledge.wording import event_text, head_text, tail_text
from grice.models.protocols import Encoder
from grice.records import Triple
from grice_research.recipes.knowledge.atomic import (
    Barrier,
    barrier,
    content,
    folded,
    rows,
    training_triples,
)

SHARD = 20_000


class Vectors:
    """Half-precision vectors by text, as a file of texts beside an array."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.index: dict[str, int] = {}
        self.array = np.zeros((0, 384), np.float16)
        if (folder / "texts.txt").exists():
            texts = (folder / "texts.txt").read_text("utf-8").split("\n")
            self.index = {text: i for i, text in enumerate(texts)}
            self.array = np.load(folder / "vectors.npy")

    def add(self, texts: Iterable[str], encoder: Encoder) -> None:
        """Encode the texts that are new; saves after each shard, so a stopped run goes on."""
        new = [text for text in dict.fromkeys(texts) if text not in self.index]
        new.sort(key=len)
        for start in range(0, len(new), SHARD):
            shard = new[start : start + SHARD]
            rows = np.stack(encoder.encode(shard)).astype(np.float16)
            self.array = np.concatenate([self.array, rows])
            self.index.update({text: len(self.index) + i for i, text in enumerate(shard)})
            np.save(self.folder / "vectors.npy", self.array)
            (self.folder / "texts.txt").write_text("\n".join(self.index), "utf-8")
            print(f"{len(self.index):,} texts encoded", flush=True)

    def ids(self, texts: Iterable[str]) -> np.ndarray:
        return np.array([self.index[text] for text in texts], np.int64)

    def table(self) -> np.ndarray:
        """Return all vectors as the encoder gave them."""
        return self.array.astype(np.float32)


SCHEMA = load_schema("atomic2020")
ACCENT = SCHEMA.group("accent")
RELATIONS = (*ACCENT, "Causes", "xReason", "isBefore")
POPULATION_NAMES = {
    "general Want": "xWant", "general Effect": "xEffect", "general React": "xReact",
}  # fmt: skip


class Example(NamedTuple):
    """A worded triple."""

    head: str
    relation: str
    tail: str
    event: str
    label: int
    group: str
    source: str


def worded(head: str, relation: str, tail: str, label: int, source: str) -> Example:
    tail_words = tail_text(tail, SCHEMA[relation])
    return Example(
        head_text(head),
        relation,
        tail_words,
        spoken(tail, relation, tail_words),
        label,
        content(head),
        source,
    )


def spoken(tail: str, relation: str, tail_words: str) -> str:
    """Say half of the wishes and feelings in full, so that typing meets both wordings."""
    form = SCHEMA[relation].tail
    full = crc32(f"{relation}\t{folded(tail)}".encode()) % 100
    subject, _, rest = tail_words.partition(" ")
    if relation in ("xReact", "oReact") and rest.startswith("is ") and full < 50:
        return f"{subject} feels {rest[3:]}"
    if relation in ("xWant", "oWant") and full < 50:
        return f"{subject} wants to {rest}"
    if relation in ("xIntent", "xNeed") and full < 15:
        return f"{subject} {'wants' if relation == 'xIntent' else 'needs'} to {rest}"
    return tail_words if form != "clause" else event_text(tail)


def held_out(group: str) -> bool:
    """Hold out the heads of about one group in twenty."""
    return crc32(group.encode()) % 20 == 0


def training_examples(data: Path) -> tuple[list[Example], dict[str, int]]:
    """Return all examples of licensed sources, and how many rows each rule dropped."""
    kept_out = barrier(data)
    known, dropped = training_triples(data, kept_out)
    examples = [
        worded(k.head, k.relation, k.tail, 1, k.source) for k in known if k.relation in RELATIONS
    ]
    extra = Counter(dropped)
    for source in (_event2mind, _virtue, _defeasible, _ecare, _copa, _omcs):
        for example in source(data):
            text = folded(example.head) in kept_out.texts or folded(example.tail) in kept_out.texts
            if example.group in kept_out.heads or text:
                extra[f"{example.source}: head or text of an evaluated set"] += 1
            else:
                examples.append(example)
    return list(dict.fromkeys(examples)), dict(extra)


def _event2mind(data: Path) -> list[Example]:
    examples = []
    names = {"xintent": "xIntent", "xreact": "xReact", "oreact": "oReact"}
    with gzip.open(data / "event2mind/event2mind.jsonl.gz", "rt", encoding="utf-8") as file:
        for item in map(json.loads, file):
            if item["split"] != "train":
                continue
            for field, relation in names.items():
                tails = [tail for tail in item[field] if tail and tail != "none"]
                examples += [
                    worded(item["event"], relation, tail, 1, "event2mind") for tail in tails
                ]
    return examples


def _virtue(data: Path) -> list[Example]:
    return [
        worded(row["event"], "xAttr", row["trait"], int(row["label"]), "ethics_virtue")
        for row in rows(data / "ethics/virtue.tsv.gz")
        if row["split"] == "train"
    ]


def _defeasible(data: Path) -> list[Example]:
    """A circumstance that weakens an inference makes it implausible, and may hinder the event."""
    examples = []
    for row in rows(data / "defeasible_nli/atomic.tsv.gz"):
        if not row["update"] or row["head_in_cskb_population"] == "1":
            continue
        if row["relation"] not in RELATIONS:
            continue
        head = f"{row['head'].rstrip('.')}. {row['update']}"
        label = int(row["type"] == "S")
        example = worded(head, row["relation"], row["tail"], label, "defeasible_nli")
        examples.append(example._replace(group=content(row["head"])))
    return examples


def _ecare(data: Path) -> list[Example]:
    examples = []
    for row in rows(data / "ecare/ecare.tsv.gz"):
        if row["split"] != "train":
            continue
        for index in (0, 1):
            pair = (row["premise"], row[f"alt{index}"])
            head, tail = pair if row["asks_for"] == "effect" else pair[::-1]
            label = int(index == int(row["label"]))
            example = worded(head, "Causes", tail, label, "ecare")
            examples.append(example._replace(group=content(row["premise"])))
    return examples


COPA = {
    "Causes": "Causes", "CausesDesire": "xWant", "MotivatedByGoal": "xIntent",
    "HasPrerequisite": "xNeed", "HasSubevent": "HasSubEvent", "ObstructedBy": "HinderedBy",
}  # fmt: skip


def _copa(data: Path) -> list[Example]:
    """Explanations that people rated; the middle of the scale says nothing and is left out."""
    examples = []
    for row in rows(data / "copa_sse/triples.tsv.gz"):
        rating = float(row["rating"] or 3)
        if row["split"] != "dev" or row["relation"] not in COPA or 2.5 <= rating < 3.5:
            continue
        relation = COPA[row["relation"]]
        example = worded(row["head"], relation, row["tail"], int(rating >= 3.5), "copa_sse")
        examples.append(example._replace(group=f"copa {row['copa_id']}"))
    return examples


def _omcs(data: Path) -> list[Example]:
    return [
        worded(row["head"], row["relation"], row["tail"], 1, "omcs")
        for row in rows(data / "cskb_population/omcs_event_tuples.tsv.gz")
        if row["split"] == "trn"
    ]


class Labelled(NamedTuple):
    head: str
    relation: str
    tail: str
    label: int
    name: str


def population(data: Path, part: str) -> list[Labelled]:
    """CSKB Population, part ``dev`` or ``tst``; ``name`` keeps the relation as the set calls it."""
    labelled = []
    for row in rows(data / "cskb_population" / f"{part}.tsv.gz"):
        relation = POPULATION_NAMES.get(row["relation"], row["relation"])
        tail = tail_text(row["tail"], SCHEMA[relation])
        label = int(row["label"])
        labelled.append(Labelled(head_text(row["head"]), relation, tail, label, row["relation"]))
    return labelled


class Rated(NamedTuple):
    """A reply of DECO: its worded gold triples, its human score, and whether a person wrote it."""

    triples: list[tuple[str, str, str]]
    events: list[tuple[str, str, str]]
    score: float
    human: bool


def deco(data: Path, part: str) -> list[Rated]:
    rated = []
    for line in (data / "accent_deco" / f"deco_{part}.jsonl").read_text("utf-8").splitlines():
        item = json.loads(line)
        gold = item.get("tuples_single", []) + item.get("tuples_pair", [])
        for triples in item.get("tuples", {}).values():
            gold += [triple[:3] for triple in triples]
        worded_gold = [(head_text(h), r, tail_text(t, SCHEMA[r])) for h, r, t in gold]
        events = [(event_text(h), r, event_text(t)) for h, r, t in gold]
        rated.append(Rated(worded_gold, events, item["event_cs"], item["system"] == "Human"))
    return rated


__all__ = [
    "ACCENT", "RELATIONS", "SCHEMA", "Barrier", "Example", "Labelled", "Rated", "deco", "held_out",
    "population", "training_examples", "worded",
]  # fmt: skip


def read_population(data: Path, part: str) -> tuple[list[Triple], np.ndarray, np.ndarray]:
    """Return the triples of CSKB Population, whether each is plausible, and its relation there."""
    rows_of_part = rows(data / "cskb_population" / f"{part}.tsv.gz")
    triples = [
        Triple(r["head"], POPULATION_NAMES.get(r["relation"], r["relation"]), r["tail"])
        for r in rows_of_part
    ]
    labels = np.array([int(r["label"]) for r in rows_of_part])
    return triples, labels, np.array([r["relation"] for r in rows_of_part])
