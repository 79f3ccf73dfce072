"""One encoder fine-tuned under all four tasks: a dialogue is read once, each head re-reads it.

The lower layers read a dialogue once; the lowest stay as they were. The last run again for every
head span, with a vector added to the states of the head's tokens, so that each token's state knows
what it would be the tail of. All tasks are answered from these states.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.models.mpnet.modeling_mpnet import MPNetSelfAttention

from grice.triplets.answers import BINS, LONGEST
from grice.triplets.structure import STRUCTURE

TASKS = 3
"""Entailed, the right option, which relation: one output of each per relation."""
RELATIONS = 31


class Settings(NamedTuple):
    """Sizes of what is new; how many layers stay, and how many run once per head.

    With ``reads`` nothing of the encoder is learned: the states behind these layers are read side
    by side.
    """

    width: int = 128
    hidden: int = 256
    reader: int = 128
    rank: int = 64
    drop: float = 0.25
    again: int = 1
    frozen: int = 3
    reads: tuple[int, ...] = ()


class Spans(NamedTuple):
    """Spans of some texts: which row of states, first token, and the one behind."""

    row: torch.Tensor
    first: torch.Tensor
    end: torch.Tensor


class HalfAttention(MPNetSelfAttention):
    """MPNet's attention, all of it in the arithmetic of its states: three times as fast."""

    def forward(
        self, states: torch.Tensor, mask: torch.Tensor, *_: object, **__: object
    ) -> tuple[torch.Tensor]:
        """Return what tokens see; ``mask`` is added to how much they look at each other."""

        def split(part: nn.Linear) -> torch.Tensor:
            shape = *states.shape[:-1], self.num_attention_heads, self.attention_head_size
            return part(states).view(shape).transpose(1, 2)

        query, key, value = split(self.q), split(self.k), split(self.v)
        with torch.autocast("cpu", enabled=False):
            query = query * self.attention_head_size**-0.5
            seen = (query @ key.transpose(-1, -2) + mask.to(query.dtype)).softmax(-1) @ value
        return (self.o(seen.transpose(1, 2).flatten(2)),)


