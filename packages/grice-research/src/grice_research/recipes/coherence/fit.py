"""Fitting the network: turns that were broken, messages and conversations that people rated."""

from __future__ import annotations

import time

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.functional import softplus

from grice.models.dialogue import LOWEST
from grice.models.turn_features import NUMBERS, ORDER
from grice_research.recipes.coherence.arrays import AXES, Item, Prepared
from grice_research.recipes.common import Steps

HIDDEN = 112
DROPPED_IN, DROPPED = 0.1, 0.3
RATE, DECAYED, EPOCHS, BATCH = 1.5e-3, 0.02, 7, 24
WHOLE = 1.5  # weight of the loss on whole conversations, beside one on turns


class ThreadNet(nn.Module):
    """Two numbers a turn: that it was not broken, and that people would call it good."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6 * AXES + NUMBERS + ORDER, HIDDEN)
        self.last = nn.Linear(HIDDEN, 2)
        self.drop_in, self.drop = nn.Dropout(DROPPED_IN), nn.Dropout(DROPPED)
        self.whole, self.quality = nn.Linear(3, 1), nn.Linear(3, 1)
        for pool in (self.whole, self.quality):
            # A random sign would set the outputs of the turns against their own labels.
            pool.weight.data = torch.tensor([[1.0, 0.4, 0.3]])

    def forward(self, read: torch.Tensor) -> torch.Tensor:
        return self.last(self.drop(torch.relu(self.first(self.drop_in(read)))))

    def conversations(self, outputs: torch.Tensor, sizes: list[int]) -> torch.Tensor:
        """Return mean, mean of the lowest quarter and lowest value of both outputs, ``(n, 6)``."""
        columns = []
        for part in torch.split(outputs, sizes):
            count = max(1, int(LOWEST * len(part)))
            ordered = torch.sort(part, dim=0).values
            values = [part.mean(0), ordered[:count].mean(0), ordered[0]]
            columns.append(torch.stack(values, 1).reshape(-1))
        return torch.stack(columns)


def train(given: Prepared, seed: int) -> ThreadNet:
    """Return a network fitted on conversations and their broken twins, and on rated ones if any."""
    torch.manual_seed(seed)
    draw = np.random.default_rng(seed)
    pairs = _pairs(given)
    people = [item for item in given.items.get("rated", ()) if not item.held_out]
    net = ThreadNet()
    step = Steps(net.parameters(), RATE, DECAYED, EPOCHS * (len(pairs) // BATCH))
    began = time.monotonic()
    for epoch in range(EPOCHS):
        order = draw.permutation(len(pairs))
        total = 0.0
        for start in range(0, len(order) - BATCH + 1, BATCH):
            picked = [pairs[i] for i in order[start : start + BATCH]]
            twins = [ways[draw.integers(len(ways))] for _, ways in picked]
            rows = draw.integers(len(people), size=BATCH // 2) if people else ()
            marked = [people[i] for i in rows]
            total += step(_loss(net, given, [item for item, _ in picked], twins, marked))
        print(f"seed {seed}, epoch {epoch + 1}: loss {total / (len(order) // BATCH):.4f}, "
              f"{time.monotonic() - began:.0f} s", flush=True)  # fmt: skip
    return net.eval()


def _pairs(given: Prepared) -> list[tuple[Item, list[Item]]]:
    whole = {item.twin: item for item in given.items["train"] if not item.kind}
    ways: dict[int, list[Item]] = {}
    for item in given.items["train"]:
        if item.kind:
            ways.setdefault(item.twin, []).append(item)
    return [(whole[twin], twins) for twin, twins in ways.items()]


def _loss(
    net: ThreadNet, given: Prepared, good: list[Item], bad: list[Item], marked: list[Item]
) -> torch.Tensor:
    chosen = [*good, *bad, *marked]
    outputs = net(given.read(chosen))
    sizes = [len(chosen_item.rows) for chosen_item in chosen]
    outputs_of_whole = net.conversations(outputs, sizes)
    count = len(good)
    ends = np.cumsum([0, *sizes])
    # Which turns were broken; a turn of an intact conversation was not.
    targets = torch.ones(int(ends[2 * count]))
    for item, start in zip(bad, ends[count : 2 * count], strict=True):
        targets[[int(start) + i for i in item.broken]] = 0
    weight = torch.where(targets == 0, (targets == 1).sum() / (targets == 0).sum().clamp(min=1), 1)
    by_turn = cross_entropy(outputs[: len(targets), 0], targets, weight.float())
    # A conversation against its broken twin: the difference counts, not the corpus.
    logits = net.whole(outputs_of_whole[: 2 * count, :3])[:, 0]
    margins = logits[:count] - logits[count:]
    labels = torch.cat([torch.ones(count), torch.zeros(count)])
    by_whole = softplus(-margins).mean() + 0.5 * cross_entropy(logits, labels)
    total = by_turn + WHOLE * by_whole
    if not marked:
        return total
    return total + _ratings(net, outputs, outputs_of_whole[2 * count :], ends[2 * count :], marked)


def _ratings(
    net: ThreadNet,
    outputs: torch.Tensor,
    read: torch.Tensor,
    starts: NDArray[np.int64],
    marked: list[Item],
) -> torch.Tensor:
    """Return the loss on messages that were called good or bad, and on rated conversations."""
    quality = net.quality(read[:, 3:])[:, 0]
    wanted = torch.tensor([(item.quality - 1) / 4 for item in marked], dtype=torch.float32)
    loss = cross_entropy(quality, wanted)
    places_with_marks = [(int(starts[k]) + i, float(mark)) for k, item in enumerate(marked)
            for i, mark in enumerate(item.good) if mark is not None]  # fmt: skip
    if places_with_marks:
        places, marks = zip(*places_with_marks, strict=True)
        loss = loss + cross_entropy(outputs[list(places), 1], torch.tensor(marks))
    return loss


@torch.no_grad()
def turns_of(net: ThreadNet, given: Prepared, chosen: list[Item]) -> list[NDArray[np.float32]]:
    """Return the outputs of the turns of conversations, ``(turns, 2)`` each."""
    rows = []
    for start in range(0, len(chosen), 64):
        part = chosen[start : start + 64]
        outputs = net(given.read(part))
        rows += [
            output.numpy() for output in torch.split(outputs, [len(item.rows) for item in part])
        ]
    return rows


@torch.no_grad()
def pooled_of(net: ThreadNet, given: Prepared, chosen: list[Item]) -> NDArray[np.float32]:
    """Return the pooled outputs of conversations, shape (n, 6)."""
    turns = turns_of(net, given, chosen)
    odds = net.conversations(torch.from_numpy(np.concatenate(turns)), [len(turn) for turn in turns])
    return odds.numpy()


def wins(intact: NDArray, twins: NDArray, items: list[Item]) -> dict[str, list[bool]]:
    """Return for each kind whether intact conversations score above their broken twins."""
    hits: dict[str, list[bool]] = {}
    for item, value in zip(items, twins, strict=True):
        hits.setdefault(item.kind, []).append(bool(intact[item.twin] > value))
    return hits


def accuracies(net: ThreadNet, given: Prepared) -> dict[str, float]:
    """Return how often a held-out conversation scores above its broken twin, by kind."""
    weight = net.whole.weight.detach().numpy()[0]
    bad = given.items["held_broken"]
    intact, twins = (pooled_of(net, given, group)[:, :3] @ weight
                     for group in (given.items["held"], bad))  # fmt: skip
    return {kind: round(float(np.mean(hits)), 3)
            for kind, hits in wins(intact, twins, bad).items()}  # fmt: skip


def quality_rank(net: ThreadNet, given: Prepared) -> dict[str, float]:
    """Return how the outputs rank held-out rated conversations as people do."""
    held = [item for item in given.items["rated"] if item.held_out]
    people = [item.quality for item in held]
    outputs = pooled_of(net, given, held)
    whole = outputs[:, :3] @ net.whole.weight.detach().numpy()[0]
    quality = outputs[:, 3:] @ net.quality.weight.detach().numpy()[0]
    turns = [len(item.rows) for item in held]
    return {"n": len(held)} | {
        name: round(float(spearmanr(values, people).statistic), 3)
        for name, values in (("whole", whole), ("quality", quality), ("turns", turns))
    }
