"""Layers of a decoder in torch, over trees of tokens, with low-rank changes that are learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from grice.models.conversion.checkpoint import Checkpoint, Shape
    from grice_research.recipes.sense.trees import Tree

__all__ = ["Adapted", "Batch", "Layers", "normalized"]

ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
FEED = ("gate_proj", "up_proj", "down_proj")


class Batch:
    """Trees, padded to one length.

    Attributes:
        positions: Of each token, shape ``(trees, tokens)``.
        visible: What each token reads, shape ``(trees, 1, tokens, tokens)``.
        means: Weights that give the mean state of each reply of a tree from its tokens.
        rows: Number of the tree of each reply.
    """

    def __init__(self, trees: Sequence[Tree]) -> None:
        longest = max(len(tree.tokens) for tree in trees)
        shape = (len(trees), longest)
        self.tokens = torch.zeros(shape, dtype=torch.long)
        self.positions = torch.zeros(shape, dtype=torch.long)
        self.visible = torch.eye(longest, dtype=torch.bool).repeat(len(trees), 1, 1, 1)
        means, rows = [], []
        for row, tree in enumerate(trees):
            count = len(tree.tokens)
            self.tokens[row, :count] = torch.from_numpy(tree.tokens).long()
            self.positions[row, :count] = torch.from_numpy(tree.positions).long()
            self.visible[row, 0, :count, :count] = torch.from_numpy(tree.visible())
            for reply in tree.replies:
                of_reply = (tree.nodes == reply).astype(np.float32)
                means.append(np.pad(of_reply / of_reply.sum(), (0, longest - count)))
                rows.append(row)
        self.means = torch.from_numpy(np.array(means))
        self.rows = torch.tensor(rows)


class Adapted(nn.Module):
    """A frozen matrix, and the change of low rank that is added to it."""

    def __init__(self, weight: NDArray[np.float32], rank: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.from_numpy(weight.copy()), persistent=False)
        if rank:
            self.down = nn.Parameter(torch.randn(rank, weight.shape[1]) / weight.shape[1] ** 0.5)
            self.up = nn.Parameter(torch.zeros(weight.shape[0], rank))
        self.rank = rank

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        plain = functional.linear(values, self.weight)
        if not self.rank:
            return plain
        return plain + functional.linear(functional.linear(values, self.down), self.up)


class Layer(nn.Module):
    def __init__(self, checkpoint: Checkpoint, number: int, rank: int) -> None:
        super().__init__()
        self.shape = checkpoint.shape
        name = f"model.layers.{number}"
        self.parts = nn.ModuleDict(
            {
                part: Adapted(_needed(checkpoint, f"{name}.{place}.{part}.weight"), rank)
                for place, parts in (("self_attn", ATTENTION), ("mlp", FEED))
                for part in parts
            }
        )
        for norm in ("input_layernorm", "post_attention_layernorm"):
            gamma = torch.from_numpy(_needed(checkpoint, f"{name}.{norm}.weight").copy())
            self.register_buffer(norm, gamma, persistent=False)

    def forward(
        self, states: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor], visible: torch.Tensor
    ) -> torch.Tensor:
        parts, shape = self.parts, self.shape
        read = normalized(states, shape.epsilon) * self.input_layernorm
        queries = _turned(_heads(parts["q_proj"](read), shape.heads), turns)
        keys = _turned(_heads(parts["k_proj"](read), shape.key_heads), turns)
        values = _heads(parts["v_proj"](read), shape.key_heads)
        groups = shape.heads // shape.key_heads
        seen = functional.scaled_dot_product_attention(
            queries,
            keys.repeat_interleave(groups, dim=1),
            values.repeat_interleave(groups, dim=1),
            attn_mask=visible,
        )
        states = states + parts["o_proj"](seen.transpose(1, 2).flatten(2))
        read = normalized(states, shape.epsilon) * self.post_attention_layernorm
        gated = functional.silu(parts["gate_proj"](read)) * parts["up_proj"](read)
        return states + parts["down_proj"](gated)


class Layers(nn.Module):
    """Some layers of a decoder, one after the other.

    Args:
        checkpoint: The decoder.
        numbers: Which layers.
        rank: Of what is learned; 0 if nothing is.
    """

    def __init__(self, checkpoint: Checkpoint, numbers: range, rank: int = 0) -> None:
        super().__init__()
        self.shape: Shape = checkpoint.shape
        self.numbers = numbers
        self.layers = nn.ModuleList(Layer(checkpoint, number, rank) for number in numbers)

    def forward(self, states: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Return the states of tokens after the layers, shape ``(trees, tokens, hidden)``."""
        turns = _angles(batch.positions, self.shape)
        for layer in self.layers:
            states = layer(states, turns, batch.visible)
        return states

    def adapter(self) -> Iterator[tuple[str, NDArray[np.float32], NDArray[np.float32]]]:
        """Yield the name of each matrix that changed, and the factors of its change."""
        for number, layer in zip(self.numbers, self.layers, strict=True):
            for part, adapted in layer.parts.items():
                place = "self_attn" if part in ATTENTION else "mlp"
                factors = (adapted.up.detach().numpy(), adapted.down.detach().numpy())
                yield f"model.layers.{number}.{place}.{part}.weight", *factors


def _needed(checkpoint: Checkpoint, name: str) -> NDArray[np.float32]:
    values = checkpoint.tensor(name)
    if values is None:
        raise ValueError(f"weight {name} is missing")
    return values


def normalized(states: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Return states of root mean square 1."""
    return states * torch.rsqrt(states.square().mean(dim=-1, keepdim=True) + epsilon)


def _heads(values: torch.Tensor, count: int) -> torch.Tensor:
    return values.unflatten(-1, (count, -1)).transpose(1, 2)


def _angles(positions: torch.Tensor, shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    half = shape.head_size // 2
    rates = shape.rope_base ** (-torch.arange(half, dtype=torch.float32) / half)
    angles = (positions[..., None] * rates).repeat(1, 1, 2)[:, None]
    return angles.cos(), angles.sin()


def _turned(values: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    first, second = values.chunk(2, dim=-1)
    return values * turns[0] + torch.cat([-second, first], dim=-1) * turns[1]
