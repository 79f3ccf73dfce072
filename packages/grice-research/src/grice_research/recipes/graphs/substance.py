"""Fits the generator and ``substance`` on topics apart.

python -m grice_research.recipes.graphs.substance [--data ../shared/data]
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from grice.data import Triple
from grice.knowledge.plausibility import Bilinear
from grice.numeric import sigmoid
from grice_research.recipes.common import parser_of
from grice_research.recipes.graphs.data import Instance, instances, lexical
from grice_research.recipes.graphs.making import (
    CLASSES,
    MADE,
    MAKER,
    TEACHER,
    Making,
    Pairs,
    fit_choice,
    fit_making,
    form,
    make_cases,
    proposals,
    read,
    weighted,
    wrong_graphs,
)
from grice_research.recipes.graphs.space import (
    WORK,
    Kept,
    fit_kernel,
    make_space,
    scores,
    topic_folds,
    topics_of,
)
from grice_research.training.logistic import fit_logistic
from grice_tasks.explagraphs.classifiers import KernelHead
from grice_tasks.explagraphs.features import (
    Features,
    Reading,
    fact_logits,
    informativeness_features,
)
from grice_tasks.explagraphs.graph import Graph, depth_first

SETTINGS = {"width": 0.35, "ridge": 1.0, "features": 1536}


class Part(NamedTuple):
    """One of the two judges of which ``substance`` is the lower answer."""

    name: str
    right: str
    shares: dict[str, float]
    against: tuple[str, ...]
    counts: float


PARTS = (
    Part("written", "gold", dict.fromkeys(MADE, 1.0), MADE, 0.7),
    Part(
        "accepted",
        "accepted",
        {"failed": 1.0, **dict.fromkeys(MADE, 0.2), "generated": 0.4},
        ("failed",),
        0.9,
    ),
)
"""Chosen on the topics of ``substance`` alone, by heads of one half of them on the other."""
SEED = 0
TAUGHT, SHOWN = 500, 3
"""Rows of the generator's topics for which its judge sees what it makes, and how many of each."""


def with_parts(
    facts: Bilinear, kept: Kept, readings: list[Reading], features: Features
) -> tuple[np.ndarray, np.ndarray]:
    """Return what ``substance`` reads of graphs."""
    counts, vectors = read(kept, readings, features)
    parts = [
        informativeness_features(*reading, sigmoid(fact_logits(facts, kept, reading.graph.edges)))
        for reading in readings
    ]
    return np.concatenate([counts, np.stack(parts)], axis=1), vectors


def fit_part(given: Taught, part: Part, seed: int, topics: tuple[int, ...]) -> KernelHead:
    """Return one judge, taught on some of the topics."""
    pick = np.isin(given.kinds, (part.right, *part.shares)) & np.isin(given.halves, topics)
    weights = weighted(given.kinds, part.right, part.shares)
    labels = (given.kinds == part.right).astype(int)
    return fit_kernel(given.counts[pick], given.vectors[pick], labels[pick], classes=2,
                      weights=weights[pick], share=part.counts, seed=seed,
                      **SETTINGS)  # type: ignore[arg-type]  # fmt: skip


def chosen(choice: KernelHead, rows: list[Instance], made: list[list[Graph]], kept: Kept,
           features: Features) -> Pairs:  # fmt: skip
    """Return the graph that the generator's judge picks for each row."""
    flat = [(row, graph) for row, graphs in zip(rows, made, strict=True) for graph in graphs]
    readings = [Reading(row.belief, row.argument, depth_first(graph)) for row, graph in flat]
    odds = scores(choice, *read(kept, readings, features))
    best: dict[str, tuple[float, Graph]] = {}
    for (instance, graph), row in zip(flat, odds, strict=True):
        likely = float(row[CLASSES[instance.stance]])
        if instance.id not in best or likely > best[instance.id][0]:
            best[instance.id] = likely, graph
    return [(row, best[row.id][1]) for row in rows if row.id in best]


class Shelf(NamedTuple):
    kept: Kept
    features: Features
    known: list[Triple]
    fold: dict[str, int]
    instances: list[Instance]

    def rows(self, folds: tuple[int, ...]) -> list[Instance]:
        return [each for each in self.instances if self.fold[each.belief] in folds]


def open_shelf(data: Path) -> Shelf:
    corpus, _ = instances(data)
    kept = Kept()
    features = Features(make_space(kept, corpus, data), kept)
    return Shelf(kept, features, lexical(data), topic_folds(kept, corpus), corpus)


class Taught(NamedTuple):
    """Training data of ``substance``: graphs, how each came about, and its half of the topics."""

    graphs: Pairs
    counts: np.ndarray
    vectors: np.ndarray
    kinds: np.ndarray
    halves: np.ndarray


