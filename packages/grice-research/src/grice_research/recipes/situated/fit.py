"""Fit the bilinear form of place and time (``encode.py`` comes first) and the check of fluency.

    python -m grice_research.recipes.situated.fit

Held out are all facts of a sixth of the entities: they choose the epoch and the settings. Three
seeds are fitted; the best on held-out entities ships.
"""

from __future__ import annotations

import argparse
import json
import random
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from grice.knowledge.plausibility import Bilinear
from grice_research.places import work_folder

WORK = work_folder("situated")
BATCH = 384


class Settings(NamedTuple):
    """How a form is trained."""

    decay: float = 3.0
    rate: float = 1e-3
    epochs: int = 5


class Form(torch.nn.Module):
    """``scale * (cosine + shared form + form of the kind)``, as Bilinear computes it."""

    def __init__(self, dimensions: int, rank: int) -> None:
        super().__init__()
        self.rank = rank
        self.head = torch.nn.Parameter(torch.randn(dimensions, 3 * rank) * 0.02)
        self.tail = torch.nn.Parameter(torch.randn(dimensions, 3 * rank) * 0.02)
        self.scale = torch.nn.Parameter(torch.full((2,), 12.0))

    def forward(self, m: torch.Tensor, e: torch.Tensor, kind: int) -> torch.Tensor:
        """Return scores of every sentence beside every entity."""
        cut = slice(self.rank * (1 + kind), self.rank * (2 + kind))
        shared = slice(0, self.rank)
        form = (m @ self.head[:, shared]) @ (e @ self.tail[:, shared]).T
        own = (m @ self.head[:, cut]) @ (e @ self.tail[:, cut]).T
        return self.scale[kind] * (m @ e.T + form + own)

    def beside(self, m: torch.Tensor, e: torch.Tensor, kind: int) -> torch.Tensor:
        """Return the score of each sentence beside the entity of the same row."""
        cut = slice(self.rank * (1 + kind), self.rank * (2 + kind))
        shared = slice(0, self.rank)
        form = ((m @ self.head[:, shared]) * (e @ self.tail[:, shared])).sum(1)
        own = ((m @ self.head[:, cut]) * (e @ self.tail[:, cut])).sum(1)
        return self.scale[kind] * ((m * e).sum(1) + form + own)


def margins(scores: torch.Tensor) -> torch.Tensor:
    """Return for every two facts how much better they are than their exchange."""
    own = scores.diagonal()
    return own[:, None] + own[None, :] - scores - scores.T


def numbered(names: list[str]) -> np.ndarray:
    """Return a number for each entity, the same with and without its article."""
    bare = [name.lower().removeprefix("the ") for name in names]
    known = {name: i for i, name in enumerate(sorted(set(bare)))}
    return np.array([known[name] for name in bare])


def accuracy(
    form: Form, m: torch.Tensor, e: torch.Tensor, kind: np.ndarray, rows: list[tuple[int, int]]
) -> float:
    """Return the share of pairs that stand above their exchange."""
    right = 0
    with torch.no_grad():
        for which in (0, 1):
            some = [row for row in rows if kind[row[0]] == which]
            if some:
                i, j = (torch.tensor(side) for side in zip(*some, strict=True))
                of = form.beside
                margin = (of(m[i], e[i], which) + of(m[j], e[j], which)
                          - of(m[i], e[j], which) - of(m[j], e[i], which))  # fmt: skip
                right += int((margin > 0).sum())
    return right / len(rows)


