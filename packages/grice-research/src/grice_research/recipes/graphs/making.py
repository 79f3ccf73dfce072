"""Fits what the generator makes graphs by: facts, phrases, patterns, and the judge that chooses.

All of it is taught on the topics of :data:`MAKER` alone, so that ``substance``, taught on others,
is not what graphs are searched by.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize

from grice.data import Triple
from grice.knowledge.plausibility import Bilinear
from grice_research.recipes.common import Steps, exact_encoder
from grice_research.recipes.graphs.data import (
    Instance,
    chains,
    external_concepts,
    judged_graphs,
    moved,
    swapped,
)
from grice_research.recipes.graphs.space import WORK, Kept, fit_kernel
from grice_tasks.explagraphs.classifiers import KernelHead
from grice_tasks.explagraphs.features import Features, Reading, texts_of, with_one
from grice_tasks.explagraphs.generator import (
    GraphGenerator,
    Slot,
    Template,
    Templates,
    origin,
    phrase_row,
    place_in,
)
from grice_tasks.explagraphs.graph import Graph, depth_first
from grice_tasks.explagraphs.wording import opposite, phrases, relation_names


def template_of(graph: Graph, belief: str, argument: str, stance: str) -> Template | None:
    """Return the pattern of a graph; None if a relation is unknown or it is not connected."""
    number = {name: place for place, name in enumerate(relation_names())}
    texts = (belief.lower(), argument.lower())
    slot = {concept: place for place, concept in enumerate(graph.concepts)}
    if not graph.edges or any(fact.relation not in number for fact in graph.edges):
        return None
    left = [(slot[fact.head], number[fact.relation], slot[fact.tail]) for fact in graph.edges]
    facts = [left.pop(0)]
    reached = {facts[0][0], facts[0][2]}
    while left:
        fact = next((each for each in left if reached & {each[0], each[2]}), None)
        if fact is None:
            return None
        left.remove(fact)
        facts.append(fact)
        reached |= {fact[0], fact[2]}
    slots = []
    for concept in graph.concepts:
        where = origin(concept, *texts)
        start, end = place_in(concept, texts[where == "argument"])
        fresh = concept if where == "outside" else ""
        slots.append(Slot(where, round(start, 2), round(end, 2), fresh))
    return Template(stance, tuple(slots), tuple(facts))


SHARED, RANK = 48, 6
WIDTH = 385  # dimensions and a constant one, so that a form can also judge head or tail alone
BATCH, LEARNING_RATE, EPOCHS = 512, 3e-3, 2


Phrases = tuple[str, ...]
PHRASES, RELATION = 0.35, 0.25
"""Shares of two kinds of wrong facts; the rest has the head or tail of another fact."""


class Form(torch.nn.Module):
    """The trained form of :class:`grice.knowledge.plausibility.Bilinear`."""

    def __init__(self, relations: int) -> None:
        super().__init__()
        width = SHARED + relations * RANK
        self.head = torch.nn.Parameter(torch.randn(WIDTH, width) * 0.05)
        self.tail = torch.nn.Parameter(torch.randn(WIDTH, width) * 0.05)
        self.cosine = torch.nn.Parameter(torch.ones(relations))
        self.scale = torch.nn.Parameter(torch.full((relations,), 4.0))
        self.bias = torch.nn.Parameter(torch.full((relations,), -1.0))

    def forward(
        self, head: torch.Tensor, tail: torch.Tensor, relation: torch.Tensor
    ) -> torch.Tensor:
        shared = ((head @ self.head[:, :SHARED]) * (tail @ self.tail[:, :SHARED])).sum(dim=1)
        own = (head @ self.head[:, SHARED:]) * (tail @ self.tail[:, SHARED:])
        own = own.view(len(head), -1, RANK).sum(dim=2)
        own = own.gather(1, relation[:, None])[:, 0]
        cosine = self.cosine[relation] * (head * tail).sum(dim=1)
        return self.scale[relation] * (cosine + shared + own) + self.bias[relation]

    def shipped(self) -> Bilinear:
        arrays = [part.detach().numpy() for part in (self.head, self.tail)]
        half = [part.astype(np.float16).astype(np.float32) for part in arrays]
        return Bilinear(
            half[0],
            half[1],
            cosine=self.cosine.detach().numpy(),
            scale=self.scale.detach().numpy(),
            bias=self.bias.detach().numpy(),
            shared=SHARED,
        )


REPEAT = 4  # how often gold facts come beside known ones


def fit_facts(kept: Kept, instances: list[Instance], known: list[Triple], seed: int) -> Bilinear:
    """Return the form of facts, fitted on gold and known ones."""
    torch.manual_seed(seed)
    draws = random.Random(seed)
    right: list[tuple[Triple, Phrases]] = [(fact, ()) for fact in known]
    for instance in instances:
        spoken = tuple(dict.fromkeys(phrases(instance.belief) + phrases(instance.argument)))
        right += [(fact, spoken) for fact in instance.graph.edges] * REPEAT
    index = {name: i for i, name in enumerate(relation_names())}
    table = torch.from_numpy(with_one(kept.table))
    ids = kept.vectors.index
    form = Form(len(index))
    step = Steps(form.parameters(), LEARNING_RATE, 0.02, EPOCHS * (len(right) // BATCH + 1))
    for _ in range(EPOCHS):
        draws.shuffle(right)
        for start in range(0, len(right), BATCH):
            batch = right[start : start + BATCH]
            facts = [fact for fact, _ in batch]
            facts += [_wrong(fact, spoken, right, draws) for fact, spoken in batch for _ in "ab"]
            heads = table[[ids[fact.head] for fact in facts]]
            tails = table[[ids[fact.tail] for fact in facts]]
            relation = torch.tensor([index[fact.relation] for fact in facts])
            goal = torch.zeros(len(facts))
            goal[: len(batch)] = 1
            weight = torch.where(goal > 0, 2.0, 1.0)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                form(heads, tails, relation), goal, weight=weight
            )
            step(loss)
    return form.shipped()


def _wrong(
    fact: Triple, spoken: Phrases, right: list[tuple[Triple, Phrases]], draws: random.Random
) -> Triple:
    chance = draws.random()
    if len(spoken) > 1 and chance < PHRASES:
        head, tail = draws.sample(spoken, 2)
        return Triple(head, draws.choice(right)[0].relation, tail)
    if chance < PHRASES + RELATION:
        if draws.random() < 0.5:
            return Triple(fact.head, opposite(fact.relation), fact.tail)
        other = draws.choice(relation_names())
        return Triple(fact.head, other if other != fact.relation else opposite(other), fact.tail)
    other_fact = draws.choice(right)[0]
    if draws.random() < 0.5:
        return Triple(fact.head, fact.relation, other_fact.tail)
    return Triple(other_fact.head, fact.relation, fact.tail)


MAKER, TEACHER = (1, 2), (3, 4)
"""Folds of topics: of the generator, and of ``substance``; the fifth is of neither."""
LARGEST, MOST = 5, 7  # most facts and concepts of a pattern
WIDELY = 3
"""On how many topics people used a word from outside, at least, for the generator to use it too."""
CHOICE = {"share": 0.7, "width": 0.35, "ridge": 1.0, "features": 1024}
CLASSES = {"support": 0, "counter": 1}
Pairs = list[tuple[Instance, Graph]]


class Making(NamedTuple):
    """Parts of the generator that ship."""

    links: Bilinear
    phrases: np.ndarray
    words: list[tuple[str, float]]
    cases: Templates


def form(
    name: str, kept: Kept, instances: list[Instance], known: list[Triple], seed: int
) -> Bilinear:
    """Return a form of facts, kept in the work folder."""
    path = WORK / f"{name}.npz"
    if not path.exists():
        fit_facts(kept, instances, known, seed).save(path)
        print(f"{name}: fitted on {len(instances)} rows", flush=True)
    return Bilinear.load(path)


def chosen_phrases(instances: list[Instance], features: Features) -> np.ndarray:
    """Return weights by which a phrase of a text looks like a concept of the gold graph."""
    listed, goals = [], []
    for instance in instances:
        chosen = set(instance.graph.concepts)
        texts = (instance.belief, instance.argument)
        for text, other in (texts, texts[::-1]):
            for phrase in phrases(text):
                listed.append(phrase_row(phrase, text, other, features))
                goals.append(float(phrase in chosen))
    rows, goal = np.array(listed), np.array(goals)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        out = rows @ flat
        slope = (1 / (1 + np.exp(-out)) - goal) / len(goal)
        value = (np.logaddexp(0, out) - goal * out).mean() + 1e-4 * (flat**2).sum()
        return value, rows.T @ slope + 2e-4 * flat

    return minimize(loss, np.zeros(rows.shape[1]), jac=True).x.astype(np.float32)


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
        sides = (instance.belief, instance.argument)
        texts.append([_unit(features.axes(side)) for side in sides])
        concepts += [_unit(features.axes(concept)) for concept in instance.graph.concepts]
    return Templates(cases, np.array(texts), np.array(concepts)), beliefs


def _unit(axes: np.ndarray) -> np.ndarray:
    return axes / max(float(np.linalg.norm(axes)), 1e-9)


def fit_making(kept: Kept, instances: list[Instance], known: list[Triple], features: Features,
               topic: dict[str, int]) -> Making:  # fmt: skip
    on = {(word, topic[each.belief]) for each in instances for word in external_concepts([each])}
    topics = Counter(word for word, _ in on)
    often = [(w, n) for w, n in external_concepts(instances).most_common() if topics[w] >= WIDELY]
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
        kept.vectors.add(need, exact_encoder())
        kept.table = kept.vectors.table()
    rows = [features.row(reading) for reading in readings]
    return np.stack([counts for counts, _ in rows]), np.stack([vectors for _, vectors in rows])


def wrong_graphs(instances: list[Instance], made: Pairs) -> dict[str, Pairs]:
    """Return graphs that say nothing or the wrong thing, by how they came about."""
    empty, judged = chains(instances), judged_graphs(instances)
    return {
        "failed": [(each.instance, each.graph) for each in judged if each.label == "incorrect"],
        "perturbed": [(each, graph) for each in instances for graph, _ in each.perturbed],
        "moved": moved(instances),
        "swapped": swapped(instances),
        "chains": [(each, empty[each.id]) for each in instances if each.id in empty],
        "generated": made,
    }


MADE = ("perturbed", "moved", "swapped", "chains", "generated")
SHARES = {"failed": 0.5, **dict.fromkeys(MADE, 1.0)}
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
