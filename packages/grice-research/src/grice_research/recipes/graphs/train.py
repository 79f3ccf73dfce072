"""Fits the judges, joins all that the model ``graphs`` holds, and writes its card.

python -m grice_research.recipes.graphs.space --data ../shared/data      (once)
python -m grice_research.recipes.graphs.substance --data ../shared/data
python -m grice_research.recipes.graphs.train --data ../shared/data
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from grice.data import Triple
from grice_research.places import TASK_MODELS
from grice_research.recipes.common import parser_of, update_card
from grice_research.recipes.graphs.data import Instance, denied, instances, judged_graphs, lexical
from grice_research.recipes.graphs.space import (
    WORK,
    Kept,
    fit_kernel,
    make_space,
    scores,
    topic_folds,
)
from grice_research.training_texts import record_texts
from grice_tasks.explagraphs.classifiers import KernelHead
from grice_tasks.explagraphs.features import Features, Reading
from grice_tasks.explagraphs.graph import Graph
from grice_tasks.explagraphs.wording import fact_text, opposite

LABELS = {"support": 0, "counter": 1, "incorrect": 2}
OPPOSITE = {"support": "counter", "counter": "support", "incorrect": "incorrect"}
WEIGHTS = {"judged": 1.0, "unverified": 0.7, "perturbed": 0.2, "flipped": 0.2, "denied": 0.3}
SECA = {"share": 0.7, "width": 0.35, "ridge": 1.0, "features": 3072}
EA = {"share": 0.7, "width": 0.35, "ridge": 1.0, "features": 1024}
STANCE = {"share": 0.3, "width": 0.3, "ridge": 2.0, "features": 1024}


class Example(NamedTuple):
    reading: Reading
    label: int
    kind: str
    fold: int


class Rows(NamedTuple):
    counts: np.ndarray
    vectors: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    kinds: np.ndarray
    folds: np.ndarray


def meaning_examples(instances: list[Instance], fold: dict[str, int]) -> list[Example]:
    """Return graphs with verdicts, and beside them wrong ones that were made.

    A flipped graph denies one fact of a gold graph: it is wrong whatever its number of
    negations says, so that counting them does not pass. Under the denied belief a graph explains
    the other stance.
    """
    draws = random.Random(1)
    examples = [
        Example(Reading(graph.instance.belief, None, graph.graph), LABELS[graph.label], "judged",
                fold[graph.instance.belief])
        for graph in judged_graphs(instances)
    ]  # fmt: skip
    for each in judged_graphs(instances):
        if (other := denied(each.instance.belief)) is not None:
            reading, label = Reading(other, None, each.graph), LABELS[OPPOSITE[each.label]]
            examples.append(Example(reading, label, "denied", fold[each.instance.belief]))
    for judged in instances:
        place = fold[judged.belief]
        if judged.versions[-1][1] == "unknown":
            reading = Reading(judged.belief, None, judged.graph)
            examples.append(Example(reading, LABELS[judged.stance], "unverified", place))
        wrong = [(graph, "perturbed") for graph, _ in judged.perturbed]
        edges = [*judged.graph.edges]
        at = draws.randrange(len(edges))
        edges[at] = Triple(edges[at].head, opposite(edges[at].relation), edges[at].tail)
        wrong.append((Graph(tuple(edges)), "flipped"))
        examples += [Example(Reading(judged.belief, None, g), 2, kind, place) for g, kind in wrong]
    return examples


def stance_examples(
    instances: list[Instance], fold: dict[str, int], *, graph: bool
) -> list[Example]:
    return [
        Example(Reading(instance.belief, instance.argument, instance.graph if graph else Graph(())),
                LABELS[instance.stance], "judged", fold[instance.belief])
        for instance in instances
    ]  # fmt: skip


def rows_of(examples: list[Example], features: Features) -> Rows:
    counts, vectors = zip(*(features.row(each.reading) for each in examples), strict=True)
    _, labels, kinds, folds = zip(*examples, strict=True)
    weights = [WEIGHTS[kind] for kind in kinds]
    return Rows(*map(np.array, (counts, vectors, labels, weights, kinds, folds)))


def fit_rows(rows: Rows, settings: dict[str, float], classes: int, seed: int) -> KernelHead:
    """Return a head; of two stances each counts alike, for only train has more support."""
    if classes == 2:
        count = np.bincount(rows.labels, minlength=2)
        rows = rows._replace(weights=rows.weights * len(rows.labels) / (2 * count[rows.labels]))
    return fit_kernel(rows.counts, rows.vectors, rows.labels, classes=classes,
                      weights=rows.weights, seed=seed, **settings)  # type: ignore[arg-type]  # fmt: skip


def held_out(rows: Rows, settings: dict[str, float], classes: int, seed: int) -> np.ndarray:
    """Return the scores of each row by a head that saw none of its topic."""
    out_of_fold = np.zeros((len(rows.labels), classes))
    for fold in np.unique(rows.folds):
        out = rows.folds == fold
        head = fit_rows(Rows(*(part[~out] for part in rows)), settings, classes, seed)
        out_of_fold[out] = scores(head, rows.counts[out], rows.vectors[out])
    return out_of_fold


def best_offset(odds: np.ndarray, labels: np.ndarray) -> float:
    """Return what to add to ``incorrect`` so that most verdicts are right."""
    steps = np.linspace(-0.4, 0.2, 61)
    right = [((odds + np.array([0, 0, step])).argmax(axis=1) == labels).mean() for step in steps]
    return float(steps[int(np.argmax(right))])


FITTED = ("cases.json", "cases.npz", "concepts.txt", "facts.npz", "links.npz")
"""Output of ``substance.py`` in the work folder, as it ships."""


def _texts(instances: list[Instance], known: list[Triple]) -> Iterator[str]:
    for instance in instances:
        yield from (instance.belief, instance.argument)
        yield from (fact_text(fact) for graph, _ in instance.versions for fact in graph.edges)
    for fact in known:
        yield from (fact.head, fact.tail)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=TASK_MODELS / "graphs")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    corpus, dropped = instances(arguments.data)
    kept = Kept()
    fold = topic_folds(kept, corpus)
    space = make_space(kept, corpus, arguments.data)
    features = Features(space, kept)
    arrays: dict[str, np.ndarray] = {"mean": space.mean, "axes": space.axes.astype(np.float16),
                                     "good": space.good}  # fmt: skip
    for name, examples, settings, classes in (
        ("stance", stance_examples(corpus, fold, graph=False), STANCE, 2),
        ("edges", stance_examples(corpus, fold, graph=True), EA, 2),
        ("meaning", meaning_examples(corpus, fold), SECA, 3),
    ):
        rows = rows_of(examples, features)
        head = fit_rows(rows, settings, classes, seed=0)
        arrays |= head.arrays(name)
        if name == "meaning":
            judged = rows.kinds == "judged"
            offset = best_offset(held_out(rows, settings, classes, 0)[judged], rows.labels[judged])
            arrays["meaning_bias"] = arrays["meaning_bias"] + np.array([0, 0, offset], np.float32)
        print(f"{name}: {len(rows.labels)} rows", flush=True)
    with np.load(WORK / "substance.npz", allow_pickle=False) as fitted:
        arrays |= dict(fitted)
    arguments.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(arguments.out / "judges.npz", allow_pickle=False, **arrays)
    for name in FITTED:
        shutil.copyfile(WORK / name, arguments.out / name)
    excluded = (
        f"rows with a belief or argument of dev or test: {dropped}; failed versions equal to the "
        "final graph: 197"
    )
    update_card(arguments.out, "graphs", files=sorted((*FITTED, "judges.npz")), excluded=excluded)
    record_texts(arguments.out, _texts(corpus, lexical(arguments.data)))


if __name__ == "__main__":
    main()
