"""Fits the generator and ``substance`` on topics apart, and validates both on a third part.

PYTHONPATH=src python -m recipes.graphs.substance [--data ../shared/data]
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    data = parser.parse_args().data
    torch.set_num_threads(1)
    found, _ = instances(data)
    kept = Kept()
    fold = topic_folds(kept, found)
    features = Features(make_space(kept, found, data), kept)
    known = lexical(data)
    maker, teacher, held = (in_folds(found, fold, part) for part in (MAKER, TEACHER, HELD))

    making = fit_making(kept, maker, known, features)
    beliefs = make_cases(maker, features)[1]
    seen = some(maker, TAUGHT, 5)
    shown = proposals(making, seen, features, beliefs)
    choice = fit_choice(kept, maker, [(one, graph) for one, graphs in zip(seen, shown, strict=True)
                                      for graph in graphs[:SHOWN]], features)  # fmt: skip
    print("the generator is fitted", flush=True)

    made = proposals(making, teacher, features, beliefs)
    picked = chosen(choice, teacher, made, kept, features)
    second = [(one, graphs[0]) for one, graphs in zip(teacher, made, strict=True) if graphs]
    wrong = wrong_graphs(teacher, picked + second)
    right = [(one, one.graph) for one in teacher]
    graphs = right + [pair for pairs in wrong.values() for pair in pairs]
    halves = np.array([fold[one.belief] for one, _ in graphs])
    rows: tuple[np.ndarray, np.ndarray] | None = None
    for one, other in (TEACHER, TEACHER[::-1]):
        # Facts of a topic are judged by a form that never saw it, as they will be at last.
        facts = form(f"facts{other}", kept, in_folds(found, fold, (other,)), known, 0)
        part = halves == one
        readings = [r for r, use in zip(readings_of(graphs), part, strict=True) if use]
        counts, vectors = with_parts(facts, kept, readings, features)
        if rows is None:
            rows = (
                np.zeros((len(graphs), counts.shape[1])),
                np.zeros((len(graphs), vectors.shape[1])),
            )
        rows[0][part], rows[1][part] = counts, vectors
    assert rows is not None
    labels = np.array([1.0] * len(right) + [0.0] * (len(graphs) - len(right)))

    facts = form("facts", kept, teacher, known, 0)
    unseen = nonsense(found)
    held_made = proposals(making, held, features, beliefs)
    shown_held = [(one, graph) for one, graphs in zip(held, held_made, strict=True)
                  for graph in graphs[:1]]  # fmt: skip
    tests: dict[str, Pairs] = {
        "gold": [(one, one.graph) for one in held],
        "accepted": accepted(held),
        **wrong_graphs(held, shown_held),
        "nonsense": [(one, unseen[one.id]) for one in held if one.id in unseen],
        "chosen": chosen(choice, held, held_made, kept, features),
    }
    test_rows = {kind: with_parts(facts, kept, readings_of(pairs), features)
                 for kind, pairs in tests.items()}  # fmt: skip
    figures: list[dict[str, object]] = []
    shipped: tuple[KernelHead, np.ndarray] | None = None
    for seed in SEEDS:
        crossed = np.zeros(len(graphs))
        for one in TEACHER:
            out = halves == one
            head = fit_substance(rows, len(right), wrong, seed, ~out)
            crossed[out] = scores(head, rows[0][out], rows[1][out])[:, 1]
        scale = calibration(crossed, labels, weighted(len(right), wrong))
        head = fit_substance(rows, len(right), wrong, seed)
        shipped = shipped or (head, scale)
        values = {kind: sigmoid(scale[0] * scores(head, *made_rows)[:, 1] + scale[1])
                  for kind, made_rows in test_rows.items()}  # fmt: skip
        figures += figures_of(values, tests, seed)
    assert shipped is not None
    arrays = {**choice.arrays("choice"), **shipped[0].arrays("substance"),
              "substance_scale": shipped[1], "phrases": making.phrases,
              "often": np.array([often for _, often in making.words], np.float32)}  # fmt: skip
    np.savez(WORK / "substance.npz", allow_pickle=False, **arrays)
    (WORK / "concepts.txt").write_text("\n".join(w for w, _ in making.words) + "\n", "utf-8")
    making.cases.save(WORK)
    (WORK / "substance.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
