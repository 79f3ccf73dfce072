"""Make the engagement bundle.

python -m grice_research.recipes.engagement.train compare --data ../shared/data [--research]
python -m grice_research.recipes.engagement.train bundle  --data ../shared/data [--research]
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grice.models.bundle import shipped_bundles
from grice.stats import partial_correlation
from grice.text.script import unreadable
from grice_research.places import work_folder
from grice_research.recipes.engagement.labels import (
    SOURCES,
    labelled_replies,
    without_evaluated,
)
from grice_research.recipes.relevance.vectors import (
    StoredEncoder,
    VectorStore,
)
from grice_research.training.bundle import save_head
from grice_research.training.replies import Penalty, Readings, fit_head, read_replies
from grice_research.training_texts import record_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice_research.recipes.engagement.labels import LabelledReply

MOST = 2500
"""Labels of a source that are drawn."""
WORK = work_folder("engagement")
RELEVANCE = work_folder("relevance") / "vectors"
LENGTH = ("words", "letters per word")
COSINE = "likeness to the turn before"
WAYS = {
    "length alone": Penalty(scalars=100.0, vectors=100.0, spared=LENGTH),
    "length and likeness": Penalty(scalars=100.0, vectors=100.0, spared=(*LENGTH, COSINE)),
    "what is counted": Penalty(vectors=100.0),
    "and vectors, 1.0": Penalty(vectors=1.0),
    "and vectors, 0.1": Penalty(vectors=0.1),
    "and vectors, 0.03": Penalty(vectors=0.03),
}
"""Penalties that were tried; one of 100 leaves its features out."""

OF_PEOPLE = ("topical_chat ratings of replies", "convai2017 ratings of people's messages")
"""What people said of what people wrote, which engagement is about; a metric of its own,
relevance, is there for what bots do worst."""

REPLIES = (
    *OF_PEOPLE,
    "convai2017 ratings of bots' messages",
    "ab_redial interest of replies",
)
"""What people said of single replies: each is judged by what was fitted on other corpora."""

MIXES = {
    "replies": REPLIES,
    "people": (*OF_PEOPLE, "ab_redial interest of replies"),
}
"""Sets of sources that were tried."""

FACTS = {
    "name": "engagement",
    "kind": "reply-head",
    "version": "2",
    "summary": "Would a person call this reply engaging?",
    "licence": "Apache-2.0",
    "encoder": "encoder",
    "inputs": "left: the turn before; right: the reply",
    "outputs": (
        "probability, 0 to 1, that a person calls the reply, or the conversation it is from, "
        "engaging; 0.5 is where both are equally likely with the classes weighed alike"
    ),
}
SELECTION = [
    "sources and penalties: rank correlation given length with what people said of single replies "
    "in one corpus (topical_chat, convai2017, ab_redial), fitted on the others, mean of all"
]
COMMAND = "python -m grice_research.recipes.engagement.train bundle --data ../shared/data"


class Material(NamedTuple):
    """Labels with what the head reads of them."""

    labels: list[LabelledReply]
    readings: Readings
    sources: NDArray[np.int64]
    names: tuple[str, ...]
    excluded: str

    @property
    def truth(self) -> NDArray[np.float64]:
        return np.array([label.label for label in self.labels], np.float64)


def material(data: Path) -> Material:
    """Read and encode every labelled reply; vectors are kept in the work folder."""
    replies = [
        reply
        for reply in labelled_replies(data)
        if not unreadable(reply.pair.right) and not unreadable(reply.pair.left[0])
    ]
    labels, excluded = without_evaluated(replies, data)
    names = tuple(dict.fromkeys(label.source for label in labels))
    labels = _drawn(labels, names)
    WORK.mkdir(exist_ok=True)
    texts = {text for label in labels for text in (*label.pair.left, label.pair.right)}
    encoder = StoredEncoder(texts, VectorStore(RELEVANCE), VectorStore(WORK / "vectors"))
    readings = read_replies([label.pair for label in labels], encoder)
    sources = np.array([names.index(label.source) for label in labels])
    return Material(labels, readings, sources, names, excluded)


def _drawn(labels: list[LabelledReply], names: Sequence[str]) -> list[LabelledReply]:
    """Return at most :data:`MOST` labels of each source, in their order."""
    random = np.random.default_rng(0)
    rows: list[int] = []
    for name in names:
        own = np.array([i for i, reply in enumerate(labels) if reply.source == name])
        rows += random.permutation(own)[:MOST].tolist()
    return [labels[i] for i in sorted(rows)]


def of_sources(stuff: Material, mix: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which labels are of some sources."""
    return np.array([label.source in mix for label in stuff.labels])


