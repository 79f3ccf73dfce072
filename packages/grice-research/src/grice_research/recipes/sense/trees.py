"""Readings of an item as one row of tokens: what they begin with alike is read once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from grice_research.recipes.sense.pairs import Reading

__all__ = ["LONGEST", "Tree", "tree_of"]

LONGEST = 128
"""Most tokens of a reading; the oldest turns of a longer one are left out."""


class Tree(NamedTuple):
    """Turns as nodes, each after the turn before it.

    Attributes:
        tokens: Of all nodes, parents first.
        positions: How many tokens of the same reading stand before each.
        nodes: Number of each token's node.
        above: Whether a node is another's ancestor, or itself: ``above[node, ancestor]``.
        replies: Number of the node with the reply of each reading.
    """

    tokens: NDArray[np.int32]
    positions: NDArray[np.int32]
    nodes: NDArray[np.int32]
    above: NDArray[np.bool_]
    replies: tuple[int, ...]

    def visible(self) -> NDArray[np.bool_]:
        """Return which tokens each token reads: those before it, of its own reading."""
        return np.tril(self.above[self.nodes][:, self.nodes])


def tree_of(readings: Sequence[Reading], tokenizer: Tokenizer) -> Tree:
    """Return the turns of readings, written as the product writes them, with the replier as A."""
    numbers: dict[tuple[str, ...], int] = {}
    pieces: list[list[int]] = []
    parents: list[int] = []
    replies = []
    for reading in readings:
        path: tuple[str, ...] = ()
        parent = -1
        for line in _lines(reading, tokenizer):
            for part in line:
                path = (*path, part)
                if path not in numbers:
                    numbers[path] = len(pieces)
                    pieces.append(_ids(part, tokenizer))
                    parents.append(parent)
                parent = numbers[path]
        replies.append(parent)
    return _joined(pieces, parents, tuple(replies))


def _lines(reading: Reading, tokenizer: Tokenizer) -> list[tuple[str, str]]:
    texts = (*reading.history, reading.reply)
    lines = [
        (f"{'AB'[(len(texts) - 1 - place) % 2]}:", f" {text.strip()}\n")
        for place, text in enumerate(texts)
    ]
    lengths = [sum(len(_ids(part, tokenizer)) for part in line) for line in lines]
    while len(lines) > 1 and sum(lengths) > LONGEST:
        del lines[0], lengths[0]
    return lines


def _ids(text: str, tokenizer: Tokenizer) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids[:LONGEST]


def _joined(pieces: list[list[int]], parents: list[int], replies: tuple[int, ...]) -> Tree:
    above = np.eye(len(pieces), dtype=bool)
    starts = [0] * len(pieces)
    for node, parent in enumerate(parents):
        if parent >= 0:
            above[node] |= above[parent]
            starts[node] = starts[parent] + len(pieces[parent])
    nodes = np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces])
    positions = np.concatenate(
        [start + np.arange(len(piece)) for start, piece in zip(starts, pieces, strict=True)]
    )
    tokens = np.concatenate([np.array(piece, np.int32) for piece in pieces])
    return Tree(tokens, positions.astype(np.int32), nodes.astype(np.int32), above, replies)