def close_pairs(
    sentence: np.ndarray, kind: np.ndarray, ok: Callable[[int, int], bool], most: int
) -> list[tuple[int, int]]:
    """Return pairs of facts whose sentences are alike, as mined pairs are."""
    pairs = []
    rng = random.Random(0)
    for i in rng.sample(range(len(sentence)), min(len(sentence), most)):
        likes = sentence @ sentence[i]
        likes[kind != kind[i]] = -1
        for j in np.argsort(-likes)[1:12]:
            if ok(i, int(j)):
                pairs.append((i, int(j)))
                break
    return pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rank", type=int, default=48)
    parser.add_argument("--decay", type=float, default=3.0)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    packed = np.load(WORK / "facts.npz")
    rows = [json.loads(line) for line in (WORK / "kept.jsonl").open()]
    sentence, entity, kind = (
        packed["sentence"].astype(np.float32), packed["entity"].astype(np.float32), packed["kind"]
    )  # fmt: skip
    names = [row[2] for row in rows]
    held = np.array([zlib.crc32(name.lower().encode()) % 6 == 0 for name in names])
    # A sentence with a held-out entity trains nothing, in whatever role.
    bad = {row[0] for row, out in zip(rows, held, strict=True) if out}
    train_rows = np.flatnonzero([row[0] not in bad for row in rows])
    valid = np.flatnonzero(held)
    print(f"{len(train_rows):,} facts train, {len(valid):,} are held out", flush=True)

    def ok(i: int, j: int) -> bool:
        a, b = names[i].lower(), names[j].lower()
        return not (a in b or b in a or b in rows[i][1].lower() or a in rows[j][1].lower()
                    or rows[i][0] == rows[j][0])  # fmt: skip

    local = close_pairs(sentence[valid], kind[valid], lambda i, j: ok(valid[i], valid[j]), 1500)
    pairs = [(int(valid[i]), int(valid[j])) for i, j in local]
    m, e = torch.from_numpy(sentence), torch.from_numpy(entity)
    zero = Form(sentence.shape[1], 1)
    with torch.no_grad():
        zero.head.zero_()
    print(f"cosine alone: {accuracy(zero, m, e, kind, pairs):.4f} of {len(pairs)}", flush=True)
    best = -1.0
    for seed in range(arguments.seeds):
        torch.manual_seed(seed)
        form = Form(sentence.shape[1], arguments.rank)
        settings = Settings(arguments.decay, arguments.rate, arguments.epochs)
        losses = train(form, m, e, kind, (numbered(names), train_rows), seed, settings)
        for epoch, loss in enumerate(losses):
            right = accuracy(form, m, e, kind, pairs)
            print(f"seed {seed} epoch {epoch}: loss {loss:.4f}, held-out {right:.4f}, "
                  f"scale {form.scale.tolist()}", flush=True)  # fmt: skip
            if right > best:
                best = right
                packed_form(form).save(WORK / "contrast.npz")
    print(f"kept {best:.4f}")


def train(
    form: Form,
    m: torch.Tensor,
    e: torch.Tensor,
    kind: np.ndarray,
    data: tuple[np.ndarray, np.ndarray],
    seed: int,
    settings: Settings,
) -> Iterator[float]:
    """Train a form epoch by epoch; yield the loss of each."""
    who, train = data
    optimiser = torch.optim.AdamW(
        [{"params": [form.head, form.tail], "weight_decay": settings.decay},
         {"params": [form.scale], "weight_decay": 0.0}], lr=settings.rate,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    for _ in range(settings.epochs):
        total, count = 0.0, 0
        for which in (0, 1):
            own = train[kind[train] == which]
            # Neighbours in this order are alike: half of the batches are hard.
            hard = own[np.argsort((m[own] @ torch.randn(m.shape[1])).numpy())]
            for order in (rng.permutation(own), hard):
                for begin in range(0, len(order) - 1, BATCH):
                    part = order[begin : begin + BATCH]
                    scores = form(m[part], e[part], which)
                    good = torch.from_numpy(who[part][:, None] != who[part][None, :])
                    if not good.any():
                        continue
                    loss = torch.nn.functional.softplus(-margins(scores))[good].mean()
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()
                    total, count = total + loss.item(), count + 1
        yield total / count


def packed_form(form: Form) -> Bilinear:
    """Return what the bundle holds."""
    state = {name: value.detach().numpy().copy() for name, value in form.state_dict().items()}
    return Bilinear(
        state["head"], state["tail"], cosine=np.ones(2, np.float32), scale=state["scale"],
        bias=np.zeros(2, np.float32), shared=form.rank,
    )  # fmt: skip


if __name__ == "__main__":
    main()
