"""Models whose engine is a table: all rules and small networks run, the large networks do not.

An encoder's token states and a generator's log probabilities are drawn once for each piece of the
vocabulary. Tokenizers are the shipped ones. What comes out is senseless, and more varied than what
trained weights give, which is what a fuzz wants; it takes a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from grice.knowledge.extraction.protocol import RELATIONS
from grice.knowledge.extraction.search import SearchExtractor
from grice.knowledge.lookup import StoredKnowledge
from grice.knowledge.store import BundledStore
from grice.models.bundle import Bundle
from grice.models.embedded import Hidden
from grice.models.memo import MemoEncoder
from grice.models.models import Models
from grice.models.protocols import Generated
from grice.models.tokenization import open_tokenizer, tokenizable

Vector: TypeAlias = NDArray[np.float32]

MOST_TOKENS = 254
KNOWN = 2000
"""Triples that are searched; all of them take a second for ten turns."""


class TableEncoder:
    """An encoder whose token states stand in a table, by the token's number."""

    def __init__(self, bundle: Bundle) -> None:
        self.identity = f"table/{bundle.card.name}"
        self.dimensions = int(str(bundle.card.settings["dimensions"]))
        self._tokenizer = open_tokenizer(bundle)
        size = (self._tokenizer.get_vocab_size(), self.dimensions)
        self._table = np.random.default_rng(0).normal(size=size).astype(np.float32)

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        return [vector for _, vector in self.hidden(texts)]

    def hidden(self, texts: Sequence[str]) -> list[tuple[Hidden, Vector]]:
        return [self._read(text) for text in texts]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [len(text) > MOST_TOKENS for text in texts]

    def _read(self, text: str) -> tuple[Hidden, Vector]:
        tokens = self._tokenizer.encode(tokenizable(text))
        ids, offsets = tokens.ids[:MOST_TOKENS], tokens.offsets[:MOST_TOKENS]
        if len(ids) == 2:
            nothing = np.zeros((0, self.dimensions), np.float32)
            return Hidden(nothing, []), np.zeros(self.dimensions, np.float32)
        states = self._table[ids]
        # A token's state hangs on its neighbours, too.
        states += np.roll(states, 1, axis=0)
        return Hidden(states, offsets), _unit(states.mean(axis=0))


class TableGenerator:
    """A generator of one text, whose log probabilities hang on the piece alone."""

    def __init__(self, bundle: Bundle) -> None:
        self.identity = f"table/{bundle.card.name}"
        self._tokenizer = open_tokenizer(bundle)

    def generate(
        self, prompts: Sequence[str], *, count: int, begin: Sequence[str] | None = None
    ) -> list[tuple[Generated, ...]]:
        del count, begin
        return [(Generated(prompt, -1.0),) for prompt in prompts]

    def log_probabilities(
        self, prompts: Sequence[str], texts: Sequence[str], *, begin: Sequence[str] | None = None
    ) -> list[float]:
        scored = self.piece_log_probabilities(prompts, texts, begin=begin)
        return [float(np.mean([value for _, value in pieces] or [0.0])) for pieces in scored]

    def piece_log_probabilities(
        self, prompts: Sequence[str], texts: Sequence[str], *, begin: Sequence[str] | None = None
    ) -> list[list[tuple[str, float]]]:
        del prompts, begin
        return [[(piece, -(crc32(piece.encode()) % 4000) / 200) for piece in self._pieces(text)]
                for text in texts]  # fmt: skip

    def _pieces(self, text: str) -> list[str]:
        return list(self._tokenizer.encode(tokenizable(text), add_special_tokens=False).tokens)


class StandIns(Models):
    """Opens every reference, with tables for engines and a part of the knowledge to search."""

    def _open(self, reference: str) -> object:
        bundle = self.bundle(reference)
        match bundle.card.kind:
            case "encoder":
                return MemoEncoder(TableEncoder(bundle), self.memo)
            case "generator":
                return TableGenerator(bundle)
            case "search-extractor":
                part = islice(self._store().triples(RELATIONS), KNOWN)
                return SearchExtractor(part, "a part")
        return super()._open(reference)

    def _store(self) -> BundledStore:
        known = self.open("bundle:atomic", StoredKnowledge)
        assert isinstance(known.store, BundledStore)
        return known.store


def _unit(vector: NDArray[np.float32]) -> Vector:
    unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)
    return unit
