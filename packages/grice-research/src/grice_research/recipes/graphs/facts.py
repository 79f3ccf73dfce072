"""Fits how plausible a fact is: a bilinear form per relation on frozen concept vectors.

Right facts: ConceptNet, WordNet's opposites and synonyms, facts of gold graphs. Wrong ones: the
head or tail of another fact, another relation or the opposite one, and two random phrases of one
belief and argument under a random relation, for words of one topic are near without a reason.
"""

from __future__ import annotations

import random

import numpy as np
import torch

from grice.knowledge.plausibility import Bilinear
from grice.records import Triple
from grice_research.recipes.graphs.data import Instance
from grice_research.recipes.graphs.space import Kept
from grice_tasks.explagraphs.informativeness import with_one
from grice_tasks.explagraphs.wording import opposite, phrases, relation_names

SHARED, RANK = 48, 6
WIDTH = 385
"""Dimensions and a constant one, so that a form can also judge head or tail alone."""
BATCH, LEARNING_RATE = 512, 3e-3


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


def fit_facts(
    kept: Kept,
    instances: list[Instance],
    known: list[Triple],
    *,
    epochs: int = 2,
    repeat: int = 4,
    seed: int = 0,
) -> Bilinear:
    """Return the form; gold facts come ``repeat`` times as often as known ones."""
    torch.manual_seed(seed)
    draws = random.Random(seed)
    right = _examples(instances, known, repeat)
    index = {name: i for i, name in enumerate(relation_names())}
    table = torch.from_numpy(with_one(kept.table))
    ids = kept.vectors.index
    form = Form(len(index))
    optimiser = torch.optim.AdamW(form.parameters(), lr=LEARNING_RATE, weight_decay=0.02)
    steps = epochs * (len(right) // BATCH + 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=steps)
    for _ in range(epochs):
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
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return form.shipped()


Phrases = tuple[str, ...]


def _examples(
    instances: list[Instance], known: list[Triple], repeat: int
) -> list[tuple[Triple, Phrases]]:
    """Return right facts, each with the phrases of its texts, if it has texts."""
    right: list[tuple[Triple, Phrases]] = [(fact, ()) for fact in known]
    for instance in instances:
        spoken = tuple(dict.fromkeys(phrases(instance.belief) + phrases(instance.argument)))
        right += [(fact, spoken) for fact in instance.graph.edges] * repeat
    return right


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


def logits(form: Bilinear, kept: Kept, facts: list[Triple]) -> np.ndarray:
    """Return the score of each fact, many at once."""
    index = {name: i for i, name in enumerate(relation_names())}
    head = with_one(kept.rows([fact.head for fact in facts]))
    tail = with_one(kept.rows([fact.tail for fact in facts]))
    products = (head @ form._head) * (tail @ form._tail)
    relation = np.array([index[fact.relation] for fact in facts])
    own = products[:, SHARED:].reshape(len(facts), -1, RANK).sum(axis=2)
    own = own[np.arange(len(facts)), relation]
    cosine = (head * tail).sum(axis=1)
    total = form.cosine[relation] * cosine + products[:, :SHARED].sum(axis=1) + own
    return form.scale[relation] * total + form.bias[relation]
