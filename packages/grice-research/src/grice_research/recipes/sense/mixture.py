"""What the reader and its heads learn from: the written items with shares of the published sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from grice_research.benches.breakdowns import FILE as BREAKDOWNS
from grice_research.benches.breakdowns import is_validation
from grice_research.benches.minimal_pairs import read_pairs
from grice_research.recipes.relevance.corpora import evaluated_texts, normalise
from grice_research.recipes.sense.pairs import written_items
from grice_research.recipes.sense.sources import SOURCES, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from grice_research.recipes.sense.pairs import Item

WRITTEN = "written"
CHATBOTS = ("breakdowns", "messages")
"""The sources of votes on replies of chatbots."""
SHARES = {"nli": 0.2, "comve": 0.08, "ecare": 0.06, "codah": 0.04, "defeasible": 0.04}
"""Items of a source in an epoch for each written one; of the others all are read."""

SHORT = 20
"""Letters of an everyday phrase, which any two sets share."""

T = TypeVar("T")


def training_items(data: Path, sources: Sequence[str] = tuple(SOURCES)) -> dict[str, list[Item]]:
    """Return the items that are not kept back, by source, without replies of evaluated sets."""
    items = {WRITTEN: list(written_items())}
    items |= {name: list(SOURCES[name](data)) for name in sources}
    stated = evaluated(data)
    return {
        name: [
            item
            for item in some
            if not item.validation
            and not any(is_stated(reading.reply, stated) for reading in item.readings)
        ]
        for name, some in items.items()
    }


def evaluated(data: Path) -> set[str]:
    """Return the normalised texts of the sets that are reported."""
    return {normalise(text) for text in _evaluated(data)}


def _evaluated(data: Path) -> Iterator[str]:
    """Yield the texts of the sets that the heads are measured on."""
    yield from evaluated_texts(data)
    for path in (data / "abc_eval").glob("*.jsonl.gz"):
        for talk in lines_of(path):
            yield from (turn["text"] for turn in talk["turns"])
    for talk in lines_of(data / BREAKDOWNS):
        if is_validation(talk["id"]):
            yield from (turn["text"] for turn in talk["turns"])
    for pair in read_pairs():
        yield from (*pair.history, pair.good, pair.bad)


def is_stated(reply: str, stated: set[str]) -> bool:
    """Return whether a reply that is no everyday phrase stands in an evaluated set."""
    return len(reply) >= SHORT and normalise(reply) in stated


def epoch(groups: Mapping[str, Sequence[T]], draw: np.random.Generator) -> list[T]:
    """Return what is learned in one epoch, in a random order."""
    chosen: list[T] = []
    for name, group in groups.items():
        most = int(SHARES.get(name, 1) * len(groups[WRITTEN]))
        chosen += [group[i] for i in draw.permutation(len(group))[:most]]
    return [chosen[i] for i in draw.permutation(len(chosen))]
