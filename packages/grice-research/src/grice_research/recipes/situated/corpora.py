"""The texts that may train the models of the room ``situated``, and those that may not."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from grice_research.recipes.relevance.corpora import rows_of as rows

SOURCES = ("creak", "strategyqa", "commonsenseqa", "arc", "openbookqa")


def normalise(text: str) -> str:
    """Return a text in lower case, letters and digits only."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def evaluated(data: Path) -> tuple[set[str], set[str]]:
    """Return ids and normalised texts that SituatedGen's dev and test derive from."""
    ids: set[str] = set()
    texts: set[str] = set()
    for split in ("dev", "test"):
        for row in rows(data / f"situatedgen/{split}.jsonl.gz"):
            ids.update(row["ids"])
            texts.update(normalise(statement) for statement in row["statements"])
    for source in SOURCES:
        for row in rows(data / f"situatedgen/statements_{source}.jsonl.gz"):
            if row["id"] in ids:
                texts.update(normalise(str(row.get(key, ""))) for key in ("statement", "question"))
    return ids, texts - {""}


def released(data: Path) -> tuple[set[str], set[str]]:
    """Return ids and normalised texts of all released statements and their questions."""
    ids: set[str] = set()
    texts: set[str] = set()
    for source in SOURCES:
        for row in rows(data / f"situatedgen/statements_{source}.jsonl.gz"):
            ids.add(row["id"])
            texts.update(normalise(str(row.get(key, ""))) for key in ("statement", "question"))
    return ids, texts - {""}


def sentences_of(data: Path) -> Iterator[tuple[str, str, bool | None]]:
    """Yield id, sentence and truth (None if unknown) of every licence-clean source sentence."""
    for i, row in enumerate(rows(data / "creak/train.jsonl.gz")):
        yield f"creak::train::{i}", row["sentence"], row["label"] == "true"
    for i, row in enumerate(rows(data / "strategyqa/train.jsonl.gz")):
        key = i if row.get("release_index") is None else row["release_index"]
        yield f"strategyqa::train::{key}", row["question"], None
        for fact in row.get("facts", []):
            yield f"strategyqa-fact::{i}", fact, True
    for level in ("easy", "challenge"):
        for i, row in enumerate(rows(data / f"arc/{level}_train.jsonl.gz")):
            yield f"arc::{level.capitalize()}::Train::{i}", row["stem"], None
    for i, row in enumerate(rows(data / "commonsenseqa/train.jsonl.gz")):
        yield f"commonsenseqa::train::{i}", row["stem"], None
    with gzip.open(data / "csqa2/csqa2.tsv.gz", "rt", encoding="utf-8") as lines:
        next(lines)
        for i, line in enumerate(lines):
            split, sentence, answer = line.rstrip("\n").split("\t")[:3]
            if split == "train":
                yield f"csqa2::train::{i}", sentence, answer == "yes"