def carried_over(
    stuff: Material, mix: tuple[str, ...], penalty: Penalty, judged: tuple[str, ...]
) -> dict[str, list[float | None]]:
    """Return by source the rank correlation given length, fitted on the other corpora."""
    corpora = np.array([label.source.split()[0] for label in stuff.labels])
    used = of_sources(stuff, mix)
    by_source = {}
    for source in judged:
        out = stuff.sources == stuff.names.index(source)
        kept = np.flatnonzero(used & (corpora != source.split()[0]))
        head = fit_head(
            stuff.readings.at(kept),
            stuff.truth[kept],
            penalty,
            sources=np.unique(stuff.sources[kept], return_inverse=True)[1],
        )
        rows = np.flatnonzero(out)
        estimate = partial_correlation(
            head(stuff.readings.at(rows)).tolist(),
            stuff.truth[rows].tolist(),
            [[_log_words(stuff.labels[row]) for row in rows]],
            groups=[stuff.labels[row].group for row in rows],
        )
        by_source[source] = [estimate.value, estimate.low, estimate.high]
    return by_source


def _log_words(label: LabelledReply) -> float:
    return math.log1p(len(label.pair.right.split()))


def compare(stuff: Material, log: Path, judged: tuple[str, ...]) -> None:
    """Write what each set of sources and way of penalising carries over, one line each."""
    with log.open("w") as lines:
        for (name, mix), (way, penalty) in product(MIXES.items(), WAYS.items()):
            by_source = carried_over(stuff, mix, penalty, judged)
            mean = sum(value or 0.0 for value, *_ in by_source.values()) / len(by_source)
            lines.write(json.dumps({"mix": name, "way": way, "mean": mean, **by_source}) + "\n")
            lines.flush()
            print(name, way, round(mean, 4), by_source, flush=True)


def bundle(stuff: Material, log: Path, folder: Path) -> None:
    """Fit what carried over best on all labels and write the bundle."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines()]
    best = max(rows, key=lambda row: row["mean"])
    mix, way = best["mix"], best["way"]
    sources = MIXES[mix]
    used = np.flatnonzero(of_sources(stuff, sources))
    head = fit_head(
        stuff.readings.at(used),
        stuff.truth[used],
        WAYS[way],
        sources=np.unique(stuff.sources[used], return_inverse=True)[1],
    )
    training = {
        "data": [f"{name} ({SOURCES[name]})" for name in stuff.names if name in sources],
        "selection": SELECTION,
        "excluded": stuff.excluded,
        "command": COMMAND,
        "seeds": [0],
    }
    figures = WORK / "figures.jsonl"
    lines = figures.read_text().splitlines() if figures.exists() else []
    quality = [json.loads(line) for line in lines]
    read = f"what is counted {way}" if way.startswith("and ") else way
    facts = {**FACTS, "name": folder.name, "summary": f"{FACTS['summary']} It reads {read}."}
    save_head(folder, head, facts, training, {"reads": way}, quality)
    # Those that only chose the sources count too.
    texts = {text for label in stuff.labels for text in (*label.pair.left, label.pair.right)}
    record_texts(folder, texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["compare", "bundle"])
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    stuff = material(options.data)
    log = WORK / "compare_default.jsonl"
    print(stuff.excluded, flush=True)
    if options.step == "compare":
        compare(stuff, log, REPLIES)
    else:
        bundle(stuff, log, shipped_bundles()["encoder"].parent / "engagement")


if __name__ == "__main__":
    main()
