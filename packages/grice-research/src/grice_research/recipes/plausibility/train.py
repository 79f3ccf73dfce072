"""Fit the model `plausibility` and write its folder.

python -m grice_research.recipes.plausibility.train [--data ../shared/data] [--seed 0]
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from grice.knowledge.plausibility import Bilinear
from grice_research.places import MODELS, work_folder
from grice_research.recipes.common import (
    Steps,
    VectorStore,
    exact_encoder,
    parser_of,
    update_card,
)
from grice_research.recipes.plausibility.data import (
    RELATIONS,
    Example,
    held_out,
    learned,
    training_examples,
)
from grice_research.training.logistic import fit_logistic
from grice_research.training_texts import record_texts

COSINE = 4.0
"""Weight of the plain cosine beside the fitted one, chosen on the development part of CSKB
Population and the held-out heads: the more of it, the better it carries over to other texts."""
FAR = -1e4  # logit of a tail that may be right by chance, so that it is not taken for a wrong one


class Pairs(NamedTuple):
    """Worded triples as rows of the array of vectors."""

    head: np.ndarray
    tail: np.ndarray
    relation: np.ndarray
    label: np.ndarray
    judged: np.ndarray


class Form(nn.Module):
    """``scale * (cosine + shared form + form of the relation)``."""

    def __init__(self, dimensions: int, relations: int, *, rank: int, shared: int) -> None:
        super().__init__()
        self.rank = rank

        def maps(columns: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(dimensions, columns) * 0.03)

        self.head, self.tail = maps(relations * rank), maps(relations * rank)
        self.shared_head, self.shared_tail = maps(shared), maps(shared)
        self.scale = nn.Parameter(torch.full((relations,), 12.0))

    def towers(self, head: torch.Tensor, tail: torch.Tensor, relation: int) -> tuple:
        """Return vectors whose inner product is the unscaled score."""
        columns = slice(relation * self.rank, (relation + 1) * self.rank)
        left = [head, 2 * head @ self.shared_head, 2 * head @ self.head[:, columns]]
        right = [tail, 2 * tail @ self.shared_tail, 2 * tail @ self.tail[:, columns]]
        return torch.cat(left, dim=1), torch.cat(right, dim=1)

    def fitted(self) -> Bilinear:
        with torch.no_grad():
            maps = ((self.shared_head, self.head), (self.shared_tail, self.tail))
            head, tail = (2 * torch.cat(pair, dim=1).numpy() for pair in maps)
        count = len(self.scale)
        return Bilinear(
            head,
            tail,
            cosine=np.full(count, 1 + COSINE, np.float32),
            scale=self.scale.detach().numpy().copy(),
            bias=np.zeros(count, np.float32),
            shared=self.shared_head.shape[1],
        )


RANK, SHARED, STEPS, BATCH = 16, 64, 3000, 256
FORM_RATE, DECAY, JUDGED_WEIGHT = 2e-3, 1.0, 0.25


def fit_form(vectors: torch.Tensor, pairs: Pairs, *, seed: int) -> Bilinear:
    """Fit so that each known tail stands above the other tails of its batch, and each head too.

    A batch holds one relation, so that what differs is the event and never the wording. The
    relations come up in proportion to the root of their number. The strong decay also holds the
    scale near 1: with such soft contrasts the maps come close to the covariance of heads and
    tails, which carries over to other texts better than sharp ones do.
    """
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    relations = len(RELATIONS)
    model = Form(vectors.shape[1], relations, rank=RANK, shared=SHARED)
    step = Steps(model.parameters(), FORM_RATE, DECAY, STEPS, pct_start=0.1)
    known = [np.flatnonzero((pairs.relation == k) & (pairs.label == 1)) for k in range(relations)]
    judged = [np.flatnonzero((pairs.relation == k) & pairs.judged) for k in range(relations)]
    share = np.sqrt([len(rows) for rows in known])
    for _ in range(STEPS):
        relation = int(random.choice(relations, p=share / share.sum()))
        rows = random.choice(known[relation], BATCH)
        loss = _contrast(model, vectors, pairs, rows, relation)
        if len(judged[relation]) > BATCH:
            rows = random.choice(judged[relation], BATCH // 4)
            loss = loss + JUDGED_WEIGHT * _ranking(model, vectors, pairs, rows, relation)
        step(loss)
    return model.fitted()


def _contrast(
    model: Form, vectors: torch.Tensor, pairs: Pairs, rows: np.ndarray, relation: int
) -> torch.Tensor:
    head, tail = pairs.head[rows], pairs.tail[rows]
    left, right = model.towers(vectors[head], vectors[tail], relation)
    logits = model.scale[relation] * left @ right.T
    alike = (head[:, None] == head) | (tail[:, None] == tail)
    np.fill_diagonal(alike, val=False)
    logits = logits.masked_fill(torch.from_numpy(alike), FAR)
    true = torch.arange(len(rows))
    return (functional.cross_entropy(logits, true) + functional.cross_entropy(logits.T, true)) / 2


def _ranking(
    model: Form, vectors: torch.Tensor, pairs: Pairs, rows: np.ndarray, relation: int
) -> torch.Tensor:
    left, right = model.towers(vectors[pairs.head[rows]], vectors[pairs.tail[rows]], relation)
    scores = model.scale[relation] * (left * right).sum(dim=1)
    right_one = torch.from_numpy(pairs.label[rows] == 1)
    differences = scores[right_one][:, None] - scores[~right_one]
    if not differences.numel():
        return torch.zeros(())
    return functional.softplus(-differences).mean()


WORK = work_folder("plausibility")
JUDGED = ("ethics_virtue", "ecare", "defeasible_nli", "copa_sse")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=MODELS / "plausibility")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    examples, dropped = training_examples(arguments.data)
    print(f"{len(examples):,} examples; {Counter(e.source for e in examples)}; dropped {dropped}")
    vectors = VectorStore(WORK / "vectors")
    vectors.add((t for e in examples for t in (e.head, e.tail, e.event)), exact_encoder())

    seen = [e for e in examples if not held_out(e.group)]
    table = torch.from_numpy(vectors.table())
    form = fit_form(table, as_pairs(seen, vectors), seed=arguments.seed)
    calibrate(form, examples, vectors)
    arguments.out.mkdir(parents=True, exist_ok=True)
    form.save(arguments.out / "plausibility.npz")
    reasons = "; ".join(f"{reason}: {count}" for reason, count in sorted(dropped.items()))
    update_card(
        arguments.out,
        "plausibility",
        files=("plausibility.npz",),
        excluded=f"rows dropped: {reasons}",
        seeds=[arguments.seed],
    )
    record_texts(arguments.out, learned(examples))


def as_pairs(examples: list[Example], vectors: VectorStore) -> Pairs:
    return Pairs(
        vectors.ids(e.head for e in examples),
        vectors.ids(e.tail for e in examples),
        np.array([RELATIONS.index(e.relation) for e in examples]),
        np.array([e.label for e in examples]),
        np.array([e.source in JUDGED for e in examples]),
    )


def mismatched(pairs: Pairs, seed: int = 0) -> tuple[Pairs, Pairs]:
    """Return the known triples, and each of their heads with a tail of another head."""
    known = Pairs(*(part[pairs.label == 1] for part in pairs))
    random = np.random.default_rng(seed)
    tails = known.tail.copy()
    for relation in range(len(RELATIONS)):
        rows = np.flatnonzero(known.relation == relation)
        tails[rows] = tails[random.permutation(rows)]
    return known, known._replace(tail=tails, label=np.zeros(len(tails), int))


def scores(form: Bilinear, pairs: Pairs, table: np.ndarray) -> np.ndarray:
    scores_of_pairs = form(table[pairs.head], table[pairs.tail])
    return scores_of_pairs[np.arange(len(scores_of_pairs)), pairs.relation]


def calibrate(form: Bilinear, examples: list[Example], vectors: VectorStore) -> None:
    """Set scale and bias per relation, so that 0 parts known from mismatched held-out triples.

    One slope for all relations: with few held-out triples of a relation its own would be noise.
    """
    held = as_pairs([e for e in examples if held_out(e.group)], vectors)
    known, wrong = mismatched(held)
    table = vectors.table()
    above, below = scores(form, known, table), scores(form, wrong, table)
    relations = np.concatenate([known.relation, wrong.relation])
    logits, labels = np.concatenate([above, below]), np.repeat([1.0, 0.0], len(above))
    counts = np.bincount(known.relation, minlength=len(RELATIONS))
    columns = [logits[:, None], relations[:, None] == np.arange(len(RELATIONS))]
    weights = 1 / counts[relations]
    fitted = fit_logistic(
        np.concatenate(columns, axis=1).astype(np.float64),
        labels,
        penalties=np.append(0.0, np.full(len(RELATIONS), 1e-4)),
        weights=weights * len(weights) / weights.sum(),
        tolerance=1e-7,
    )
    form.scale = form.scale * np.float32(fitted.weights[0])
    form.bias = (fitted.weights[1:] + fitted.bias).astype(np.float32)


if __name__ == "__main__":
    main()
