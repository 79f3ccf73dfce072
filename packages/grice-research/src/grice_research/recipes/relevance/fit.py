"""Fitting one head: the loop, and what is measured on held-out conversations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from grice.models.ranker import history_summary, pair_features
from grice_research.recipes.common import Steps, auc, layers_of, perceptron
from grice_research.recipes.relevance.examples import Examples, Mix, draw_negatives, shorten
from grice_research.training.logistic import fit_logistic

DECAY, HIDDEN, DROPOUT = 0.6, 384, 0.3
RATE, WEIGHT_DECAY, BATCH = 1e-3, 0.01, 512
TOWER_STEPS = 5 * (120_000 // BATCH)
ONE_CORPUS = 0.85  # share of the batches that hold replies of a single corpus


class Towers(nn.Module):
    """Both towers; each adds to the vector it starts from, then scales to unit length."""

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.left = _tower(3 * dimensions, dimensions)
        self.right = _tower(dimensions, dimensions)
        self.log_temperature = nn.Parameter(torch.tensor(2.5))

    def ask(self, summary: torch.Tensor) -> torch.Tensor:
        _, history, _ = summary.chunk(3, dim=1)
        return nn.functional.normalize(history + self.left(summary), dim=1)

    def answer(self, reply: torch.Tensor) -> torch.Tensor:
        return nn.functional.normalize(reply + self.right(reply), dim=1)


def _tower(inputs: int, outputs: int) -> nn.Sequential:
    last = nn.Linear(HIDDEN, outputs)
    with torch.no_grad():  # start near the vectors themselves
        last.weight *= 0.1
        last.bias.zero_()
    return nn.Sequential(nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT), last)


def fit_towers(
    vectors: NDArray[np.float16], train: Examples, weights: NDArray[np.float64], seed: int
) -> Towers:
    """Fit both towers on true replies; the false ones are those of the same batch."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    towers = Towers(vectors.shape[1])
    take = Steps(towers.parameters(), RATE, WEIGHT_DECAY)
    corpora = [np.flatnonzero(train.corpus == number) for number in range(train.corpus.max() + 1)]
    shares = np.array([weights[rows].sum() for rows in corpora])
    began, shown = time.monotonic(), 0.0
    for step in range(TOWER_STEPS):
        if rng.random() < ONE_CORPUS:
            rows = rng.choice(corpora[rng.choice(len(corpora), p=shares)], BATCH)
        else:
            rows = rng.choice(len(weights), BATCH, p=weights)
        loss = _loss(towers, vectors, train, rows, rng)
        shown = 0.98 * shown + 0.02 * take(loss, _rate(step, TOWER_STEPS))
        if step % 200 == 199:
            seconds = time.monotonic() - began
            print(f"towers {seed} step {step + 1} loss {shown:.3f} {seconds:.0f} s", flush=True)
    return towers.eval()


def _loss(
    towers: Towers, vectors: NDArray[np.float16], train: Examples, rows: Ints,
    rng: np.random.Generator,
) -> torch.Tensor:  # fmt: skip
    history, reply = shorten(train.history[rows], rng), train.reply[rows]
    summary = history_summary(vectors[history].astype(np.float32), decay=DECAY)
    scaled = vectors[reply].astype(np.float32) * np.float32(np.sqrt(vectors.shape[1]))
    left, right = towers.ask(torch.from_numpy(summary)), towers.answer(torch.from_numpy(scaled))
    likeness = left @ right.T * towers.log_temperature.exp()
    equal = torch.from_numpy(reply[:, None] == reply[None, :]).fill_diagonal_(False)
    return nn.functional.cross_entropy(likeness.masked_fill(equal, -1e4), torch.arange(len(rows)))


Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Layers = list[tuple[Floats, Floats]]  # weights and biases
HEAD_HIDDEN, EPOCHS = 512, 3
PER_EPOCH = 60_000  # true replies per epoch; each comes with one false reply
RATED = 128  # messages rated by people that are added to every batch of 512 true replies
MIX = Mix(other_corpus=0.1, same_conversation=0.1)


class Material(NamedTuple):
    vectors: NDArray[np.float16]
    train: Examples
    weights: NDArray[np.float64]
    valid: Examples
    rated_train: Examples
    rated_valid: Examples


class Reader:
    """Features of examples by the indices of their texts, as the runtime computes them."""

    def __init__(self, vectors: NDArray[np.float16], towers: Towers) -> None:
        self.vectors = vectors
        self.towers = towers
        scale = np.float32(np.sqrt(vectors.shape[1]))
        with torch.no_grad():
            scaled = (part.astype(np.float32) * scale for (part,) in _slices(8192, vectors))
            answers = (towers.answer(torch.from_numpy(part)).numpy() for part in scaled)
            self.replies = np.concatenate(list(answers))

    def __call__(self, history: Ints, reply: Ints) -> torch.Tensor:
        """Return features of shape (n, features)."""
        left = self.vectors[history].astype(np.float32)
        summary = history_summary(left, decay=DECAY)
        with torch.no_grad():
            asked = self.towers.ask(torch.from_numpy(summary)).numpy()
        right, answered = self.vectors[reply].astype(np.float32), self.replies[reply]
        return torch.from_numpy(pair_features(left, right, (asked, answered), decay=DECAY))


