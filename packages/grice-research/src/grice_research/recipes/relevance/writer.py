"""A small writer of replies of our own, whose work serves as false replies.

Replies that people said elsewhere are all fluent, so that a head fitted on them alone forgives what
generators do worst: fluent beginnings that go nowhere, things said twice, what fits everything. The
writer is a decoder that reads the vectors of a history as its first places. It is small and learns
for some minutes, as the generators were that people rated in the studies of this field.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear, scaled_dot_product_attention

Floats = NDArray[np.float32]

END, UNKNOWN = 0, 1
IGNORED = -100
SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Shape(NamedTuple):
    """Sizes of the decoder."""

    pieces: int = 5000
    read: int = 3 * 384
    places: int = 3
    """How many places the history takes."""
    width: int = 256
    heads: int = 4
    inner: int = 1024
    layers: int = 4
    longest: int = 32


class Plan(NamedTuple):
    """How long and how fast it learns."""

    steps: int = 450
    size: int = 96
    rate: float = 2e-3
    warmup: int = 60
    falling: float = 0.6


class Pieces(NamedTuple):
    """The word pieces it writes: those of the encoder that its texts need most."""

    tokenizer: Tokenizer
    ids: list[int]

    def read(self, texts: Sequence[str], longest: int) -> list[list[int]]:
        """Return numbers of pieces with the end mark, at most ``longest``."""
        known = {piece: place for place, piece in enumerate(self.ids) if place > UNKNOWN}
        coded = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [
            [*(known.get(piece, UNKNOWN) for piece in text.ids[: longest - 1]), END]
            for text in coded
        ]

    def text(self, row: Sequence[int]) -> str:
        """Return what is written, in lower case."""
        return str(self.tokenizer.decode([self.ids[number] for number in row]))


def choose_pieces(tokenizer: Tokenizer, texts: Sequence[str], size: int) -> Pieces:
    """Return the ``size`` most frequent pieces of some texts."""
    counts: Counter[int] = Counter()
    for text in tokenizer.encode_batch(list(texts), add_special_tokens=False):
        counts.update(text.ids)
    return Pieces(tokenizer, [0, 0, *(piece for piece, _ in counts.most_common(size - 2))])


def shortened(text: str, words: int = 22) -> str:
    """Return the first sentences of a text, as many as stay below a number of words."""
    kept: list[str] = []
    for sentence in SENTENCE.split(text):
        if kept and len(" ".join((*kept, sentence)).split()) > words:
            break
        kept.append(sentence)
    return " ".join(kept)


class Layer(nn.Module):
    """Attention to what is written so far, and a wide layer; both normed before."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norm, self.inner_norm = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.joint, self.out = (
            nn.Linear(shape.width, 3 * shape.width),
            nn.Linear(shape.width, shape.width),
        )
        self.wide, self.narrow = (
            nn.Linear(shape.width, shape.inner),
            nn.Linear(shape.inner, shape.width),
        )

    def forward(
        self, states: Tensor, before: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return new states, and keys and values of all places so far."""
        batch, length, width = states.shape
        shaped = self.joint(self.norm(states)).view(batch, length, 3, self.heads, -1)
        query, key, value = shaped.permute(2, 0, 3, 1, 4)
        if before is not None:
            key, value = torch.cat([before[0], key], 2), torch.cat([before[1], value], 2)
        attended = scaled_dot_product_attention(query, key, value, is_causal=before is None)
        states = states + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        states = states + self.narrow(torch.relu(self.wide(self.inner_norm(states))))
        return states, (key, value)


class Writer(nn.Module):
    """Pieces of a reply, given the vectors of a history."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.pieces = nn.Embedding(shape.pieces, shape.width)
        self.places = nn.Embedding(shape.places + shape.longest, shape.width)
        self.read = nn.Linear(shape.read, shape.places * shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        for part in self.modules():
            if isinstance(part, nn.Linear | nn.Embedding):
                nn.init.normal_(part.weight, std=0.04)
            if isinstance(part, nn.Linear):
                nn.init.zeros_(part.bias)

    def history(self, summary: Tensor) -> Tensor:
        """Return the first places, shape (n, places, width)."""
        states = self.read(summary).view(len(summary), self.shape.places, -1)
        return states + self.places(torch.arange(self.shape.places))

    def forward(self, summary: Tensor, given: Tensor) -> Tensor:
        """Return logits of every piece of ``given`` and of its end, shape (n, length + 1, k)."""
        places = self.shape.places + torch.arange(given.shape[1])
        states = torch.cat([self.history(summary), self.pieces(given) + self.places(places)], 1)
        for layer in self.layers:
            states, _ = layer(states)
        return linear(self.norm(states[:, self.shape.places - 1 :]), self.pieces.weight)

    @torch.no_grad()
    def continued(
        self, summary: Tensor, choose: Sequence[float], generator: torch.Generator
    ) -> Iterator[Tensor]:
        """Yield one piece after the other for all histories, each at its own temperature."""
        warmth = torch.tensor(choose)[:, None].clamp_min(1e-3)
        states, kept = self.history(summary), [None] * len(self.layers)
        for place in range(self.shape.longest):
            for i, layer in enumerate(self.layers):
                states, kept[i] = layer(states, kept[i])
            logits = linear(self.norm(states[:, -1]), self.pieces.weight).float()
            logits[:, UNKNOWN] = -torch.inf
            chances = (logits / warmth).softmax(-1)
            chosen = torch.multinomial(chances, 1, generator=generator)[:, 0]
            yield chosen
            where = self.places(torch.tensor(self.shape.places + place))
            states = (self.pieces(chosen) + where)[:, None]


def start_pieces(model: Writer, pieces: Pieces, minilm: str) -> None:
    """Start from the encoder's own word pieces on their main axes, so that like words are alike."""
    from transformers import AutoModel

    table = AutoModel.from_pretrained(minilm).embeddings.word_embeddings.weight.detach()
    chosen = table[pieces.ids] - table[pieces.ids].mean(0)
    _, _, axes = torch.linalg.svd(chosen, full_matrices=False)
    vectors = (chosen @ axes.T)[:, : model.shape.width]
    with torch.no_grad():
        model.pieces.weight.copy_(vectors / vectors.std() * 0.04)


def learn(
    model: Writer, summaries: Floats, rows: Sequence[list[int]], plan: Plan, seed: int
) -> float:
    """Fit the writer on the summaries of histories and the pieces said after them."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.01, betas=(0.9, 0.98))
    began, shown = time.monotonic(), 0.0
    batches = _batches(rows, plan.size, rng)
    for step in range(plan.steps):
        chosen = next(batches)
        given, wanted = _sheet([rows[i] for i in chosen])
        falls = max(0.02, min(1.0, (1 - step / plan.steps) / plan.falling))
        optimiser.param_groups[0]["lr"] = plan.rate * min(1, (step + 1) / plan.warmup) * falls
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(torch.from_numpy(summaries[chosen]), given)
            loss = cross_entropy(logits.flatten(0, 1).float(), wanted.flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        shown = loss.item() if step == 0 else 0.98 * shown + 0.02 * loss.item()
        if step % 100 == 99:
            print(f"step {step + 1} loss {shown:.3f} {time.monotonic() - began:.0f} s", flush=True)
    return shown


def _batches(
    rows: Sequence[list[int]], size: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield batches of like length, in no order, again and again."""
    lengths = np.array([len(row) for row in rows])
    while True:
        order = np.argsort(lengths + rng.random(len(rows)) * 2, kind="stable")
        starts = np.arange(0, len(order) - size + 1, size)
        for start in rng.permutation(starts):
            yield order[start : start + size]


def _sheet(rows: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, rows))
    wanted = torch.full((len(rows), longest), IGNORED)
    for i, row in enumerate(rows):
        wanted[i, : len(row)] = torch.tensor(row)
    given = wanted[:, :-1].clamp_min(END)
    wanted[wanted == UNKNOWN] = IGNORED
    return given, wanted


TEMPERATURES = (0.0, 0.5, 0.7, 0.85)


def write(
    model: Writer, summaries: Floats, pieces: Pieces, seed: int, size: int = 512
) -> list[str | None]:
    """Return a reply to each history, none where no end was found; temperatures take turns."""
    generator = torch.Generator().manual_seed(seed)
    texts: list[str | None] = []
    for start in range(0, len(summaries), size):
        part = torch.from_numpy(summaries[start : start + size])
        warmth = np.resize(TEMPERATURES, len(part)).tolist()
        with torch.autocast("cpu", torch.bfloat16):
            columns = list(model.continued(part, warmth, generator))
        for row in torch.stack(columns, 1).tolist():
            ends = row.index(END) if END in row else 0
            texts.append(pieces.text(row[:ends]) if ends else None)
    return texts
