"""The encoder-decoder in torch: pre-norm transformer, one table of word pieces throughout.

The encoder reads the head alone; the relation is the first token of the decoder. So a head is
encoded once for all its tails, which are ten on average.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, relu


class Shape(NamedTuple):
    pieces: int
    width: int = 256
    heads: int = 4
    inner: int = 1024
    encoder_layers: int = 4
    decoder_layers: int = 3
    source_length: int = 48
    target_length: int = 32
    teacher: int = 384


def hidden(places: Tensor) -> Tensor:
    """Return what is added to scores of attention so that these places are not seen."""
    return torch.zeros(places.shape, dtype=torch.bfloat16).masked_fill(places, -10_000)


class Attention(nn.Module):
    def __init__(self, shape: Shape, *, crossed: bool) -> None:
        super().__init__()
        self.heads, self.crossed = shape.heads, crossed
        width = shape.width
        self.norm = nn.LayerNorm(width)
        if crossed:
            self.query, self.memory = nn.Linear(width, width), nn.Linear(width, 2 * width)
        else:
            self.joint = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def split(self, states: Tensor, parts: int) -> tuple[Tensor, ...]:
        """Return ``parts`` tensors of shape (batch, heads, length, width / heads)."""
        batch, length, _ = states.shape
        shaped = states.view(batch, length, parts, self.heads, -1).permute(2, 0, 3, 1, 4)
        return tuple(shaped)

    def attend(
        self, states: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Tensor
    ) -> Tensor:
        # Written out: torch's fused attention takes a third of the time of short sequences.
        scores = query @ key.transpose(2, 3) * query.shape[3] ** -0.5 + mask
        attended = scores.softmax(-1).to(value.dtype) @ value
        return self.out(attended.transpose(1, 2).reshape(states.shape))


class Inner(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.width)
        self.wide = nn.Linear(shape.width, shape.inner)
        self.out = nn.Linear(shape.inner, shape.width)

    def forward(self, states: Tensor) -> Tensor:
        return self.out(relu(self.wide(self.norm(states))))


class EncoderLayer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.own, self.inner = Attention(shape, crossed=False), Inner(shape)


class DecoderLayer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.own, self.cross = Attention(shape, crossed=False), Attention(shape, crossed=True)
        self.inner = Inner(shape)


class TailModel(nn.Module):
    """Tail pieces given a head and a relation."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.shape = shape
        self.drop = nn.Dropout(dropout)
        self.pieces = nn.Embedding(shape.pieces, shape.width)
        self.source_places = nn.Embedding(shape.source_length, shape.width)
        self.target_places = nn.Embedding(shape.target_length, shape.width)
        self.encoder = nn.ModuleList(EncoderLayer(shape) for _ in range(shape.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(shape) for _ in range(shape.decoder_layers))
        self.encoder_norm, self.decoder_norm = (nn.LayerNorm(shape.width) for _ in range(2))
        self.to_teacher = nn.Linear(shape.width, shape.teacher)
        self.apply(self._start)
        for layer in (*self.encoder, *self.decoder):
            for part in layer.children():
                nn.init.normal_(part.out.weight, std=0.02 / (2 * len(self.encoder)) ** 0.5)

    @staticmethod
    def _start(module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.05)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)

    def encode(self, source: Tensor, real: Tensor) -> Tensor:
        """Return states of shape (batch, length, width); ``real`` marks what is no padding."""
        places = torch.arange(source.shape[1])
        states = self.drop(self.pieces(source) + self.source_places(places))
        mask = hidden(~real)[:, None, None, :]
        for layer in self.encoder:
            attention = layer.own
            q, k, v = attention.split(attention.joint(attention.norm(states)), 3)
            states = states + self.drop(attention.attend(states, q, k, v, mask))
            states = states + self.drop(layer.inner(states))
        return self.encoder_norm(states)

    def sentence(self, states: Tensor, real: Tensor) -> Tensor:
        """Return the vector that shall be the teacher's, shape (batch, teacher)."""
        weights = real[:, :, None].to(states.dtype)
        mean = (states * weights).sum(1) / weights.sum(1)
        return nn.functional.normalize(self.to_teacher(mean).float(), dim=-1)

    def memory(self, states: Tensor) -> list[tuple[Tensor, ...]]:
        """Return keys and values of the heads for each layer of the decoder."""
        return [layer.cross.split(layer.cross.memory(states), 2) for layer in self.decoder]

    def decode(
        self,
        memory: list[tuple[Tensor, ...]],
        real: Tensor,
        rows: Tensor,
        target: Tensor,
        asked: Tensor,
    ) -> Tensor:
        """Return logits of shape (places asked, pieces); ``rows`` says which head is whose."""
        places = torch.arange(target.shape[1])
        states = self.drop(self.pieces(target) + self.target_places(places))
        mask = hidden(~real)[rows][:, None, None, :]
        later = hidden(torch.ones(target.shape[1], target.shape[1]).triu(1).bool())
        for layer, (keys, values) in zip(self.decoder, memory, strict=True):
            own, cross = layer.own, layer.cross
            q, k, v = own.split(own.joint(own.norm(states)), 3)
            states = states + self.drop(own.attend(states, q, k, v, later))
            (q,) = cross.split(cross.query(cross.norm(states)), 1)
            attended = cross.attend(states, q, keys[rows], values[rows], mask)
            states = states + self.drop(attended)
            states = states + self.drop(layer.inner(states))
        return linear(self.decoder_norm(states[asked]), self.pieces.weight)