def fit(material: Material, towers: Towers, seed: int) -> tuple[Layers, dict[str, float]]:
    """Fit a head, calibrate it on held-out conversations and measure it there."""
    read = Reader(material.vectors, towers)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    inputs = read(material.valid.history[:1], material.valid.reply[:1]).shape[1]
    net = perceptron(inputs, HEAD_HIDDEN, 1, drop=DROPOUT)
    take = Steps(net.parameters(), RATE, WEIGHT_DECAY)
    steps = EPOCHS * (PER_EPOCH // BATCH)
    step, began = 0, time.monotonic()
    for epoch in range(EPOCHS):
        net.train()
        for features, labels in _batches(material, read, rng):
            loss = nn.functional.binary_cross_entropy_with_logits(net(features)[:, 0], labels)
            take(loss, _rate(step, steps))
            step += 1
        measured = held_out_auc(material, read, net)
        shown = "  ".join(f"{name} {value:.4f}" for name, value in measured.items())
        print(f"seed {seed} epoch {epoch} {time.monotonic() - began:.0f} s  {shown}", flush=True)
    return _calibrated(material, read, net), measured


def _rate(step: int, steps: int) -> float:
    return RATE * min(1, (step + 1) / 100) * max(0.02, 1 - step / steps)


def _batches(
    material: Material, read: Reader, rng: np.random.Generator
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    train, rated = material.train, material.rated_train
    rows = rng.choice(len(train.reply), PER_EPOCH, p=material.weights)
    false = draw_negatives(train, rows, MIX, rng)
    for start in range(0, len(rows) - BATCH + 1, BATCH):
        part = rows[start : start + BATCH]
        people = rng.integers(0, len(rated.reply), RATED)
        before = shorten(train.history[part], rng)
        history = np.concatenate([before, before, shorten(rated.history[people], rng)])
        replies = (train.reply[part], false[start : start + BATCH], rated.reply[people])
        labels = np.concatenate([np.ones(BATCH), np.zeros(BATCH), rated.good[people]])
        features = read(history, np.concatenate(replies))
        yield features, torch.from_numpy(labels.astype(np.float32))


def _logits(read: Reader, net: nn.Module, history: Ints, reply: Ints) -> Floats:
    net.eval()
    with torch.no_grad():
        parts = [net(read(*part))[:, 0] for part in _slices(2048, history, reply)]
    return torch.cat(parts).numpy()


def _slices(size: int, *columns: Ints) -> Iterator[tuple[Ints, ...]]:
    for start in range(0, len(columns[0]), size):
        yield tuple(column[start : start + size] for column in columns)


KINDS = {"random": Mix(), "same_conversation": Mix(same_conversation=1.0)}


def held_out_auc(material: Material, read: Reader, net: nn.Module) -> dict[str, float]:
    """Return how often a true reply beats a false one, and a good message a bad one."""
    valid, rated = material.valid, material.rated_valid
    true = _logits(read, net, valid.history, valid.reply)
    rows = np.arange(len(valid.reply))
    measured = {}
    for name, mix in KINDS.items():
        false = draw_negatives(valid, rows, mix, np.random.default_rng(7))
        values = np.concatenate([true, _logits(read, net, valid.history, false)])
        measured[name] = auc(values, np.repeat([1, 0], len(rows)))
    people = _logits(read, net, rated.history, rated.reply)
    measured["people"] = auc(people, rated.good)
    return measured


def _calibrated(material: Material, read: Reader, net: nn.Sequential) -> Layers:
    """Return the layers, the last one scaled and shifted by what held-out replies say.

    Scale and shift are those of a logistic regression on true replies and as many random replies
    of the same corpus: afterwards 0.5 is the point where both are equally likely.
    """
    valid = material.valid
    rows = np.arange(len(valid.reply))
    false = draw_negatives(valid, rows, Mix(), np.random.default_rng(8))
    replies = (valid.reply, false)
    logits = np.concatenate([_logits(read, net, valid.history, reply) for reply in replies])
    labels = np.repeat([1.0, 0.0], len(rows))
    column = logits.astype(np.float64)[:, None]
    (scale,), shift = fit_logistic(column, labels, penalties=0.0, tolerance=1e-9)
    layers = layers_of(net)
    weight, bias = layers[-1]
    layers[-1] = (weight * np.float32(scale), bias * np.float32(scale) + np.float32(shift))
    return layers
