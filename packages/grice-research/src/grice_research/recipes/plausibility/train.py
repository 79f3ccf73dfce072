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
from grice.models.mlp import Mlp
from grice_research.places import MODELS, work_folder
from grice_research.recipes.common import (
    Steps,
    VectorStore,
    exact_encoder,
    layers_of,
    parser_of,
    update_card,
)
from grice_research.recipes.plausibility.data import (
    ACCENT,
    RELATIONS,
    Example,
    held_out,
    learned,
    training_examples,
)
from grice_research.training_texts import record_texts

FAR = -1e4  # logit of a tail that may be right by chance, so that it is not taken for a wrong one


def triple_features(head: np.ndarray, tail: np.ndarray) -> np.ndarray:
    """Return what the networks read, shape ``(n, 4 * dimensions + 1)``.

    The blocks are the head, the tail, their product, their absolute difference, and their
    cosine.
    """
    # A unit vector has elements of about 1 / sqrt(dimensions): scaled, they are of order one.
    scale = np.float32(np.sqrt(head.shape[1]))
    product = head * tail
    blocks = (
        head * scale,
        tail * scale,
        product * scale**2,
        np.abs(head - tail) * scale,
        product.sum(axis=1, keepdims=True) * np.float32(4),
    )
    return np.concatenate(blocks, axis=1, dtype=np.float32)


class Pairs(NamedTuple):
    """Worded triples as rows of the array of vectors."""

    head: np.ndarray
    tail: np.ndarray
    relation: np.ndarray
    label: np.ndarray
    judged: np.ndarray


class Fitted(NamedTuple):
    head: np.ndarray
    tail: np.ndarray
    shared_head: np.ndarray
    shared_tail: np.ndarray
    scale: np.ndarray


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

    def fitted(self) -> Fitted:
        with torch.no_grad():
            maps = (self.head, self.tail, self.shared_head, self.shared_tail)
            return Fitted(*(2 * part.numpy() for part in maps), self.scale.numpy().copy())


