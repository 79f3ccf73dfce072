"""Chooses the weights of ``substance`` and validates it, on topics its forms never saw.

PYTHONPATH=src python -m recipes.graphs.substance [--data ../shared/data]
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from recipes.graphs.data import Instance, chains, instances, nonsense
from recipes.graphs.encode import lexical
from recipes.graphs.facts import fit_facts, logits
from recipes.graphs.space import WORK, Kept, topic_folds
from scipy.optimize import minimize

from grice.graphs.graph import Graph
from grice.graphs.substance import substance_parts
from grice.knowledge.plausibility import Bilinear
from grice.records import Triple
from grice.runtime.heads import sigmoid

CROSS = 2
"""Parts in which the weights of ``substance`` are chosen and validated."""
Kinds = dict[str, list[tuple[Instance, Graph]]]


def kinds(found: list[Instance], empty: dict[str, Graph], unseen: dict[str, Graph]) -> Kinds:
    """Return graphs by how they came about; ``chains`` join random phrases of the texts."""
    made: Kinds = {"accepted": [], "failed": [], "perturbed": [], "chains": [], "nonsense": []}
    for one in found:
        for place, (graph, verdict) in enumerate(one.versions):
            if verdict == "correct":
                made["accepted"].append((one, graph))
            elif verdict == "failed" and not (place == 1 and graph == one.versions[-1][0]):
                made["failed"].append((one, graph))
        made["perturbed"] += [(one, graph) for graph, _ in one.perturbed]
        if one.id in empty:
            made["chains"].append((one, empty[one.id]))
        if one.id in unseen:
            made["nonsense"].append((one, unseen[one.id]))
    return made


def parts_of(
    judged: Callable[[list[Triple]], np.ndarray], graphs: list[tuple[Instance, Graph]]
) -> np.ndarray:
    scored = judged([fact for _, graph in graphs for fact in graph.edges])
    ends = np.cumsum([len(graph.edges) for _, graph in graphs])[:-1]
    return np.array(
        [
            substance_parts(graph, one.belief, one.argument, part)
            for (one, graph), part in zip(graphs, np.split(scored, ends), strict=True)
        ]
    )


def plausible(form: Bilinear, kept: Kept, facts: list[Triple]) -> np.ndarray:
    return sigmoid(logits(form, kept, facts).astype(np.float32))


TAUGHT = ("accepted", "failed", "perturbed", "chains")
"""Kinds that the weights are chosen on; the nonsense chain is not among them."""


def fit_weights(parts: dict[str, np.ndarray]) -> np.ndarray:
    """Return logistic weights of accepted graphs against the others, each kind alike."""
    rows = np.concatenate([parts[kind] for kind in TAUGHT])
    goal = np.concatenate([np.full(len(parts[kind]), float(kind == "accepted")) for kind in TAUGHT])
    share = {"accepted": 1.0, "failed": 1 / 3, "perturbed": 1 / 3, "chains": 1 / 3}
    weight = np.concatenate([np.full(len(parts[k]), share[k] / len(parts[k])) for k in TAUGHT])
    rows = np.c_[rows, np.ones(len(rows))]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        out = rows @ flat
        slope = weight * (1 / (1 + np.exp(-out)) - goal)
        value = (weight * (np.logaddexp(0, out) - goal * out)).sum() + 1e-3 * (flat**2).sum()
        return value, rows.T @ slope + 2e-3 * flat

    return minimize(loss, np.zeros(rows.shape[1]), jac=True).x.astype(np.float32)


def area(right: np.ndarray, wrong: np.ndarray) -> float:
    order = np.argsort(np.argsort(np.concatenate([right, wrong]))) + 1
    n = len(right)
    return float((order[:n].sum() - n * (n + 1) / 2) / (n * len(wrong)))


def areas(values: dict[str, np.ndarray], groups: dict[str, list[str]]) -> list[dict[str, object]]:
    """Return the AUC of accepted graphs over each other kind; beliefs are drawn anew."""
    draws = np.random.default_rng(0)
    figures: list[dict[str, object]] = []
    beliefs = sorted({one for group in groups.values() for one in group})
    place = {belief: i for i, belief in enumerate(beliefs)}
    for kind in ("failed", "perturbed", "chains", "nonsense"):
        sides = [(values[k], np.array([place[b] for b in groups[k]])) for k in ("accepted", kind)]
        found = []
        for _ in range(300):
            counts = np.bincount(
                draws.integers(len(beliefs), size=len(beliefs)), minlength=len(beliefs)
            )
            found.append(area(*(np.repeat(v, counts[g]) for v, g in sides)))
        low, high = np.percentile(found, [2.5, 97.5])
        value = area(values["accepted"], values[kind])
        figures.append({
            "on": "train graphs, held-out topics",
            "measure": f"AUC of substance, accepted over {kind}",
            "value": value, "low": float(low), "high": float(high),
            "n": len(values["accepted"]) + len(values[kind]),
        })  # fmt: skip
        print(f"substance, accepted over {kind}: {value:.3f} [{low:.3f}, {high:.3f}]", flush=True)
    return figures


def substance(
    kept: Kept,
    found: list[Instance],
    known: list[Triple],
    fold: dict[str, int],
) -> tuple[np.ndarray, list[dict[str, object]]]:
    """Return the weights, chosen on forms that never saw the topic, and the areas held out."""
    empty, unseen = chains(found), nonsense(found)
    collected: dict[str, list[np.ndarray]] = {}
    where: dict[str, list[str]] = {}
    part_of = {kind: [] for kind in (*TAUGHT, "nonsense")}
    for cross in range(CROSS):
        train = [one for one in found if fold[one.belief] % CROSS != cross]
        test = [one for one in found if fold[one.belief] % CROSS == cross]
        form = fit_facts(kept, train, known, seed=cross)
        judged = partial(plausible, form, kept)
        for kind, graphs in kinds(test, empty, unseen).items():
            collected.setdefault(kind, []).append(parts_of(judged, graphs))
            where.setdefault(kind, []).extend(one.belief for one, _ in graphs)
            part_of[kind] += [cross] * len(graphs)
        print(f"form {cross} of {CROSS}", flush=True)
    parts = {kind: np.concatenate(blocks) for kind, blocks in collected.items()}
    values = {kind: np.zeros(len(block)) for kind, block in parts.items()}
    for cross in range(CROSS):
        out = {kind: np.array(part_of[kind]) == cross for kind in parts}
        weights = fit_weights({kind: parts[kind][~out[kind]] for kind in parts})
        for kind, block in parts.items():
            values[kind][out[kind]] = block[out[kind]] @ weights[:-1] + weights[-1]
    figures = areas(values, where)
    plain = {kind: block[:, 0] for kind, block in parts.items()}
    for kind in ("failed", "perturbed", "chains", "nonsense"):
        print(f"mean plausibility alone over {kind}: {area(plain['accepted'], plain[kind]):.3f}")
    return fit_weights(parts), figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    data = parser.parse_args().data
    torch.set_num_threads(1)
    found, _ = instances(data)
    kept = Kept()
    fold = topic_folds(kept, found)
    weights, figures = substance(kept, found, lexical(data), fold)
    kept_here = {"weights": weights.tolist(), "figures": figures}
    (WORK / "substance.json").write_text(json.dumps(kept_here, indent=1))


if __name__ == "__main__":
    main()
