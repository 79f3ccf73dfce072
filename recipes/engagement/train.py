"""Make the engagement bundle.

python recipes/engagement/train.py compare --data ../shared/data [--research]
python recipes/engagement/train.py bundle  --data ../shared/data [--research]
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from labels import RESEARCH, SOURCES, said, without_evaluated
from scipy.stats import rankdata

from grice.evaluation.trained import record_texts
from grice.runtime.bundle import open_bundle, shipped_bundles
from grice.runtime.embedded import EmbeddedEncoder
from grice.runtime.memo import Memo, MemoEncoder
from grice.text.script import unreadable
from grice.training.bundle import save_head
from grice.training.replies import Penalty, Readings, fit_head, folds_of, read_replies

if TYPE_CHECKING:
    from labels import Said
    from numpy.typing import NDArray

WORK = Path(__file__).parent / "work"
SEEDS = (0, 1, 2)
PENALTIES = (0.03, 0.1, 100.0)
"""Tried on the vectors' coefficients; the last one leaves the countable features alone."""

OF_PEOPLE = ("topical_chat ratings of replies", "convai2017 ratings of people's messages")
"""What people said of what people wrote, which engagement is about; a metric of its own,
relevance, is there for what bots do worst."""

MIXES = {
    "all": tuple(SOURCES),
    "replies": (*OF_PEOPLE, "convai2017 ratings of bots' messages"),
    "people": OF_PEOPLE,
    "topical_chat": OF_PEOPLE[:1],
}
"""Sets of sources that were tried."""

FACTS = {
    "name": "engagement",
    "kind": "reply-head",
    "version": "1",
    "summary": "Would a person call this reply engaging? Countable features and frozen vectors.",
    "licence": "Apache-2.0",
    "encoder": "encoder",
    "inputs": "left: the turn before; right: the reply",
    "outputs": (
        "probability, 0 to 1, that a person calls the reply, or the conversation it is from, "
        "engaging; 0.5 is where both are equally likely with the classes weighed alike"
    ),
}
SELECTION = [
    "sources and penalty on the vectors: mean area under the curve over the two sources in which "
    "people rate what people wrote, conversations left out in five folds"
]
COMMAND = "python recipes/engagement/train.py bundle --data ../shared/data"


class Material(NamedTuple):
    """Labels with what the head reads of them."""

    labels: list[Said]
    readings: Readings
    sources: NDArray[np.int64]
    names: tuple[str, ...]
    excluded: str

    @property
    def truth(self) -> NDArray[np.float64]:
        return np.array([one.label for one in self.labels], np.float64)


def material(data: Path, *, research: bool) -> Material:
    """Read and encode every labelled reply; vectors are kept in the work folder."""
    found = [
        one
        for one in said(data, research=research)
        if not unreadable(one.pair.right) and not unreadable(one.pair.left[0])
    ]
    labels, excluded = without_evaluated(found, data, research=research)
    names = tuple(dict.fromkeys(one.source for one in labels))
    WORK.mkdir(exist_ok=True)
    engine = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    readings = read_replies([one.pair for one in labels], MemoEncoder(engine, Memo(WORK)))
    sources = np.array([names.index(one.source) for one in labels])
    return Material(labels, readings, sources, names, excluded)


def of_sources(stuff: Material, mix: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which labels are of some sources; those of a research run are always among them."""
    return np.array([one.source in mix or one.source in RESEARCH for one in stuff.labels])


def unseen_areas(
    stuff: Material, mix: tuple[str, ...], penalty: Penalty, seed: int
) -> dict[str, float]:
    """Return by source the area under the curve on conversations left out."""
    used = of_sources(stuff, mix)
    folds = folds_of([one.group for one in stuff.labels], seed=seed)
    odds = np.empty(len(folds))
    for fold in np.unique(folds):
        kept, out = np.flatnonzero((folds != fold) & used), np.flatnonzero(folds == fold)
        head = fit_head(
            stuff.readings.at(kept),
            stuff.truth[kept],
            penalty,
            sources=np.unique(stuff.sources[kept], return_inverse=True)[1],
        )
        odds[out] = head(stuff.readings.at(out))
    rows = [stuff.sources == number for number in range(len(stuff.names))]
    return {
        name: _area(odds[here], stuff.truth[here])
        for name, here in zip(stuff.names, rows, strict=True)
    }


def _area(odds: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    ranks = rankdata(odds)
    high = truth > 0.5
    wins = ranks[high].sum() - high.sum() * (high.sum() + 1) / 2
    return float(wins / (high.sum() * (~high).sum()))


def compare(stuff: Material, log: Path, seeds: tuple[int, ...]) -> None:
    """Write what each set of sources and penalty reaches, one line a division into folds."""
    with log.open("w") as lines:
        for (name, mix), vectors, seed in product(MIXES.items(), PENALTIES, seeds):
            areas = unseen_areas(stuff, mix, Penalty(vectors=vectors), seed)
            mean = sum(areas[source] for source in OF_PEOPLE) / len(OF_PEOPLE)
            row = {"mix": name, "vectors": vectors, "seed": seed, "mean": mean, **areas}
            lines.write(json.dumps(row) + "\n")
            lines.flush()
            shown = {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}
            print(shown, flush=True)


def bundle(stuff: Material, log: Path, folder: Path, *, research: bool) -> None:
    """Fit the penalty that did best on all labels and write the bundle."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines()]
    reached: dict[tuple[str, float], list[float]] = {}
    for row in rows:
        reached.setdefault((row["mix"], row["vectors"]), []).append(row["mean"])
    mix, best = max(reached, key=lambda tried: np.mean(reached[tried]))
    used = np.flatnonzero(of_sources(stuff, MIXES[mix]))
    head = fit_head(
        stuff.readings.at(used),
        stuff.truth[used],
        Penalty(vectors=best),
        sources=np.unique(stuff.sources[used], return_inverse=True)[1],
    )
    licences = {**SOURCES, **RESEARCH}
    training = {
        "data": [
            f"{name} ({licences[name]})"
            for name in stuff.names
            if name in MIXES[mix] or name in RESEARCH
        ],
        "selection": SELECTION,
        "excluded": stuff.excluded,
        "command": COMMAND + (" --research" if research else ""),
        "seeds": list(SEEDS),
    }
    facts = {**FACTS, "name": folder.name}
    if research:
        facts["licence"] = "none: research only, not to be passed on"
    figures = WORK / "figures.jsonl"
    quality = [json.loads(line) for line in figures.read_text().splitlines()] if (
        figures.exists() and not research) else []  # fmt: skip
    save_head(folder, head, facts, training, {"penalty": best}, quality)
    # Those that only chose the sources count too.
    texts = {text for one in stuff.labels for text in (*one.pair.left, one.pair.right)}
    record_texts(folder, texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["compare", "bundle"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--research", action="store_true", help="add data that may not ship")
    parser.add_argument("--divisions", type=int, default=len(SEEDS), help="into folds")
    options = parser.parse_args()
    stuff = material(options.data, research=options.research)
    kind = "research" if options.research else "default"
    log = WORK / f"compare_{kind}.jsonl"
    print(stuff.excluded, flush=True)
    if options.step == "compare":
        compare(stuff, log, SEEDS[: options.divisions])
    elif options.research:
        bundle(stuff, log, WORK / "engagement_research", research=True)
    else:
        folder = shipped_bundles()["encoder"].parent / "engagement"
        bundle(stuff, log, folder, research=False)


if __name__ == "__main__":
    main()
