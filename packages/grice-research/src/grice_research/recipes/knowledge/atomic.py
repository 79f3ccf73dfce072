"""The ATOMIC triples that may be learned from, with every evaluated text kept out.

Used by the recipe of the store and by the recipe of the plausibility heads, so that both know
exactly the same events.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from grice_research.recipes.common import rows_of, table_of

WORD = re.compile(r"[a-z0-9]+")
PERSONS = {"personx", "persony", "personz", "peoplex", "peopley", "person", "x", "y", "s"}
IRREGULAR = {
    "is": "be", "are": "be", "was": "be", "were": "be", "am": "be", "been": "be", "has": "have",
    "had": "have", "went": "go", "goes": "go", "does": "do", "did": "do", "got": "get",
    "made": "make", "took": "take", "came": "come", "saw": "see", "gave": "give", "felt": "feel",
}  # fmt: skip


class Known(NamedTuple):
    head: str
    relation: str
    tail: str
    source: str


class Barrier(NamedTuple):
    """Texts kept out of training: folded heads, and folded texts of three or more words."""

    heads: frozenset[str]
    texts: frozenset[str]


def folded(text: str) -> str:
    """Lower case, letters and digits only."""
    return "".join(WORD.findall(text.lower()))


def content(text: str) -> str:
    """A crude lemma form without persons: ``PersonX is tired`` equals ``PersonX be tired``."""
    return " ".join(stem(word) for word in WORD.findall(text.lower()) if word not in PERSONS)


def stem(word: str) -> str:
    word = IRREGULAR.get(word, word)
    for ending in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word.removesuffix("e")


def barrier(data: Path) -> Barrier:
    """Collect every event of the sets that are reported on."""
    events = []
    for part in ("dev", "tst"):
        for row in table_of(data / "cskb_population" / f"{part}.tsv.gz"):
            events += [(row["head"], True), (row["tail"], False)]
    for name in ("atomic2020_test_full", "atomic2018_test"):
        for row in table_of(data / "atomic_more" / f"{name}.tsv.gz"):
            events.append((row["head"], True))
    asked = rows_of(data / "atomic/atomic2020_test5000_comet_bart.jsonl.gz")
    events += [(row["head"], True) for row in asked]
    for name in ("deco_train", "deco_test", "conture_subset"):
        for item in rows_of(data / f"accent_deco/{name}.jsonl"):
            events += _dialogue_events(item)
    heads = {content(text) for text, is_head in events if is_head}
    heads |= {
        content(row["head"])
        for row in table_of(data / "atomic_more/atomic2018_more.tsv.gz")
        if "1" in (row["head_in_cskb_population"], row["head_in_atomic2020_test"])
    }
    texts = {folded(text) for text, _ in events if len(WORD.findall(text.lower())) >= 3}
    return Barrier(frozenset(heads - {""}), frozenset(texts))


def _dialogue_events(item: dict[str, Any]) -> list[tuple[str, bool]]:
    events = [(item["response"], False)]
    events += [(turn, False) for turn in item["history"].split("</UTT>")]
    for head, _, tail, *_ in gold_triples(item):
        events += [(head, True), (tail, False)]
    return events


def gold_triples(item: dict[str, Any]) -> list[list[str]]:
    """Return the triples that people wrote for a reply of DECO or ConTurE."""
    triples = item.get("tuples_single", []) + item.get("tuples_pair", [])
    return triples + [triple for each in item.get("tuples", {}).values() for triple in each]


def training_triples(data: Path, kept_out: Barrier) -> tuple[list[Known], dict[str, int]]:
    """Return distinct triples in a fixed order, and how many rows each rule dropped."""
    dropped: Counter[str] = Counter()
    by_triple: dict[tuple[str, str, str], Known] = {}
    for known, allowed in _sources(data):
        if not allowed:
            dropped["marked as evaluated, or not of a training split"] += 1
        elif folded(known.tail) in ("none", "") or not folded(known.head):
            dropped["tail says none"] += 1
        elif content(known.head) in kept_out.heads:
            dropped["head of an evaluated set"] += 1
        elif folded(known.tail) in kept_out.texts or folded(known.head) in kept_out.texts:
            dropped["text of an evaluated set"] += 1
        else:
            key = (folded(known.head), known.relation, folded(known.tail))
            by_triple.setdefault(key, known)
    return list(by_triple.values()), dict(dropped)


def _sources(data: Path) -> Iterator[tuple[Known, bool]]:
    """Original spelling first: the sample of ATOMIC-2018 lost its punctuation upstream."""
    for row in table_of(data / "atomic/atomic2020_sample.tsv.gz"):
        yield _known(row, "atomic2020"), row["split"] == "train"
    for row in table_of(data / "atomic_more/atomic2018_more.tsv.gz"):
        evaluated = row["head_in_cskb_population"], row["head_in_atomic2020_test"]
        yield _known(row, "atomic2018"), evaluated == ("0", "0")
    for row in table_of(data / "atomic/atomic2018_sample.tsv.gz"):
        yield _known(row, "atomic2018"), row["head_in_test5000"] == "0"


def _known(row: dict[str, str], source: str) -> Known:
    return Known(row["head"].strip(), row["relation"], row["tail"].strip(), source)