def fit_generator(shelf: Shelf) -> tuple[Making, list[str], KernelHead]:
    """Return what the generator ships, the beliefs of its cases, and its judge."""
    maker = shelf.rows(MAKER)
    topic = topics_of(shelf.kept, shelf.instances)
    making = fit_making(shelf.kept, maker, shelf.known, shelf.features, topic)
    beliefs = make_cases(maker, shelf.features)[1]
    seen = random.Random(5).sample(maker, min(TAUGHT, len(maker)))
    shown = proposals(making, seen, shelf.features, beliefs)
    made = [(instance, graph) for instance, graphs in zip(seen, shown, strict=True)
            for graph in graphs[:SHOWN]]  # fmt: skip
    return making, beliefs, fit_choice(shelf.kept, maker, made, shelf.features)


def taught(shelf: Shelf, made: list[list[Graph]], choice: KernelHead) -> Taught:
    """Return the graphs of the topics of ``substance`` with what it reads of them."""
    teacher = shelf.rows(TEACHER)
    picked = chosen(choice, teacher, made, shelf.kept, shelf.features)
    second = [(row, graphs[0]) for row, graphs in zip(teacher, made, strict=True) if graphs]
    graphs = {
        "gold": [(instance, instance.graph) for instance in teacher],
        **wrong_graphs(teacher, picked + second),
        "accepted": [(row, graph) for row in teacher for graph, verdict in row.versions
                     if verdict == "correct"],
    }  # fmt: skip
    pairs = [pair for several in graphs.values() for pair in several]
    kinds = np.array([kind for kind, several in graphs.items() for _ in several])
    halves = np.array([shelf.fold[instance.belief] for instance, _ in pairs])
    order, blocks = [], []
    for half, other in (TEACHER, TEACHER[::-1]):
        # Facts of a topic are judged by a form that never saw it, as they will be at last.
        facts = form(f"facts{other}", shelf.kept, shelf.rows((other,)), shelf.known, 0)
        places = np.flatnonzero(halves == half)
        readings = [
            Reading(instance.belief, instance.argument, graph)
            for instance, graph in (pairs[place] for place in places)
        ]
        order.append(places)
        blocks.append(with_parts(facts, shelf.kept, readings, shelf.features))
    back = np.argsort(np.concatenate(order))
    counts, vectors = (
        np.concatenate(parts)[back].astype(float) for parts in zip(*blocks, strict=True)
    )
    return Taught(pairs, counts, vectors, kinds, halves)


def fit_calibrated(given: Taught, part: Part, seed: int) -> tuple[KernelHead, np.ndarray]:
    """Return a judge, and slope and intercept under which 0.5 is as likely right as wrong.

    These are fitted on scores by judges that were taught on the other half of the topics.
    """
    crossed = np.zeros(len(given.kinds))
    for half, other in (TEACHER, TEACHER[::-1]):
        out = given.halves == half
        head = fit_part(given, part, seed, (other,))
        crossed[out] = scores(head, given.counts[out], given.vectors[out])[:, 1]
    pick = np.isin(given.kinds, (part.right, *part.against))
    weights = weighted(
        given.kinds[pick], part.right, {kind: part.shares[kind] for kind in part.against}
    )
    labels = (given.kinds == part.right)[pick].astype(float)
    shares = weights * len(weights) / weights.sum()
    (slope,), bias = fit_logistic(
        crossed[pick, None], labels, penalties=0.0, weights=shares, tolerance=1e-9
    )
    return fit_part(given, part, seed, TEACHER), np.array([slope, bias], np.float32)


def main() -> None:
    data = parser_of(__doc__).parse_args().data
    torch.set_num_threads(1)
    shelf = open_shelf(data)
    kept, features = shelf.kept, shelf.features
    making, beliefs, choice = fit_generator(shelf)
    print("the generator is fitted", flush=True)
    given = taught(shelf, proposals(making, shelf.rows(TEACHER), features, beliefs), choice)
    form("facts", kept, shelf.rows(TEACHER), shelf.known, 0)  # left in its file, which ships
    judges = {part.name: fit_calibrated(given, part, SEED) for part in PARTS}
    arrays = {**choice.arrays("choice"), "phrases": making.phrases,
              "often": np.array([often for _, often in making.words], np.float32)}  # fmt: skip
    for name, (head, scale) in judges.items():
        arrays |= {**head.arrays(name), f"{name}_scale": scale}
    np.savez(WORK / "substance.npz", allow_pickle=False, **arrays)
    (WORK / "concepts.txt").write_text("\n".join(w for w, _ in making.words) + "\n", "utf-8")
    making.cases.save(WORK)


if __name__ == "__main__":
    main()
