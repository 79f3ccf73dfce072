"""Training and test data of the plausibility heads, as plain records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

from grice.data import Triple
from grice.knowledge.schema import event_text, head_text, load_schema, tail_text
from grice_research.benches.cskb_population import GENERAL
from grice_research.recipes.common import rows_of, table_of
from grice_research.recipes.knowledge.atomic import barrier, content, folded, training_triples

SCHEMA = load_schema("atomic2020")
ACCENT = SCHEMA.group("accent")
RELATIONS = (*ACCENT, "Causes", "xReason", "isBefore")
EVENT2MIND = {"xintent": "xIntent", "xreact": "xReact", "oreact": "oReact"}


class Example(NamedTuple):
    head: str
    relation: str
    tail: str
    event: str
    label: int
    group: str
    source: str


def worded(head: str, relation: str, tail: str, label: int, source: str) -> Example:
    words = tail_text(tail, SCHEMA[relation])
    event = spoken(tail, relation, words)
    return Example(head_text(head), relation, words, event, label, content(head), source)


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


def learned(examples: Iterable[Example]) -> Iterator[str]:
    """Yield heads and tails as the encoder read them; the held-out ones set scale and bias."""
    for example in examples:
        yield from (example.head, example.tail, example.event)


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
    return [
        worded(item["event"], relation, tail, 1, "event2mind")
        for item in rows_of(data / "event2mind/event2mind.jsonl.gz")
        if item["split"] == "train"
        for field, relation in EVENT2MIND.items()
        for tail in item[field]
        if tail and tail != "none"
    ]


def _virtue(data: Path) -> list[Example]:
    return [
        worded(row["event"], "xAttr", row["trait"], int(row["label"]), "ethics_virtue")
        for row in table_of(data / "ethics/virtue.tsv.gz")
        if row["split"] == "train"
    ]


def _defeasible(data: Path) -> list[Example]:
    """A circumstance that weakens an inference makes it implausible, and may hinder the event."""
    examples = []
    for row in table_of(data / "defeasible_nli/atomic.tsv.gz"):
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
    for row in table_of(data / "ecare/ecare.tsv.gz"):
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
    for row in table_of(data / "copa_sse/triples.tsv.gz"):
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
        for row in table_of(data / "cskb_population/omcs_event_tuples.tsv.gz")
        if row["split"] == "trn"
    ]


def read_population(data: Path, part: str) -> tuple[list[Triple], np.ndarray, np.ndarray]:
    """Return the triples of CSKB Population, whether each is plausible, and its relation there."""
    rows_of_part = list(table_of(data / f"cskb_population/{part}.tsv.gz"))
    triples = [
        Triple(r["head"], GENERAL.get(r["relation"], r["relation"]), r["tail"])
        for r in rows_of_part
    ]
    labels = np.array([int(r["label"]) for r in rows_of_part])
    return triples, labels, np.array([r["relation"] for r in rows_of_part])
