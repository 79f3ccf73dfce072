"""Fits what the generator makes graphs by: facts, phrases, patterns, and the judge that chooses.

All of it is taught on the topics of :data:`MAKER` alone, so that ``substance``, taught on others,
is not what graphs are searched by.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from grice.knowledge.plausibility import Bilinear
from grice.records import Triple
from grice_research.recipes.graphs.data import (
    Instance,
    chains,
    external_concepts,
    judged_graphs,
    moved,
    swapped,
)
from grice_research.recipes.graphs.encode import encoder
from grice_research.recipes.graphs.facts import fit_facts
from grice_research.recipes.graphs.kernel import fit_kernel
from grice_research.recipes.graphs.patterns import template_of
from grice_research.recipes.graphs.space import WORK, Kept
from grice_tasks.explagraphs.candidates import phrase_row
from grice_tasks.explagraphs.features import Features, Reading, texts_of
from grice_tasks.explagraphs.generator import GraphGenerator
from grice_tasks.explagraphs.graph import Graph
from grice_tasks.explagraphs.kernel import KernelHead
from grice_tasks.explagraphs.order import depth_first
from grice_tasks.explagraphs.templates import Template, Templates
from grice_tasks.explagraphs.wording import phrases

MAKER, TEACHER, HELD = (1, 2), (3, 4), (0,)
"""Folds of topics: of the generator, of ``substance``, and of neither."""
LARGEST, MOST = 5, 7
"""Most facts and concepts of a pattern."""
WIDELY = 3
"""On how many topics people used a word from outside, at least, for the generator to use it too."""
CHOICE = {"share": 0.7, "width": 0.35, "ridge": 1.0, "features": 1024}
CLASSES = {"support": 0, "counter": 1}
Pairs = list[tuple[Instance, Graph]]


class Making(NamedTuple):
    """What the generator ships."""

    links: Bilinear
    phrases: np.ndarray
    words: list[tuple[str, float]]
    cases: Templates


def in_folds(
    instances: list[Instance], fold: dict[str, int], folds: tuple[int, ...]
) -> list[Instance]:
    return [instance for instance in instances if fold[instance.belief] in folds]


def form(
    name: str, kept: Kept, instances: list[Instance], known: list[Triple], seed: int
) -> Bilinear:
    """Return a form of facts, kept in the work folder."""
    path = WORK / f"{name}.npz"
    if not path.exists():
        fit_facts(kept, instances, known, seed=seed).save(path)
        print(f"{name}: fitted on {len(instances)} rows", flush=True)
    return Bilinear.load(path)


def chosen_phrases(instances: list[Instance], features: Features) -> np.ndarray:
    """Return weights by which a phrase of a text looks like a concept people choose."""
    rows, goal = phrase_table(instances, features)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        out = rows @ flat
        slope = (1 / (1 + np.exp(-out)) - goal) / len(goal)
        value = (np.logaddexp(0, out) - goal * out).mean() + 1e-4 * (flat**2).sum()
        return value, rows.T @ slope + 2e-4 * flat

    return minimize(loss, np.zeros(rows.shape[1]), jac=True).x.astype(np.float32)


def phrase_table(instances: list[Instance], features: Features) -> tuple[np.ndarray, np.ndarray]:
    """Return a row for each phrase, and whether it is a concept of the gold graph."""
    rows, goal = [], []
    for instance in instances:
        chosen = set(instance.graph.concepts)
        for text, other in (
            (instance.belief, instance.argument),
            (instance.argument, instance.belief),
        ):
            for phrase in phrases(text):
                rows.append(phrase_row(phrase, text, other, features))
                goal.append(float(phrase in chosen))
    return np.array(rows), np.array(goal)


def make_cases(instances: list[Instance], features: Features) -> tuple[Templates, list[str]]:
    """Return the patterns of gold graphs, and the belief of each."""
    cases: list[Template] = []
    texts, concepts, beliefs = [], [], []
    for instance in instances:
        case = template_of(instance.graph, instance.belief, instance.argument, instance.stance)
        if case is None or len(case.facts) > LARGEST or len(case.slots) > MOST:
            continue
        cases.append(case)
        beliefs.append(instance.belief)
        texts.append(
            [_unit(features.axes(instance.belief)), _unit(features.axes(instance.argument))]
        )
        concepts += [_unit(features.axes(concept)) for concept in instance.graph.concepts]
    return Templates(cases, np.array(texts), np.array(concepts)), beliefs


def _unit(axes: np.ndarray) -> np.ndarray:
    return axes / max(float(np.linalg.norm(axes)), 1e-9)


def topics_of_words(instances: list[Instance], topic: dict[str, int]) -> dict[str, set[int]]:
    """Return on which topics people used each concept that stands in neither text."""
    used: dict[str, set[int]] = {}
    for instance in instances:
        for word in external_concepts([instance]):
            used.setdefault(word, set()).add(topic[instance.belief])
    return used


def fit_making(kept: Kept, instances: list[Instance], known: list[Triple], features: Features,
               topic: dict[str, int]) -> Making:  # fmt: skip
    wide = {word for word, on in topics_of_words(instances, topic).items() if len(on) >= WIDELY}
    often = [(w, n) for w, n in external_concepts(instances).most_common() if w in wide]
    return Making(
        form("links", kept, instances, known, 1),
        chosen_phrases(instances, features),
        [(word, float(np.log(count))) for word, count in often],
        make_cases(instances, features)[0],
    )


def without(cases: Templates, beliefs: list[str], belief: str) -> Templates:
    """Return the cases that are about another belief."""
    keep = [place for place, other in enumerate(beliefs) if other != belief]
    if len(keep) == len(beliefs):
        return cases
    concepts = np.concatenate([cases._concepts[place] for place in keep])
    return Templates([cases.templates[place] for place in keep], cases._texts[keep], concepts)


def proposals(
    making: Making, rows: list[Instance], features: Features, beliefs: list[str]
) -> list[list[Graph]]:
    """Return what the generator proposes for each row; no case is about the row's own belief."""
    made = []
    for row in rows:
        cases = without(making.cases, beliefs, row.belief)
        maker = GraphGenerator(features, making.links, making.phrases, making.words, cases)
        made.append(maker.proposals(row.belief, row.argument, row.stance))  # type: ignore[arg-type]
    return made


