"""Fits the two networks of the bundle on frozen vectors (torch, one thread)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

NO_RELATION = "none"
"""The last output of the network of relations: two events have nothing to do with each other."""

FAR = -1e4
"""Logit of a tail that may be right by chance, so that it is not taken for a wrong one."""


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
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, rate, total_steps=steps, pct_start=0.1
    )
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
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
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
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, rate, total_steps=steps, pct_start=0.1
    )
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
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return [
        (layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
        for layer in (model[1], model[4])
    ]
