"""One encoder under all four tasks: a dialogue is read once, each head re-reads it.

The lower layers read a dialogue once; the lowest stay as they were. The last run again for every
head span, with a vector added to the states of the head's tokens, so that each token's state knows
what it would be the tail of. All tasks are answered from these states. Or the states are another
model's, which stays as it was, and all there is to learn is what is read from them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn
from transformers import PreTrainedModel

from grice_research.triplets.answers import BINS, LONGEST
from grice_research.triplets.head_conditioned import SPREAD, TINY
from grice_tasks.cider.structure import STRUCTURE

TASKS = 3
"""Entailed, the right option, which relation: one output of each per relation."""
RELATIONS = 31


class Settings(NamedTuple):
    """Sizes of what is new; how many layers stay, and how many run once per head.

    A span is read by its first, last and mean state; ``whole``: by its mean alone, of one length.
    """

    width: int = 128
    hidden: int = 256
    reader: int = 128
    rank: int = 64
    drop: float = 0.25
    again: int = 1
    frozen: int = 3
    whole: bool = False


class Spans(NamedTuple):
    """Spans of some texts: which row of states, first token, and the one behind."""

    row: torch.Tensor
    first: torch.Tensor
    end: torch.Tensor


class Joint(nn.Module):
    """The network.

    Args:
        states: Numbers of a token's state.
        encoder: A BERT that is fine-tuned; None: states are read as they are.
        settings: Sizes.
    """

    def __init__(self, states: int, encoder: PreTrainedModel | None, settings: Settings) -> None:
        super().__init__()
        self.encoder, self.size = encoder, states
        self.settings = s = settings
        span = states if s.whole else 3 * states
        self.marker = nn.Parameter(torch.zeros(states))
        self.head = nn.Linear(span, s.width)
        self.tail = nn.Linear(span, s.width)
        self.hidden = nn.Linear(3 * s.width + STRUCTURE, s.hidden)
        self.out = nn.Linear(s.hidden, TASKS * RELATIONS)
        self.token = nn.Linear(states, s.reader)
        self.factor = nn.Linear(states, s.reader)
        self.query = nn.Linear(span, s.reader)
        self.queryfactor = nn.Linear(span, s.reader)
        self.relation = nn.Embedding(RELATIONS, s.reader)
        self.relationfactor = nn.Embedding(RELATIONS, s.reader)
        self.distance = nn.Embedding(BINS, s.reader)
        self.ends = nn.Linear(2 * s.reader, 2)
        self.left = nn.Linear(states, s.rank)
        self.right = nn.Linear(states, s.rank)
        self.length = nn.Parameter(torch.zeros(LONGEST))
        self.drop = nn.Dropout(s.drop)
        for embedding in (self.relation, self.relationfactor, self.distance):
            nn.init.normal_(embedding.weight, std=0.1)

    def lowest(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return what the layers that stay make of each text, ``(texts, tokens, states)``."""
        with torch.no_grad():
            states = self.encoder.embeddings(input_ids=ids)
            layers = self.encoder.encoder.layer[: self.settings.frozen]
            return self._through(layers, states, mask)

    def read(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return what the layers between make of the lowest states, of the same shape."""
        if self.encoder is None:
            return states
        layers = self.encoder.encoder.layer
        between = layers[self.settings.frozen : len(layers) - self.settings.again]
        return self._through(between, states, mask)

    def encode_for(
        self, states: torch.Tensor, mask: torch.Tensor, heads: torch.Tensor
    ) -> torch.Tensor:
        """Return the states that the last layers make for each head.

        Args:
            states: Of the text of each head, ``(heads, tokens, states)``.
            mask: Which tokens there are, ``(heads, tokens)``.
            heads: 1 where the head stands, ``(heads, tokens)``.
        """
        layers = self.encoder.encoder.layer
        marked = states + heads[..., None] * self.marker
        return self._through(layers[len(layers) - self.settings.again :], marked, mask)

    def _through(
        self, layers: nn.ModuleList, states: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        absent = torch.zeros(mask.shape).masked_fill(mask == 0, -1e4)
        wide = absent[:, None, None, :].to(torch.bfloat16)
        with torch.autocast("cpu", torch.bfloat16):
            for layer in layers:
                outputs = layer(states, wide)
                states = outputs[0] if isinstance(outputs, tuple) else outputs
        return states.float()

    def spans(self, states: torch.Tensor, sums: torch.Tensor, spans: Spans) -> torch.Tensor:
        """Return first, last and mean state of spans, ``(spans, 3 * states)``, or their mean alone.

        Args:
            states: Of each row, ``(rows, tokens, states)``.
            sums: Of the tokens before each, and of all, ``(rows, tokens + 1, states)``.
            spans: The spans.
        """
        size = (spans.end - spans.first).clamp(min=1)[:, None]
        mean = (sums[spans.row, spans.end] - sums[spans.row, spans.first]) / size
        if self.settings.whole:
            length = mean.norm(dim=1, keepdim=True) + TINY
            return mean / length * (self.size * SPREAD**2) ** 0.5
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
        logits = self.out(self.drop(torch.relu(self.hidden(self.drop(joined)))))
        return logits.view(len(heads), TASKS, -1)

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
