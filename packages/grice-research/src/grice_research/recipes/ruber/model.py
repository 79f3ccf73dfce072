"""The unreferenced network of RUBER in all cells of the grid, and the one loop that fits it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import nn

from grice.metrics.ruber import pooled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice_research.recipes.ruber.config import Configuration

    Tokens = Sequence[NDArray[np.float32]]

__all__ = ["Fitted", "Unreferenced", "fit", "pooled_once", "score"]


class Fitted(NamedTuple):
    """A network at its best validation loss."""

    network: Unreferenced
    losses: list[float]


class Unreferenced(nn.Module):
    """The score of a reply for its query.

    Both texts become a vector each; their quadratic feature ``q @ M @ r`` stands between them
    before a network of tanh layers.
    """

    def __init__(self, dimensions: int, configuration: Configuration) -> None:
        super().__init__()
        self.summary = configuration.summary
        size = dimensions
        if self.summary == "bi-rnn":
            size = 2 * configuration.units
            self.readers = nn.ModuleList(
                nn.GRU(
                    dimensions,
                    configuration.units,
                    num_layers=2,
                    bidirectional=True,
                    batch_first=True,
                )
                for _ in range(2)
            )
        self.matrix = nn.Parameter(torch.zeros(size, size))
        layers: list[nn.Module] = []
        width = 2 * size + 1
        for hidden in configuration.hidden:
            layers += [nn.Linear(width, hidden), nn.Tanh()]
            width = hidden
        self.judge = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, query: Padded, reply: Padded) -> torch.Tensor:
        """Return log odds, shape ``(n,)``."""
        q, r = self._vector(query, 0), self._vector(reply, 1)
        quadratic = ((q @ self.matrix) * r).sum(dim=1, keepdim=True)
        return self.judge(torch.cat([q, quadratic, r], dim=1))[:, 0]

    def _vector(self, padded: Padded, side: int) -> torch.Tensor:
        tokens, there = padded
        if self.summary == "bi-rnn":
            lengths = there.sum(dim=1).clamp(min=1).cpu()
            packed = nn.utils.rnn.pack_padded_sequence(
                tokens, lengths, batch_first=True, enforce_sorted=False
            )
            _, last = self.readers[side](packed)
            return torch.cat([last[-2], last[-1]], dim=1)
        mask = there[:, :, None]
        if self.summary == "max":
            filled = tokens.masked_fill(~mask, -torch.inf).amax(dim=1)
            return filled.masked_fill(filled.isinf(), 0)
        return (tokens * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


Padded = tuple[torch.Tensor, torch.Tensor]
"""Token vectors of shape (n, longest, d), and which of them are there."""


def _padded(texts: Tokens, longest: int) -> Padded:
    if all(len(text) == 1 for text in texts):  # pooled before
        rows = torch.from_numpy(np.stack(texts))
        return rows, torch.ones(rows.shape[:2], dtype=torch.bool)
    cut = [text[:longest] for text in texts]
    size = max(1, max(len(text) for text in cut))
    tokens = torch.zeros(len(cut), size, cut[0].shape[1])
    there = torch.zeros(len(cut), size, dtype=torch.bool)
    for row, text in enumerate(cut):
        tokens[row, : len(text)] = torch.from_numpy(np.asarray(text, np.float32))
        there[row, : len(text)] = True
    return tokens, there


def pooled_once(texts: Tokens, configuration: Configuration) -> Tokens:
    """Return texts as one vector each where the cell pools: the encoder is frozen.

    Pooling one vector gives that vector, so that the network reads them as it reads tokens.
    """
    if configuration.summary == "bi-rnn":
        return texts
    return [
        pooled(np.asarray(text[: configuration.longest], np.float32), configuration.summary)[None]
        if len(text)
        else np.zeros((1, text.shape[1]), np.float32)
        for text in texts
    ]


def fit(
    train: tuple[Tokens, Tokens],
    valid: tuple[Tokens, Tokens],
    configuration: Configuration,
    seed: int,
) -> Fitted:
    """Fit a cell of the grid; the negatives are random replies of the same part.

    Args:
        train: Token vectors of queries and of their replies.
        valid: The same of the validation part.
        configuration: The cell.
        seed: Of weights, batches and negatives.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    train = pooled_once(train[0], configuration), pooled_once(train[1], configuration)
    valid = pooled_once(valid[0], configuration), pooled_once(valid[1], configuration)
    network = Unreferenced(train[0][0].shape[1], configuration)
    optimiser = torch.optim.Adam(network.parameters(), lr=configuration.learning_rate)
    best, best_state, waited = float("inf"), copy.deepcopy(network.state_dict()), 0
    losses: list[float] = []
    for _ in range(configuration.epochs):
        network.train()
        order = rng.permutation(len(train[0]))
        for start in range(0, len(order), configuration.batch):
            loss = _loss(network, train, order[start : start + configuration.batch],
                         configuration, rng)  # fmt: skip
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        losses.append(_validation(network, valid, configuration))
        waited = 0 if losses[-1] < best else waited + 1
        if waited == 0:
            best, best_state = losses[-1], copy.deepcopy(network.state_dict())
        elif waited == configuration.patience:
            break
        elif waited % 5 == 0:
            for group in optimiser.param_groups:
                group["lr"] *= configuration.decay
    network.load_state_dict(best_state)
    return Fitted(network.eval(), losses)


def _loss(
    network: Unreferenced,
    pairs: tuple[Tokens, Tokens],
    rows: NDArray[np.int64],
    configuration: Configuration,
    rng: np.random.Generator,
) -> torch.Tensor:
    queries, replies = pairs
    others = rng.integers(0, len(replies), len(rows))
    asked = _padded([queries[i] for i in rows], configuration.longest)
    true = network(asked, _padded([replies[i] for i in rows], configuration.longest))
    false = network(asked, _padded([replies[i] for i in others], configuration.longest))
    if configuration.loss == "ranking":
        gap = configuration.margin - true.sigmoid() + false.sigmoid()
        return gap.clamp(min=0).mean()
    labels = torch.cat([torch.ones_like(true), torch.zeros_like(false)])
    return nn.functional.binary_cross_entropy_with_logits(torch.cat([true, false]), labels)


def _validation(
    network: Unreferenced, valid: tuple[Tokens, Tokens], configuration: Configuration
) -> float:
    network.eval()
    rng = np.random.default_rng(0)  # the same negatives every time
    with torch.no_grad():
        rows = np.arange(len(valid[0]))
        parts = [rows[i : i + 512] for i in range(0, len(rows), 512)]
        losses = [float(_loss(network, valid, part, configuration, rng)) for part in parts]
    return float(np.average(losses, weights=[len(part) for part in parts]))


def score(
    network: Unreferenced, pairs: tuple[Tokens, Tokens], configuration: Configuration
) -> NDArray[np.float64]:
    """Return the score of each reply for its query, 0 to 1."""
    values = []
    pairs = pooled_once(pairs[0], configuration), pooled_once(pairs[1], configuration)
    with torch.no_grad():
        for start in range(0, len(pairs[0]), 512):
            two = [_padded(side[start : start + 512], configuration.longest) for side in pairs]
            values.append(network(*two).sigmoid().numpy())
    return np.concatenate(values).astype(np.float64)
