"""Fitting the network: turns that were broken, messages and conversations that people rated."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from data import HELD_OUT_KINDS
from scipy.stats import spearmanr
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from grice.runtime.threads import NUMBERS, related_turns, thread_blocks, thread_numbers

if TYPE_CHECKING:
    from pathlib import Path

    from data import Rated, Sample
    from numpy.typing import NDArray
    from vectors import VectorStore

__all__ = ["Material", "ThreadNet", "accuracies", "fit", "pooled_of", "quality_rank", "train"]

HIDDEN, DROPOUT, RATE, DECAY, EPOCHS, BATCH = 160, 0.3, 1e-3, 0.01, 10, 24
LOWEST = 0.25


class Material(NamedTuple):
    """What is learned from, and the vectors of its turns."""

    made: dict[str, list[Any]]
    index: dict[str, int]
    vectors: NDArray[np.float16]
    numbers: dict[int, NDArray[np.float32]]
    """What is slow to compute, by the identity of the sample."""

    @classmethod
    def of(cls, made: dict[str, list[Any]], stores: list[VectorStore]) -> Material:
        index: dict[str, int] = {}
        parts = []
        offset = 0
        for store in stores:
            index |= {text: offset + i for text, i in store.index.items()}
            parts += store.shards
            offset += len(store.index)
        return cls(made, index, np.concatenate(parts), {})

    def features(self, sample: Sample | Rated) -> torch.Tensor:
        rows = [self.index[text] for text in sample.turns]
        vectors = self.vectors[rows].astype(np.float32)
        related = related_turns(vectors, sample.speakers)
        if id(sample) not in self.numbers:
            self.numbers[id(sample)] = thread_numbers(
                vectors, related, sample.speakers, sample.turns
            )
        parts = [thread_blocks(vectors, related), self.numbers[id(sample)]]
        return torch.from_numpy(np.concatenate(parts, axis=1, dtype=np.float32))


class ThreadNet(nn.Module):
    """Two numbers a turn: that it was not broken, and that people would call it good."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5 * 384 + NUMBERS, HIDDEN)
        self.last = nn.Linear(HIDDEN, 2)
        self.drop_in, self.drop = nn.Dropout(0.1), nn.Dropout(DROPOUT)
        self.whole = nn.Linear(2, 1)
        self.quality = nn.Linear(2, 1)
        for pool in (self.whole, self.quality):
            # A random sign would set the outputs of the turns against their own labels.
            pool.weight.data = torch.tensor([[1.0, 0.5]])

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.last(self.drop(torch.relu(self.first(self.drop_in(features)))))

    def conversations(self, outputs: torch.Tensor, sizes: list[int]) -> torch.Tensor:
        """Return mean and lowest-quarter mean of both outputs, shape (conversations, 4)."""
        found = []
        for part in torch.split(outputs, sizes):
            count = max(1, int(LOWEST * len(part)))
            lowest = torch.sort(part, dim=0).values[:count]
            found.append(torch.cat([part.mean(0), lowest.mean(0)]))
        return torch.stack(found)


def _batch(given: Material, chosen: list[Any]) -> tuple[torch.Tensor, list[int]]:
    features = [given.features(one) for one in chosen]
    return torch.cat(features), [len(one) for one in features]


def fit(given: Material, seed: int, out: Path) -> None:
    """Fit one network, and keep it with what it reaches on the held-out conversations."""
    if out.exists():
        return
    net = train(given, given.made["train"], given.made["broken"], seed, EPOCHS)
    torch.save({"net": net.state_dict(), "seed": seed}, out)
    print(f"seed {seed}:", accuracies(net, given), quality_rank(net, given), flush=True)