def read(kept: Kept, readings: list[Reading], features: Features) -> tuple[np.ndarray, np.ndarray]:
    """Return counts and vectors of readings; new texts are encoded and kept."""
    need = [text for text in texts_of(readings) if text not in kept.vectors.index]
    if need:
        kept.vectors.add(need, encoder())
        kept.table = kept.vectors.table()
    rows = [features.row(reading) for reading in readings]
    return np.stack([counts for counts, _ in rows]), np.stack([vectors for _, vectors in rows])


def refused(instances: list[Instance]) -> Pairs:
    """Return the versions that people did not accept."""
    return [
        (graph.instance, graph.graph)
        for graph in judged_graphs(instances)
        if graph.label == "incorrect"
    ]


def wrong_graphs(instances: list[Instance], made: Pairs) -> dict[str, Pairs]:
    """Return graphs that say nothing or the wrong thing, by how they came about."""
    empty = chains(instances)
    return {
        "failed": refused(instances),
        "perturbed": [
            (instance, graph) for instance in instances for graph, _ in instance.perturbed
        ],
        "moved": moved(instances),
        "swapped": swapped(instances),
        "chains": [
            (instance, empty[instance.id]) for instance in instances if instance.id in empty
        ],
        "generated": made,
    }


SHARES = {
    "failed": 0.5,
    "perturbed": 1.0,
    "moved": 1.0,
    "swapped": 1.0,
    "chains": 1.0,
    "generated": 1.0,
}
"""How much each kind of wrong graph counts to the judge that chooses, whatever their number. That
failed ones count half is for their verdicts: a majority of people took them for another stance,
not for nonsense."""


def weighted(kinds: np.ndarray, right: str, shares: dict[str, float]) -> np.ndarray:
    """Return weights under which right and wrong graphs count alike; the mean is 1."""
    total = sum(shares.values())
    weights = np.zeros(len(kinds))
    for kind, share in ((right, total), *shares.items()):
        here = kinds == kind
        weights[here] = 0.5 * share / total / here.sum()
    return weights * (weights > 0).sum()


def fit_choice(
    kept: Kept, instances: list[Instance], made: Pairs, features: Features, seed: int = 0
) -> KernelHead:
    """Return the judge that chooses: support, counter, or made wrong; it sees the argument."""
    wrong = wrong_graphs(instances, made)
    graphs = {"gold": [(instance, instance.graph) for instance in instances], **wrong}
    kinds = np.array([kind for kind, pairs in graphs.items() for _ in pairs])
    readings = [Reading(instance.belief, instance.argument, depth_first(graph))
                for pairs in graphs.values() for instance, graph in pairs]  # fmt: skip
    counts, vectors = read(kept, readings, features)
    labels = np.full(len(kinds), 2)
    labels[kinds == "gold"] = [CLASSES[instance.stance] for instance in instances]
    weights = weighted(kinds, "gold", SHARES)
    for side in (0, 1):
        chosen = labels == side
        weights[chosen] *= weights[labels < 2].sum() / 2 / weights[chosen].sum()
    return fit_kernel(counts, vectors, labels, classes=3, weights=weights, seed=seed, **CHOICE)  # type: ignore[arg-type]


def some(rows: list[Instance], count: int, seed: int) -> list[Instance]:
    return random.Random(seed).sample(rows, min(count, len(rows)))
