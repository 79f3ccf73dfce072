"""DECO's training part as what settings are judged on: replies, the triples people wrote, folds.

Not every relation was asked of every training reply: the workers went on with a relation until
they had twenty triples. So a reply without a triple of a relation says something only where the
relation was being asked, which shows in the order of the file: between two replies that have one,
at most :data:`GAP` apart.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.knowledge.extraction.protocol import RELATIONS, Exchange
from grice_research.extraction import bleu2
from grice_research.training_texts import normalised

if TYPE_CHECKING:
    from pathlib import Path

GAP = 10
"""Replies between two triples of a relation that is still being asked."""

RATE = 608 / 1200
"""Share of cells in which ACCENT's T5 gives a triple, from its printed precision and recall."""


class Reply(NamedTuple):
    """A reply with the triples that people wrote for it, as ``head <sep> tail`` by relation."""

    exchange: Exchange
    gold: dict[str, list[str]]
    group: str


def replies(data: Path, part: str) -> list[Reply]:
    """Return the replies of ``deco_train`` or ``deco_test``."""
    read_replies = []
    for line in (data / "accent_deco" / f"{part}.jsonl").read_text("utf-8").splitlines():
        item = json.loads(line)
        turns = tuple(turn.strip() for turn in item["history"].split("</UTT>") if turn.strip())
        triples = item.get("tuples_single", []) + item.get("tuples_pair", [])
        triples += [triple for each in item.get("tuples", {}).values() for triple in each]
        gold: dict[str, list[str]] = {}
        for head, relation, tail, *_ in triples:
            gold.setdefault(relation, []).append(f"{head} <sep> {tail}")
        read_replies.append(
            Reply(Exchange(turns, item["response"]), gold, normalised(item["history"]))
        )
    return read_replies


def without_shared(train: list[Reply], test: list[Reply]) -> list[Reply]:
    """Drop the replies whose history stands in the test part too."""
    shared = {reply.group for reply in test}
    return [reply for reply in train if reply.group not in shared]


class Cells(NamedTuple):
    """Replies times relations: where people gave a triple, and where they were asked for one."""

    positive: np.ndarray
    asked: np.ndarray


def cells(every: list[Reply]) -> Cells:
    positive = np.array([[name in reply.gold for name in RELATIONS] for reply in every])
    asked = positive.copy()
    for column in range(len(RELATIONS)):
        rows = np.flatnonzero(positive[:, column])
        for first, last in pairwise(rows):
            if last - first <= GAP:
                asked[first:last, column] = True
    return Cells(positive, asked)


def folds(every: list[Reply], count: int, seed: int) -> np.ndarray:
    """Return the fold of each reply; replies to one history share theirs."""
    groups = sorted({reply.group for reply in every})
    drawn = np.random.default_rng(seed).permutation(len(groups)) % count
    number = dict(zip(groups, drawn.tolist(), strict=True))
    return np.array([number[reply.group] for reply in every])


class Figures(NamedTuple):
    """What the training part says of an extractor.

    Attributes:
        area: Mean over relations of the area under the ROC curve within the asked cells.
        recall: Share of people's cells among the cells that are given at :data:`RATE`.
        lift: Precision there within the asked cells, over the share of positive cells.
        bleu2: Mean BLEU-2 over people's cells that have any pair of events.
    """

    area: float
    recall: float
    lift: float
    bleu2: float


NOTHING = -1e3
"""Score of a cell without any pair of events."""


def judged(scores: np.ndarray, likeness: np.ndarray, known: Cells, rows: np.ndarray) -> Figures:
    """Judge scores of cells."""
    scores, positive, asked = scores[rows], known.positive[rows], known.asked[rows]
    bound = np.quantile(scores, 1 - RATE)
    given = (scores >= bound) & (scores > NOTHING)
    areas, sizes = [], []
    for column in range(len(RELATIONS)):
        some = asked[:, column]
        high = scores[some & positive[:, column], column]
        low = scores[some & ~positive[:, column], column]
        if len(high) and len(low):
            above = (high[:, None] > low).mean() + (high[:, None] == low).mean() / 2
            areas.append(above)
            sizes.append(len(high))
    precision = positive[given & asked].mean() / positive[asked].mean()
    return Figures(
        float(np.average(areas, weights=sizes)),
        float(given[positive].mean()),
        float(precision),
        float(np.nanmean(likeness[rows])),
    )


def summary(scores: np.ndarray, likeness: np.ndarray, known: Cells) -> str:
    """Return the figures with intervals over resampled replies, as one line."""
    every = np.arange(len(scores))
    value = judged(scores, likeness, known, every)
    random = np.random.default_rng(0)
    drawn = np.array(
        [judged(scores, likeness, known, random.choice(every, len(every))) for _ in range(300)]
    )
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return "  ".join(
        f"{name} {v:.3f} [{a:.3f}, {b:.3f}]"
        for name, v, a, b in zip(Figures._fields, value, low, high, strict=True)
    )


__all__ = [
    "NOTHING", "RATE", "Cells", "Figures", "Reply", "bleu2", "cells", "folds", "judged",
    "replies", "summary", "without_shared",
]  # fmt: skip