def fit_form(
    vectors: torch.Tensor,
    pairs: Pairs,
    *,
    relations: int,
    seed: int,
    rank: int = 16,
    shared: int = 64,
    steps: int = 3000,
    batch: int = 256,
    rate: float = 2e-3,
    decay: float = 1.0,
    judged_weight: float = 0.25,
) -> Fitted:
    """Fit so that each known tail stands above the other tails of its batch, and each head too.

    A batch holds one relation, so that what differs is the event and never the wording. The
    relations come up in proportion to the root of their number. The strong decay also holds the
    scale near 1: with such soft contrasts the maps come close to the covariance of heads and
    tails, which carries over to other texts better than sharp ones do.
    """
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    model = Form(vectors.shape[1], relations, rank=rank, shared=shared)
    step = Steps(model.parameters(), rate, decay, steps, pct_start=0.1)
    known = [np.flatnonzero((pairs.relation == k) & (pairs.label == 1)) for k in range(relations)]
    judged = [np.flatnonzero((pairs.relation == k) & pairs.judged) for k in range(relations)]
    share = np.sqrt([len(rows) for rows in known])
    for _ in range(steps):
        relation = int(random.choice(relations, p=share / share.sum()))
        rows = random.choice(known[relation], batch)
        loss = _contrast(model, vectors, pairs, rows, relation)
        if judged_weight and len(judged[relation]) > batch:
            rows = random.choice(judged[relation], batch // 4)
            loss = loss + judged_weight * _ranking(model, vectors, pairs, rows, relation)
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


def fit_relations(
    vectors: torch.Tensor,
    head: np.ndarray,
    tail: np.ndarray,
    kinds: np.ndarray,
    *,
    classes: int,
    seed: int,
    hidden: int = 128,
    steps: int = 3000,
    batch: int = 256,
    rate: float = 1e-3,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Fit a network with one hidden layer; every relation comes up equally often, none half."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    model = nn.Sequential(
        nn.Dropout(0.1),
        nn.Linear(4 * vectors.shape[1] + 1, hidden),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(hidden, classes),
    )
    step = Steps(model.parameters(), rate, 0.05, steps, pct_start=0.1)
    pools = [np.flatnonzero(kinds == k) for k in range(classes)]
    share = np.full(classes, 0.5 / (classes - 1))
    share[-1] = 0.5
    model.train()
    for _ in range(steps):
        drawn = random.multinomial(batch, share)
        rows = np.concatenate([random.choice(p, n) for p, n in zip(pools, drawn, strict=True)])
        features = triple_features(vectors[head[rows]].numpy(), vectors[tail[rows]].numpy())
        logits = model(torch.from_numpy(features))
        loss = functional.cross_entropy(logits, torch.from_numpy(kinds[rows]))
        step(loss)
    return layers_of(model)


WORK = work_folder("plausibility")
COSINE = 4.0
"""Weight of the plain cosine beside the fitted one, chosen on the development part of CSKB
Population and the held-out heads: the more of it, the better it carries over to other texts."""
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
    encoder = exact_encoder()
    vectors.add((t for e in examples for t in (e.head, e.tail)), encoder)
    vectors.add((e.event for e in examples), encoder)

    form = fitted_form(examples, vectors, arguments.seed)
    relations = fitted_relations(examples, vectors, arguments.seed)
    arguments.out.mkdir(parents=True, exist_ok=True)
    form.save(arguments.out / "plausibility.npz")
    relations.save(arguments.out / "relations.npz")
    reasons = "; ".join(f"{reason}: {count}" for reason, count in sorted(dropped.items()))
    update_card(
        arguments.out,
        "plausibility",
        files=("plausibility.npz", "relations.npz"),
        excluded=f"rows dropped: {reasons}",
        seeds=[arguments.seed],
    )
    record_texts(arguments.out, learned(examples))


def fitted_form(examples: list[Example], vectors: VectorStore, seed: int) -> Bilinear:
    seen = [e for e in examples if not held_out(e.group)]
    table = vectors.table()
    fitted = fit_form(
        torch.from_numpy(table), as_pairs(seen, vectors), relations=len(RELATIONS), seed=seed
    )
    form = Bilinear(
        np.concatenate([fitted.shared_head, fitted.head], axis=1),
        np.concatenate([fitted.shared_tail, fitted.tail], axis=1),
        cosine=np.full(len(RELATIONS), 1 + COSINE, np.float32),
        scale=fitted.scale,
        bias=np.zeros(len(RELATIONS), np.float32),
        shared=fitted.shared_head.shape[1],
    )
    calibrate(form, examples, vectors)
    return form


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
    relations = torch.from_numpy(np.concatenate([known.relation, wrong.relation]))
    logits = torch.from_numpy(np.concatenate([above, below]))
    labels = torch.cat([torch.ones(len(above)), torch.zeros(len(below))])
    counts = np.bincount(known.relation, minlength=len(RELATIONS))
    weights = torch.from_numpy(1 / counts[relations.numpy()]).float()
    slope = torch.tensor(0.5, requires_grad=True)
    bias = torch.zeros(len(RELATIONS), requires_grad=True)
    optimiser = torch.optim.LBFGS([slope, bias], max_iter=200)

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        each = torch.nn.functional.binary_cross_entropy_with_logits(
            slope * logits + bias[relations], labels, reduction="none"
        )
        value = (each * weights).sum() / weights.sum() + 1e-4 * (bias**2).mean()
        value.backward()
        return value

    optimiser.step(loss)
    form.scale = form.scale * np.float32(slope.item())
    form.bias = bias.detach().numpy().astype(np.float32)


def fitted_relations(examples: list[Example], vectors: VectorStore, seed: int) -> Mlp:
    head, tail, kinds = typed_pairs([e for e in examples if not held_out(e.group)], vectors, seed)
    table = torch.from_numpy(vectors.table())
    return Mlp(fit_relations(table, head, tail, kinds, classes=len(ACCENT) + 1, seed=seed))


def typed_pairs(
    examples: list[Example], vectors: VectorStore, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of heads and of tails as said, and the number of the relation.

    Unrelated pairs join heads and tails of the same triples anew, so that neither side alone
    tells that there is no relation. What happens before something also happens after it, seen
    from the other side.
    """
    known = [e for e in examples if e.label == 1 and e.relation in ACCENT]
    turned = [e for e in examples if e.label == 1 and e.relation == "isBefore"]
    head = vectors.ids([e.head for e in known] + [e.tail for e in turned])
    tail = vectors.ids([e.event for e in known] + [e.head for e in turned])
    kinds = np.array(
        [ACCENT.index(e.relation) for e in known] + [ACCENT.index("isAfter")] * len(turned)
    )
    random = np.random.default_rng(seed)
    share = 1 / np.bincount(kinds)[kinds]
    drawn = random.choice(len(kinds), (2, len(kinds)), p=share / share.sum())
    none = np.full(len(kinds), len(ACCENT))
    return (
        np.concatenate([head, head[drawn[0]]]),
        np.concatenate([tail, tail[drawn[1]]]),
        np.concatenate([kinds, none]),
    )


if __name__ == "__main__":
    main()
