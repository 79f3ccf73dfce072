"""Texts as piece numbers, in batches of like length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from grice.knowledge.generative import END_OF_TEXT, plain_event, relation_token
from grice_research.recipes.generator.data import Head

MOST_TAILS = 24
"""Tails of one head seen in one epoch; the rest waits for another."""
REPEATED_BELOW = 12_000
"""Relations with fewer tails are seen more than once an epoch, up to MOST_REPEATS times."""
MOST_REPEATS = 3
UNKNOWN_HEAD = 0.05
"""Share of heads that are hidden, so that the model also knows how usual a tail is by itself."""
CHUNKS = 6
"""Tails of a step are decoded in so many parts of like length."""


class Coded(NamedTuple):
    """A head: its pieces, its tails' pieces with the relation first, and its teacher vector."""

    source: list[int]
    targets: list[list[int]]
    vector: int


class Sheet(NamedTuple):
    """Tails of like length: which head of the step each belongs to, what goes in, what comes out.

    What comes out is -100 where nothing is asked.
    """

    rows: Tensor
    given: Tensor
    wanted: Tensor


class Step(NamedTuple):
    source: Tensor
    real: Tensor
    vectors: Tensor
    sheets: list[Sheet]
    tails: int


def code_texts(tokenizer: Tokenizer, texts: Sequence[str], longest: int) -> list[list[int]]:
    end = tokenizer.token_to_id(END_OF_TEXT)
    return [[*e.ids[: longest - 1], end] for e in tokenizer.encode_batch(list(texts))]


def code_heads(
    tokenizer: Tokenizer,
    heads: Sequence[Head],
    vectors: Sequence[int],
    *,
    source_length: int,
    target_length: int,
) -> list[Coded]:
    sources = code_texts(tokenizer, [plain_event(head.text) for head in heads], source_length)
    tails = code_texts(
        tokenizer, [tail for head in heads for _, tail in head.tails], target_length - 1
    )
    marks = [tokenizer.token_to_id(relation_token(r)) for head in heads for r, _ in head.tails]
    joined = iter([[mark, *tail] for mark, tail in zip(marks, tails, strict=True)])
    return [
        Coded(source, [next(joined) for _ in head.tails], vector)
        for head, source, vector in zip(heads, sources, vectors, strict=True)
    ]


def padded(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    width = max(map(len, rows))
    table = np.full((len(rows), width), fill, np.int64)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return torch.from_numpy(table)


def steps(
    heads: Sequence[Coded],
    *,
    nothing: int,
    size: int,
    random: np.random.Generator | None,
) -> Iterator[Step]:
    """Yield one epoch; without a generator of chance every tail once, in order."""
    repeats = _repeats(heads) if random is not None else {}
    order = range(len(heads)) if random is None else random.permutation(len(heads))
    batch: list[tuple[Coded, list[list[int]]]] = []
    waiting = 0
    for i in order:
        head = heads[i]
        targets = head.targets
        if random is not None:
            targets = [t for t in targets for _ in range(repeats[t[0]])]
            if len(targets) > MOST_TAILS:
                chosen = random.choice(len(targets), MOST_TAILS, replace=False)
                targets = [targets[j] for j in chosen]
            if random.random() < UNKNOWN_HEAD:
                head = head._replace(source=head.source[-1:], vector=-1)
        batch.append((head, targets))
        waiting += len(targets)
        if waiting >= size:
            yield _step(batch, nothing)
            batch, waiting = [], 0
    if batch:
        yield _step(batch, nothing)


def _repeats(heads: Sequence[Coded]) -> dict[int, int]:
    marks, counts = np.unique([t[0] for head in heads for t in head.targets], return_counts=True)
    times = np.clip(np.rint(np.sqrt(REPEATED_BELOW / counts)), 1, MOST_REPEATS)
    return {int(mark): int(n) for mark, n in zip(marks, times, strict=True)}


def _step(batch: list[tuple[Coded, list[list[int]]]], nothing: int) -> Step:
    source = padded([head.source for head, _ in batch], nothing)
    pairs = [(row, target) for row, (_, targets) in enumerate(batch) for target in targets]
    pairs.sort(key=lambda pair: len(pair[1]))
    bounds = np.linspace(0, len(pairs), CHUNKS + 1).astype(int)
    sheets = [_sheet(pairs[start:end], nothing) for start, end in pairwise(bounds) if end > start]
    vectors = torch.tensor([head.vector for head, _ in batch])
    return Step(source, source != nothing, vectors, sheets, len(pairs))


def _sheet(pairs: list[tuple[int, list[int]]], nothing: int) -> Sheet:
    rows = torch.tensor([row for row, _ in pairs])
    given = padded([target[:-1] for _, target in pairs], nothing)
    wanted = padded([target[1:] for _, target in pairs], -100)
    return Sheet(rows, given, wanted)


def text_batches(
    texts: Sequence[Sequence[int]], size: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Return batches of numbers of texts of like length, in an order of chance."""
    lengths = np.array([len(text) for text in texts])
    order = np.lexsort((random.random(len(texts)), lengths))
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    return [batches[i] for i in random.permutation(len(batches))]