class Joint(nn.Module):
    """The network.

    Args:
        encoder: A BERT, or an MPNet, which also minds how far apart tokens stand.
        settings: Sizes.
    """

    def __init__(self, encoder: PreTrainedModel, settings: Settings) -> None:
        super().__init__()
        self.encoder = encoder
        self.settings = settings
        if encoder.config.model_type == "mpnet":
            for layer in encoder.encoder.layer:
                attention = HalfAttention(encoder.config)
                attention.load_state_dict(layer.attention.attn.state_dict())
                layer.attention.attn = attention
        s = settings
        self.size = states = encoder.config.hidden_size * max(1, len(s.reads))
        self.marker = nn.Parameter(torch.zeros(states))
        self.head = nn.Linear(3 * states, s.width)
        self.tail = nn.Linear(3 * states, s.width)
        self.hidden = nn.Linear(3 * s.width + STRUCTURE, s.hidden)
        self.out = nn.Linear(s.hidden, TASKS * RELATIONS)
        self.token = nn.Linear(states, s.reader)
        self.factor = nn.Linear(states, s.reader)
        self.query = nn.Linear(3 * states, s.reader)
        self.queryfactor = nn.Linear(3 * states, s.reader)
        self.relation = nn.Embedding(RELATIONS, s.reader)
        self.relationfactor = nn.Embedding(RELATIONS, s.reader)
        self.distance = nn.Embedding(BINS, s.reader)
        self.ends = nn.Linear(2 * s.reader, 2)
        self.left = nn.Linear(states, s.rank)
        self.right = nn.Linear(states, s.rank)
        self.length = nn.Parameter(torch.zeros(LONGEST))
        self.drop = nn.Dropout(s.drop)
        for one in (self.relation, self.relationfactor, self.distance):
            nn.init.normal_(one.weight, std=0.1)

    def lowest(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return what the layers that stay make of each text, ``(texts, tokens, states)``."""
        layers, found, at = self.encoder.encoder.layer, [], 0
        with torch.no_grad():
            states = self.encoder.embeddings(input_ids=ids)
            for end in self.settings.reads or (self.settings.frozen,):
                states, at = self._through(layers[at:end], states, mask), end
                found.append(states)
        return torch.cat(found, dim=2)

    def read(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return what the layers between make of the lowest states, of the same shape."""
        if self.settings.reads:
            return states
        layers = self.encoder.encoder.layer
        between = layers[self.settings.frozen : len(layers) - self.settings.again]
        return self._through(between, states, mask)

    def reread(self, states: torch.Tensor, mask: torch.Tensor, heads: torch.Tensor) -> torch.Tensor:
        """Return the states that the last layers make for each head.

        Args:
            states: Of the text of each head, ``(heads, tokens, states)``.
            mask: Which tokens there are, ``(heads, tokens)``.
            heads: 1 where the head stands, ``(heads, tokens)``.
        """
        if not self.settings.again:
            return states
        layers = self.encoder.encoder.layer
        marked = states + heads[..., None] * self.marker
        return self._through(layers[len(layers) - self.settings.again :], marked, mask)

    def _through(
        self, layers: nn.ModuleList, states: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        absent = torch.zeros(mask.shape).masked_fill(mask == 0, -1e4)
        wide = absent[:, None, None, :].to(torch.bfloat16)
        if self.encoder.config.model_type == "mpnet":
            # What it adds to attention by distance stays as it was.
            near = self.encoder.encoder.compute_position_bias(states[:1])
            wide = wide + near.detach().to(torch.bfloat16)
        with torch.autocast("cpu", torch.bfloat16):
            for layer in layers:
                found = layer(states, wide)
                states = found[0] if isinstance(found, tuple) else found
        return states.float()

    def spans(self, states: torch.Tensor, sums: torch.Tensor, spans: Spans) -> torch.Tensor:
        """Return first, last and mean state of spans, ``(spans, 3 * states)``.

        Args:
            states: Of each row, ``(rows, tokens, states)``.
            sums: Of the tokens before each, and of all, ``(rows, tokens + 1, states)``.
            spans: The spans.
        """
        size = (spans.end - spans.first).clamp(min=1)[:, None]
        mean = (sums[spans.row, spans.end] - sums[spans.row, spans.first]) / size
        last = (spans.end - 1).clamp(min=0)
        first = states[spans.row, spans.first.clamp(max=states.shape[1] - 1)]
        return torch.cat([first, states[spans.row, last], mean], dim=1)

    @staticmethod
    def sums(states: torch.Tensor) -> torch.Tensor:
        """Return the sums that means are taken from; see :meth:`spans`."""
        return torch.nn.functional.pad(states.cumsum(1), (0, 0, 1, 0))

    def links(
        self, heads: torch.Tensor, tails: torch.Tensor, numbers: torch.Tensor
    ) -> torch.Tensor:
        """Return the numbers of pairs of spans, ``(pairs, 3, 31)``."""
        head, tail = self.head(self.drop(heads)), self.tail(self.drop(tails))
        joined = torch.cat([head, tail, head * tail, numbers], dim=1)
        found = self.out(self.drop(torch.relu(self.hidden(self.drop(joined)))))
        return found.view(len(heads), TASKS, -1)

    def answers(
        self,
        states: torch.Tensor,
        mask: torch.Tensor,
        rows: torch.Tensor,
        heads: torch.Tensor,
        relation: torch.Tensor,
        bins: torch.Tensor,
    ) -> torch.Tensor:
        """Return log scores of all short spans, ``(questions, tokens, LONGEST)``.

        Args:
            states: Of each row, ``(rows, tokens, states)``.
            mask: Tokens that an answer can hold, ``(rows, tokens)``.
            rows: Row of each question.
            heads: Vector of the head of each question.
            relation: Relation of each question.
            bins: Distance of each token to the head, ``(questions, tokens)``.
        """
        states, heads = self.drop(states), self.drop(heads)
        query = self.query(heads) + self.relation(relation)
        factor = self.queryfactor(heads) + self.relationfactor(relation)
        with torch.autocast("cpu", torch.bfloat16):
            tokens, factors = self.token(states).float(), self.factor(states).float()
        added = torch.relu(tokens[rows] + query[:, None] + self.distance(bins))
        times = factors[rows] * factor[:, None]
        ends = self.ends(torch.cat([added, times], dim=2))
        whole = self.wholes(states)[rows]
        last = _ahead(ends[..., 1])
        scores = ends[..., 0][..., None] + last + whole
        return scores.masked_fill(_ahead(mask)[rows] == 0, -1e4)

    def wholes(self, states: torch.Tensor) -> torch.Tensor:
        """Return how much each short span looks like one that is annotated."""
        left, right = self.left(states), self.right(states)
        near = _ahead(right.transpose(1, 2)).permute(0, 2, 3, 1)
        return (left[:, :, None] * near).sum(-1) / self.settings.rank**0.5 + self.length


def _ahead(values: torch.Tensor) -> torch.Tensor:
    """Return for each place in the last axis the values of it and those behind; zeros follow."""
    return torch.nn.functional.pad(values, (0, LONGEST - 1)).unfold(-1, LONGEST, 1)
