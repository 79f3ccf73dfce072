"""Fits the generator and ``substance`` on topics apart, and validates both on a third part.

PYTHONPATH=src python -m recipes.graphs.substance [--data ../shared/data]
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from recipes.graphs.data import Instance, instances, nonsense
from recipes.graphs.encode import lexical
from recipes.graphs.kernel import fit_kernel, scores
from recipes.graphs.making import (
    CLASSES,
    HELD,
    MAKER,
    TEACHER,
    Making,
    Pairs,
    fit_choice,
    fit_making,
    form,
    in_folds,
    make_cases,
    proposals,
    read,
    some,
    weighted,
    wrong_graphs,
)
from recipes.graphs.space import WORK, Kept, make_space, topic_folds
from scipy.optimize import minimize

from grice.graphs.features import Features, Reading
from grice.graphs.graph import Graph
from grice.graphs.kernel import KernelHead
from grice.graphs.order import depth_first
from grice.graphs.substance import fact_logits, substance_parts
from grice.knowledge.plausibility import Bilinear
from grice.records import Triple
from grice.runtime.heads import sigmoid

SETTINGS = {"share": 0.7, "width": 0.35, "ridge": 1.0, "features": 1536}
SEEDS = (0, 1, 2)
TAUGHT, SHOWN = 500, 3
"""Rows of the generator's topics for which its judge sees what it makes, and how many of each."""
KINDS = ("failed", "perturbed", "moved", "swapped", "chains", "nonsense", "generated", "chosen")


def with_parts(
    facts: Bilinear, kept: Kept, readings: list[Reading], features: Features
) -> tuple[np.ndarray, np.ndarray]:
    """Return what ``substance`` reads of graphs."""
    counts, vectors = read(kept, readings, features)
    parts = [
        substance_parts(*one, sigmoid(fact_logits(facts, kept, one.graph.edges)))
        for one in readings
    ]
    return np.concatenate([counts, np.stack(parts)], axis=1), vectors


def readings_of(graphs: Pairs) -> list[Reading]:
    return [Reading(one.belief, one.argument, graph) for one, graph in graphs]


def fit_substance(
    rows: tuple[np.ndarray, np.ndarray], right: int, wrong: dict[str, Pairs], seed: int,
    part: np.ndarray | None = None,
) -> KernelHead:  # fmt: skip
    """Return the judge of right graphs, which come first, against wrong ones."""
    labels = np.array([1] * right + [0] * (len(rows[0]) - right))
    weights = weighted(right, wrong)
    pick = np.ones(len(labels), bool) if part is None else part
    return fit_kernel(rows[0][pick], rows[1][pick], labels[pick], classes=2,
                      weights=weights[pick], seed=seed, **SETTINGS)  # type: ignore[arg-type]  # fmt: skip


