"""Fitting the two towers: the side that speaks and the side that answers, brought together.

Each history must find its own reply among all replies of the batch (a softmax over cosines), so
one history sees hundreds of false replies. Most batches are of one corpus: then only what is said
tells replies apart, not the kind of talk.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import nn

from grice.metrics.relevance.pairs import history_summary
from grice_research.recipes.relevance.examples import shorten

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grice_research.recipes.relevance.examples import Examples

    Ints = NDArray[np.int64]


class TowerSettings(NamedTuple):
    """Everything that was tried in more than one way."""

    decay: float = 0.6
    hidden: int = 384
    dropout: float = 0.3
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    epochs: int = 5
    per_epoch: int = 120_000
    batch: int = 512
    one_corpus: float = 0.85
    """Share of the batches that hold replies of a single corpus."""
    one_turn: float = 0.3
    two_turns: float = 0.15


class Towers(nn.Module):
    """Both towers; each adds to the vector it starts from, then scales to unit length."""

    def __init__(self, dimensions: int, settings: TowerSettings) -> None:
        super().__init__()
        self.decay = settings.decay
        self.left = _tower(3 * dimensions, dimensions, settings)
        self.right = _tower(dimensions, dimensions, settings)
        self.log_temperature = nn.Parameter(torch.tensor(2.5))

    def ask(self, summary: torch.Tensor) -> torch.Tensor:
        """Return unit vectors of histories from their summaries."""
        _, history, _ = summary.chunk(3, dim=1)
        return nn.functional.normalize(history + self.left(summary), dim=1)

    def answer(self, reply: torch.Tensor) -> torch.Tensor:
        """Return unit vectors of replies from their scaled vectors."""
        return nn.functional.normalize(reply + self.right(reply), dim=1)


def _tower(inputs: int, outputs: int, settings: TowerSettings) -> nn.Sequential:
    last = nn.Linear(settings.hidden, outputs)
    with torch.no_grad():  # start near the vectors themselves
        last.weight *= 0.1
        last.bias.zero_()
    return nn.Sequential(
        nn.Linear(inputs, settings.hidden), nn.ReLU(), nn.Dropout(settings.dropout), last
    )


def layers_of(tower: nn.Module) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Return weights of shape (inputs, outputs) and biases, as ``grice.models.mlp`` has them."""
    return [
        (layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
        for layer in tower.modules()
        if isinstance(layer, nn.Linear)
    ]


def fit_towers(
    vectors: NDArray[np.float16],
    train: Examples,
    weights: NDArray[np.float64],
    settings: TowerSettings,
    seed: int,
) -> Towers:
    """Fit both towers on true replies; the false ones are those of the same batch."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    towers = Towers(vectors.shape[1], settings)
    optimiser = torch.optim.AdamW(towers.parameters(), weight_decay=settings.weight_decay)
    corpora = [np.flatnonzero(train.corpus == number) for number in range(train.corpus.max() + 1)]
    shares = np.array([weights[rows].sum() for rows in corpora])
    steps = settings.epochs * (settings.per_epoch // settings.batch)
    began, shown = time.monotonic(), 0.0
    for step in range(steps):
        if rng.random() < settings.one_corpus:
            rows = rng.choice(corpora[rng.choice(len(corpora), p=shares)], settings.batch)
        else:
            rows = rng.choice(len(weights), settings.batch, p=weights)
        loss = _loss(towers, vectors, train, rows, settings, rng)
        rate = settings.learning_rate * min(1, (step + 1) / 100) * max(0.02, 1 - step / steps)
        optimiser.param_groups[0]["lr"] = rate
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        shown = 0.98 * shown + 0.02 * loss.item()
        if step % 200 == 199:
            print(
                f"towers {seed} step {step + 1} loss {shown:.3f} {time.monotonic() - began:.0f} s",
                flush=True,
            )
    return towers.eval()


def _loss(
    towers: Towers,
    vectors: NDArray[np.float16],
    train: Examples,
    rows: Ints,
    settings: TowerSettings,
    rng: np.random.Generator,
) -> torch.Tensor:
    history = shorten(train.history[rows], rng, first=settings.one_turn, two=settings.two_turns)
    reply = train.reply[rows]
    summary = history_summary(vectors[history].astype(np.float32), decay=settings.decay)
    scaled = vectors[reply].astype(np.float32) * np.float32(np.sqrt(vectors.shape[1]))
    left, right = towers.ask(torch.from_numpy(summary)), towers.answer(torch.from_numpy(scaled))
    likeness = left @ right.T * towers.log_temperature.exp()
    equal = torch.from_numpy(reply[:, None] == reply[None, :]).fill_diagonal_(False)
    return nn.functional.cross_entropy(likeness.masked_fill(equal, -1e4), torch.arange(len(rows)))
