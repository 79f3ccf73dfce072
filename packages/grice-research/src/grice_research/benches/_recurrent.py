"""Recurrent networks that read a query and a reply, shared by the benches that train some."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from grice.errors import InputError

if TYPE_CHECKING:
    import torch

WORDS = re.compile(r"\w+|[^\w\s]")


class Pair(NamedTuple):
    """A reply with the turn before it, its label, and its conversation."""

    query: list[str]
    reply: list[str]
    label: bool
    group: str


Pairs: TypeAlias = Sequence[Pair]


def read_pair(query: str, reply: str, label: object, group: str) -> Pair:
    """Return a pair with the words of both sides in lower case."""
    first, second = (WORDS.findall(text.lower()) for text in (query, reply))
    return Pair(first, second, bool(label), group)


def torch_module() -> Any:  # noqa: ANN401 - a module
    """Return torch, or say how to install it."""
    try:
        return import_module("torch")
    except ImportError:
        told = 'networks are trained by torch: pip install "grice-research[train]"'
        raise InputError(told) from None


def recurrent_sides(
    train: Pairs, *, width: int, states: int, longest: int, dropped: float = 0.0
) -> torch.nn.Module:
    """Return a module that gives the largest states of two bidirectional GRUs, query and reply.

    They share word vectors that are learned; words that stand once in the training are one.
    """
    library = torch_module()
    nn: Any = library.nn
    counts = Counter(word for pair in train for word in {*pair.query, *pair.reply})
    places = {word: i for i, word in enumerate(sorted(w for w, n in counts.items() if n > 1), 2)}

    class Sides(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Sequential(nn.Embedding(len(places) + 2, width), nn.Dropout(dropped))
            self.query, self.reply = (
                nn.GRU(width, states, batch_first=True, bidirectional=True) for _ in range(2)
            )

        def forward(self, pairs: Pairs) -> list[torch.Tensor]:
            return [self.read("query", pairs), self.read("reply", pairs)]

        def read(self, side: str, pairs: Pairs) -> torch.Tensor:
            texts = ([places.get(word, 1) for word in getattr(pair, side)] for pair in pairs)
            rows = [library.tensor(text[:longest] or [1]) for text in texts]
            vectors = self.words(nn.utils.rnn.pad_sequence(rows, batch_first=True))
            ends: torch.Tensor = getattr(self, side)(vectors)[0].max(dim=1).values
            return ends

    return Sides()