def calibration(values: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return slope and intercept by which a score becomes a log odds."""
    rows = np.c_[values, np.ones(len(values))]
    w = weights / weights.sum()

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        out = rows @ flat
        slope = w * (1 / (1 + np.exp(-out)) - labels)
        return float((w * (np.logaddexp(0, out) - labels * out)).sum()), rows.T @ slope

    return minimize(loss, np.array([1.0, 0.0]), jac=True).x.astype(np.float32)


def area(right: np.ndarray, wrong: np.ndarray) -> float:
    order = np.argsort(np.argsort(np.concatenate([right, wrong]))) + 1
    n = len(right)
    return float((order[:n].sum() - n * (n + 1) / 2) / (n * len(wrong)))


def figures_of(
    values: dict[str, np.ndarray], graphs: dict[str, Pairs], seed: int
) -> list[dict[str, object]]:
    """Return means, and the AUC of accepted graphs over each other kind; beliefs are redrawn."""
    draws = np.random.default_rng(0)
    beliefs = sorted({one.belief for pairs in graphs.values() for one, _ in pairs})
    place = {belief: i for i, belief in enumerate(beliefs)}
    groups = {kind: np.array([place[one.belief] for one, _ in graphs[kind]]) for kind in graphs}
    samples = [np.bincount(draws.integers(len(beliefs), size=len(beliefs)), minlength=len(beliefs))
               for _ in range(300)]  # fmt: skip
    on = "train graphs, topics that neither generator nor substance saw"
    figures: list[dict[str, object]] = []

    def add(measure: str, value: float, found: list[float], n: int) -> None:
        low, high = np.percentile(found, [2.5, 97.5])
        figures.append({"on": on, "measure": f"{measure}, seed {seed}", "value": value,
                        "low": float(low), "high": float(high), "n": n})  # fmt: skip
        print(f"{measure}, seed {seed}: {value:.3f} [{low:.3f}, {high:.3f}]", flush=True)

    for kind, value in values.items():
        drawn = [float(np.average(value, weights=counts[groups[kind]])) for counts in samples]
        add(f"mean substance of {kind} graphs", float(value.mean()), drawn, len(value))
    for kind in KINDS:
        drawn = [
            area(*(np.repeat(values[k], counts[groups[k]]) for k in ("accepted", kind)))
            for counts in samples
        ]
        value = area(values["accepted"], values[kind])
        n = len(values["accepted"]) + len(values[kind])
        add(f"AUC of substance, accepted over {kind}", value, drawn, n)
    return figures


def chosen(choice: KernelHead, rows: list[Instance], made: list[list[Graph]], kept: Kept,
           features: Features) -> Pairs:  # fmt: skip
    """Return the graph that the generator's judge picks for each row."""
    flat = [(one, graph) for one, graphs in zip(rows, made, strict=True) for graph in graphs]
    readings = [Reading(one.belief, one.argument, depth_first(graph)) for one, graph in flat]
    said = scores(choice, *read(kept, readings, features))
    best: dict[str, tuple[float, Graph]] = {}
    for (one, graph), row in zip(flat, said, strict=True):
        likely = float(row[CLASSES[one.stance]])
        if one.id not in best or likely > best[one.id][0]:
            best[one.id] = likely, graph
    return [(one, best[one.id][1]) for one in rows if one.id in best]


def accepted(rows: list[Instance]) -> Pairs:
    return [(one, graph) for one in rows for graph, verdict in one.versions if verdict == "correct"]


class Shelf(NamedTuple):
    """What every step reads."""

    kept: Kept
    features: Features
    known: list[Triple]
    fold: dict[str, int]
    found: list[Instance]

    def rows(self, folds: tuple[int, ...]) -> list[Instance]:
        return in_folds(self.found, self.fold, folds)


class Taught(NamedTuple):
    """What ``substance`` learns from: right graphs first, then wrong ones by kind."""

    right: int
    wrong: dict[str, Pairs]
    rows: tuple[np.ndarray, np.ndarray]
    halves: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        return (np.arange(len(self.halves)) < self.right).astype(float)


def fit_generator(shelf: Shelf) -> tuple[Making, list[str], KernelHead]:
    """Return what the generator ships, the beliefs of its cases, and its judge."""
    maker = shelf.rows(MAKER)
    making = fit_making(shelf.kept, maker, shelf.known, shelf.features)
    beliefs = make_cases(maker, shelf.features)[1]
    seen = some(maker, TAUGHT, 5)
    shown = proposals(making, seen, shelf.features, beliefs)
    made = [(one, graph) for one, graphs in zip(seen, shown, strict=True)
            for graph in graphs[:SHOWN]]  # fmt: skip
    return making, beliefs, fit_choice(shelf.kept, maker, made, shelf.features)


def taught(shelf: Shelf, made: list[list[Graph]], choice: KernelHead) -> Taught:
    """Return the graphs of the topics of ``substance`` with what it reads of them."""
    teacher = shelf.rows(TEACHER)
    picked = chosen(choice, teacher, made, shelf.kept, shelf.features)
    second = [(one, graphs[0]) for one, graphs in zip(teacher, made, strict=True) if graphs]
    wrong = wrong_graphs(teacher, picked + second)
    graphs = [(one, one.graph) for one in teacher]
    graphs += [pair for pairs in wrong.values() for pair in pairs]
    halves = np.array([shelf.fold[one.belief] for one, _ in graphs])
    order, blocks = [], []
    for one, other in (TEACHER, TEACHER[::-1]):
        # Facts of a topic are judged by a form that never saw it, as they will be at last.
        facts = form(f"facts{other}", shelf.kept, shelf.rows((other,)), shelf.known, 0)
        places = np.flatnonzero(halves == one)
        readings = readings_of([graphs[place] for place in places])
        order.append(places)
        blocks.append(with_parts(facts, shelf.kept, readings, shelf.features))
    back = np.argsort(np.concatenate(order))
    counts, vectors = (
        np.concatenate(parts)[back].astype(float) for parts in zip(*blocks, strict=True)
    )
    return Taught(len(teacher), wrong, (counts, vectors), halves)


def test_graphs(shelf: Shelf, made: list[list[Graph]], choice: KernelHead) -> dict[str, Pairs]:
    """Return graphs of topics that nothing here was taught on, by how they came about."""
    held, empty = shelf.rows(HELD), nonsense(shelf.found)
    first = [(one, graph) for one, graphs in zip(held, made, strict=True) for graph in graphs[:1]]
    return {
        "gold": [(one, one.graph) for one in held],
        "accepted": accepted(held),
        **wrong_graphs(held, first),
        "nonsense": [(one, empty[one.id]) for one in held if one.id in empty],
        "chosen": chosen(choice, held, made, shelf.kept, shelf.features),
    }


def fit_calibrated(given: Taught, seed: int) -> tuple[KernelHead, np.ndarray]:
    """Return the judge, and the scale that suits it on topics it did not see."""
    crossed = np.zeros(len(given.halves))
    for one in TEACHER:
        out = given.halves == one
        head = fit_substance(given.rows, given.right, given.wrong, seed, ~out)
        crossed[out] = scores(head, given.rows[0][out], given.rows[1][out])[:, 1]
    scale = calibration(crossed, given.labels, weighted(given.right, given.wrong))
    return fit_substance(given.rows, given.right, given.wrong, seed), scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    data = parser.parse_args().data
    torch.set_num_threads(1)
    found, _ = instances(data)
    kept = Kept()
    features = Features(make_space(kept, found, data), kept)
    shelf = Shelf(kept, features, lexical(data), topic_folds(kept, found), found)
    making, beliefs, choice = fit_generator(shelf)
    print("the generator is fitted", flush=True)
    given = taught(shelf, proposals(making, shelf.rows(TEACHER), features, beliefs), choice)
    facts = form("facts", kept, shelf.rows(TEACHER), shelf.known, 0)
    tests = test_graphs(shelf, proposals(making, shelf.rows(HELD), features, beliefs), choice)
    test_rows = {kind: with_parts(facts, kept, readings_of(pairs), features)
                 for kind, pairs in tests.items()}  # fmt: skip
    fitted = [fit_calibrated(given, seed) for seed in SEEDS]
    figures: list[dict[str, object]] = []
    for seed, (head, scale) in zip(SEEDS, fitted, strict=True):
        values = {kind: sigmoid(scale[0] * scores(head, *rows)[:, 1] + scale[1])
                  for kind, rows in test_rows.items()}  # fmt: skip
        figures += figures_of(values, tests, seed)
    head, scale = fitted[0]
    arrays = {**choice.arrays("choice"), **head.arrays("substance"), "substance_scale": scale,
              "phrases": making.phrases,
              "often": np.array([often for _, often in making.words], np.float32)}  # fmt: skip
    np.savez(WORK / "substance.npz", allow_pickle=False, **arrays)
    (WORK / "concepts.txt").write_text("\n".join(w for w, _ in making.words) + "\n", "utf-8")
    making.cases.save(WORK)
    (WORK / "substance.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
