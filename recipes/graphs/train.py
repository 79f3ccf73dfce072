"""Trains everything in the bundle ``graphs`` and writes its card.

PYTHONPATH=src python -m recipes.graphs.encode --data ../shared/data      (once)
PYTHONPATH=src python -m recipes.graphs.validate --data ../shared/data
PYTHONPATH=src python -m recipes.graphs.train --data ../shared/data
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np
import torch
from recipes.graphs.card import write_card
from recipes.graphs.data import Instance, external_concepts, instances
from recipes.graphs.encode import lexical
from recipes.graphs.facts import fit_facts
from recipes.graphs.judges import (
    EA,
    SECA,
    STANCE,
    best_offset,
    fit_rows,
    held_out,
    meaning_examples,
    rows_of,
    stance_examples,
)
from recipes.graphs.space import WORK, Kept, make_space, topic_folds
from recipes.graphs.substance import area
from scipy.optimize import minimize

from grice.graphs.features import Features
from grice.graphs.generate import phrase_row
from grice.graphs.wording import phrases

OUT = Path("src/grice/data/bundles/graphs")
VOCABULARY = 1200


def chosen_phrases(found: list[Instance], features: Features) -> np.ndarray:
    """Return weights by which a phrase of a text looks like a concept people choose."""
    rows, goal = [], []
    for one in found:
        chosen = set(one.graph.concepts)
        for text in (one.belief, one.argument):
            other = one.argument if text is one.belief else one.belief
            for phrase in phrases(text):
                rows.append(phrase_row(phrase, text, other, features))
                goal.append(phrase in chosen)
    made, labels = np.array(rows), np.array(goal, float)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        out = made @ flat
        slope = (1 / (1 + np.exp(-out)) - labels) / len(labels)
        value = (np.logaddexp(0, out) - labels * out).mean() + 1e-4 * (flat**2).sum()
        return value, made.T @ slope + 2e-4 * flat

    weights = minimize(loss, np.zeros(made.shape[1]), jac=True).x
    print(f"phrases: {labels.mean():.3f} are concepts, AUC on train "
          f"{area((made @ weights)[labels == 1], (made @ weights)[labels == 0]):.3f}")  # fmt: skip
    return weights.astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found, dropped = instances(arguments.data)
    kept = Kept()
    fold = topic_folds(kept, found)
    space = make_space(kept, found, arguments.data)
    features = Features(space, kept)
    arrays: dict[str, np.ndarray] = {"mean": space.mean, "axes": space.axes.astype(np.float16),
                                     "good": space.good}  # fmt: skip
    for name, examples, settings, classes in (
        ("stance", stance_examples(found, fold, graph=False), STANCE, 2),
        ("edges", stance_examples(found, fold, graph=True), EA, 2),
        ("meaning", meaning_examples(found, fold), SECA, 3),
    ):
        rows = rows_of(examples, features)
        head = fit_rows(rows, settings, classes, seed=0)
        arrays |= head.arrays(name)
        if name == "meaning":
            judged = rows.kinds == "judged"
            offset = best_offset(held_out(rows, settings, classes, 0)[judged], rows.labels[judged])
            arrays["meaning_bias"] = arrays["meaning_bias"] + np.array([0, 0, offset], np.float32)
        print(f"{name}: {len(rows.labels)} rows", flush=True)
    arrays["phrases"] = chosen_phrases(found, features)
    known = lexical(arguments.data)
    empty = json.loads((WORK / "substance.json").read_text())
    arrays["substance"] = np.array(empty["weights"], np.float32)
    arguments.out.mkdir(parents=True, exist_ok=True)
    fit_facts(kept, found, known, seed=0).save(arguments.out / "facts.npz")
    fit_facts(kept, found, known, seed=1).save(arguments.out / "links.npz")
    np.savez_compressed(arguments.out / "judges.npz", allow_pickle=False, **arrays)
    words = [word for word, _ in external_concepts(found).most_common(VOCABULARY)]
    (arguments.out / "concepts.txt").write_text("\n".join(words) + "\n", "utf-8")
    judged = json.loads((WORK / "judges.json").read_text())
    write_card(arguments.out, found, known, dropped, judged + empty["figures"])


if __name__ == "__main__":
    main()
