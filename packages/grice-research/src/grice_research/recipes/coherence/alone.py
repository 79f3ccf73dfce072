"""How a turn sounds by itself: who wrote it, and whether people liked such conversations.

Small networks read the vector of a turn and nothing around it, so that what they say of a
conversation does not change with the order of its turns. Three things are learned together from
ConvAI 2017: whether a person or a chatbot wrote a message, whether it was called good, and, as the
mean over the turns, the rating of the conversation with what its length says taken out.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from grice.metrics.coherence.dialogues import ALONE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice_research.recipes.coherence.arrays import Vectors
    from grice_research.recipes.coherence.data import Rated

HIDDEN, DROPPED_IN, DROPPED = 32, 0.1, 0.4
RATE, DECAYED, EPOCHS, BATCH = 2e-3, 0.05, 8, 16
SEEDS, FOLDS = (0, 1, 2), 5


class Alone(NamedTuple):
    """What the networks say."""

    layers: list[tuple[NDArray[np.float32], NDArray[np.float32]]]
    rated: list[NDArray[np.float32]]

    @classmethod
    def load(cls, path: Path) -> Alone:
        alone: Alone = cls(*pickle.loads(path.read_bytes()))
        return alone

    def outputs(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return three numbers a turn, high is good."""
        (first, bias), (last, shift) = self.layers
        read = vectors * np.float32(np.sqrt(vectors.shape[1]))
        odds: NDArray[np.float32] = np.maximum(read @ first + bias, 0) @ last + shift
        return odds


class _Turns(NamedTuple):
    """The turns of all rated conversations, one below the other; without a label, ``nan``."""

    read: torch.Tensor
    person: torch.Tensor
    good: torch.Tensor
    ends: NDArray[np.int64]
    sizes: NDArray[np.int64]
    quality: NDArray[np.float64]

    @classmethod
    def of(cls, rated: Sequence[Rated], vectors: Vectors) -> _Turns:
        rows = np.concatenate([vectors.places(dialogue.turns) for dialogue in rated])
        read = vectors.rows[rows].astype(np.float32)
        sizes = np.array([len(dialogue.turns) for dialogue in rated])
        good = [np.nan if mark is None else mark for dialogue in rated for mark in dialogue.good]
        return cls(
            torch.from_numpy(read * np.float32(np.sqrt(read.shape[1]))),
            torch.tensor(
                [mark for dialogue in rated for mark in dialogue.by_person], dtype=torch.float32
            ),
            torch.tensor(good, dtype=torch.float32),
            np.cumsum(sizes),
            sizes,
            np.array([dialogue.quality for dialogue in rated]),
        )

    def rows(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([np.arange(self.ends[i] - self.sizes[i], self.ends[i])
                               for i in chosen])  # fmt: skip


def fit_alone(rated: Sequence[Rated], vectors: Vectors, out: Path) -> None:
    """Fit the networks, and those of every fold for what the others are to be weighed by."""
    turns = _Turns.of(rated, vectors)
    train = np.array([i for i, dialogue in enumerate(rated) if not dialogue.held_out])
    odds = np.zeros((len(turns.read), ALONE), np.float32)
    nets = []
    for seed in SEEDS:
        nets.append(_fitted(turns, train, seed))
        whole = _odds(nets[-1], turns)
        fold = np.random.default_rng(seed).integers(FOLDS, size=len(train))
        for k in range(FOLDS):
            net = _fitted(turns, train[fold != k], 100 * (seed + 1) + k)
            rows = turns.rows(train[fold == k])
            whole[rows] = _odds(net, turns)[rows]
        odds += whole / len(SEEDS)
    parts = np.split(odds, turns.ends[:-1])
    out.write_bytes(pickle.dumps(tuple(Alone(_joined(nets), parts))))


def _joined(nets: list[nn.Sequential]) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    firsts, lasts = ([net[place] for net in nets] for place in (1, 4))
    with torch.no_grad():
        first = (
            torch.cat([layer.weight for layer in firsts]).T,
            torch.cat([layer.bias for layer in firsts]),
        )
        last = (torch.cat([layer.weight for layer in lasts], 1).T / len(nets),
                torch.stack([layer.bias for layer in lasts]).mean(0))  # fmt: skip
    return [(weight.numpy().copy(), bias.numpy()) for weight, bias in (first, last)]


@torch.no_grad()
def _odds(net: nn.Sequential, turns: _Turns) -> NDArray[np.float32]:
    odds: NDArray[np.float32] = net(turns.read).numpy()
    return odds


def _fitted(turns: _Turns, chosen: NDArray[np.int64], seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    draw = np.random.default_rng(seed)
    net = nn.Sequential(nn.Dropout(DROPPED_IN), nn.Linear(turns.read.shape[1], HIDDEN), nn.ReLU(),
                        nn.Dropout(DROPPED), nn.Linear(HIDDEN, ALONE))  # fmt: skip
    optimiser = torch.optim.AdamW(net.parameters(), RATE, weight_decay=DECAYED)
    steps = EPOCHS * (len(chosen) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    liked = np.zeros(len(turns.sizes), np.float32)
    left = without_length(turns.quality[chosen], turns.sizes[chosen])
    liked[chosen] = left / left.std()
    for _ in range(EPOCHS):
        order = draw.permutation(chosen)
        for start in range(0, len(order) - BATCH + 1, BATCH):
            some = order[start : start + BATCH]
            loss = _loss(net, turns, some, torch.from_numpy(liked[some]))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return net.eval()


def _loss(
    net: nn.Sequential, turns: _Turns, some: NDArray[np.int64], liked: torch.Tensor
) -> torch.Tensor:
    rows = torch.from_numpy(turns.rows(some))
    outputs = net(turns.read[rows])
    loss = cross_entropy(outputs[:, 0], turns.person[rows])
    marked = ~torch.isnan(turns.good[rows])
    if marked.any():
        loss = loss + cross_entropy(outputs[marked, 1], turns.good[rows][marked])
    sizes = torch.from_numpy(turns.sizes[some])
    group = torch.repeat_interleave(torch.arange(len(some)), sizes)
    means = torch.zeros(len(some)).index_add(0, group, outputs[:, 2]) / sizes
    return loss + ((means - liked) ** 2).mean()


def without_length(values: NDArray, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what is left of values of conversations when what their length says is taken out."""
    length = np.log(sizes)
    known = np.column_stack([np.ones(len(length)), length])
    left: NDArray[np.float64] = values - known @ np.linalg.lstsq(known, values, rcond=None)[0]
    return left