def train(
    given: Material, whole: list[Sample], bad: list[Sample], seed: int, epochs: int
) -> ThreadNet:
    """Return a network fitted on conversations and their broken twins, and on rated ones."""
    torch.manual_seed(seed)
    draw = np.random.default_rng(seed)
    negatives: dict[tuple[str, str], list[Sample]] = {}
    for one in bad:
        negatives.setdefault((one.source, one.id), []).append(one)
    pairs = [(one, negatives[one.source, one.id]) for one in whole
             if (one.source, one.id) in negatives]  # fmt: skip
    people = [one for one in given.made["rated"] if not one.held_out]
    net = ThreadNet()
    optimiser = torch.optim.AdamW(net.parameters(), RATE, weight_decay=DECAY)
    steps = epochs * (len(pairs) // BATCH + 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    began = time.monotonic()
    for epoch in range(epochs):
        order = draw.permutation(len(pairs))
        total = 0.0
        for start in range(0, len(order) - BATCH + 1, BATCH):
            picked = [pairs[i] for i in order[start : start + BATCH]]
            twins = [ways[draw.integers(len(ways))] for _, ways in picked]
            marked = [people[i] for i in draw.integers(len(people), size=BATCH)]
            loss = _loss(net, given, [one for one, _ in picked], twins, marked)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        print(f"seed {seed}, epoch {epoch + 1}: loss {total / (len(order) // BATCH):.4f}, "
              f"{time.monotonic() - began:.0f} s", flush=True)  # fmt: skip
    return net.eval()


def _loss(
    net: ThreadNet, given: Material, good: list[Sample], bad: list[Sample], marked: list[Rated]
) -> torch.Tensor:
    features, sizes = _batch(given, [*good, *bad, *marked])
    outputs = net(features)
    found = net.conversations(outputs, sizes)
    count = len(good)
    ends = np.cumsum([0, *sizes])
    # Which turns were broken; a turn of an intact conversation was not.
    targets = torch.ones(int(ends[2 * count]))
    for one, start in zip(bad, ends[count : 2 * count], strict=True):
        targets[[int(start) + i for i in one.broken]] = 0
    weight = torch.where(targets == 0, (targets == 1).sum() / (targets == 0).sum().clamp(min=1), 1)
    by_turn = cross_entropy(outputs[: len(targets), 0], targets, weight.float())
    # A conversation against its broken twin: the difference counts, not the corpus.
    logits = net.whole(found[: 2 * count][:, [0, 2]])[:, 0]
    margins = logits[:count] - logits[count:]
    labels = torch.cat([torch.ones(count), torch.zeros(count)])
    by_whole = nn.functional.softplus(-margins).mean() + 0.5 * cross_entropy(logits, labels)
    said = [(int(ends[2 * count + k]) + i, float(mark)) for k, one in enumerate(marked)
            for i, mark in enumerate(one.good) if mark is not None]  # fmt: skip
    by_message = outputs.sum() * 0
    if said:
        places, marks = zip(*said, strict=True)
        by_message = cross_entropy(outputs[list(places), 1], torch.tensor(marks))
    quality = net.quality(found[2 * count :][:, [1, 3]])[:, 0]
    wanted = torch.tensor([(one.quality - 1) / 4 for one in marked])
    return by_turn + by_whole + by_message + cross_entropy(quality, wanted.float())


@torch.no_grad()
def pooled_of(net: ThreadNet, given: Material, chosen: list[Any]) -> NDArray[np.float32]:
    """Return the pooled outputs of conversations, shape (n, 4)."""
    rows = []
    for start in range(0, len(chosen), 64):
        features, sizes = _batch(given, chosen[start : start + 64])
        rows.append(net.conversations(net(features), sizes).numpy())
    return np.concatenate(rows)


def accuracies(net: ThreadNet, given: Material) -> dict[str, float]:
    """Return how often a held-out conversation scores above its broken twin, by kind."""
    weight = net.whole.weight.detach().numpy()[0]
    held = given.made["held"]
    place = {(one.source, one.id): i for i, one in enumerate(held)}
    intact = pooled_of(net, given, held)[:, [0, 2]] @ weight
    found = {}
    for kind in (*HELD_OUT_KINDS, "deam"):
        chosen = [one for one in given.made["held_broken"] if one.kind == kind]
        values = pooled_of(net, given, chosen)[:, [0, 2]] @ weight
        twins = np.array([intact[place[one.source, one.id]] for one in chosen])
        found[kind] = round(float((twins > values).mean()), 3)
    return found


def quality_rank(net: ThreadNet, given: Material) -> dict[str, float]:
    """Return how the outputs rank held-out rated conversations as people do."""
    held = [one for one in given.made["rated"] if one.held_out]
    people = [one.quality for one in held]
    outputs = pooled_of(net, given, held)
    whole = outputs[:, [0, 2]] @ net.whole.weight.detach().numpy()[0]
    quality = outputs[:, [1, 3]] @ net.quality.weight.detach().numpy()[0]
    return {
        "n": len(held),
        "whole": round(float(spearmanr(whole, people).statistic), 3),
        "quality": round(float(spearmanr(quality, people).statistic), 3),
        "turns": round(float(spearmanr([len(one.turns) for one in held], people).statistic), 3),
    }
