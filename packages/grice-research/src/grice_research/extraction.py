"""How well triples are read from replies: ACCENT's evaluation of its extractor (its Table 3).

A cell is a reply and a relation. Whether a cell holds a triple is judged as a yes or no; how alike
the triples are, by BLEU-2 and BERTScore over the cells where both the people and the extractor give
one (Ghazarian et al., Findings of ACL 2023; the released script).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.errors import InputError
from grice.stats.resample import estimate, resample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from grice.stats.estimate import Estimate
    from grice.stats.inputs import Floats

    Likeness: TypeAlias = Callable[[str, str], float]

MEASURES = ("precision", "recall", "f1", "bleu2")
BERTSCORE = "bertscore"
"""Given beside these if there is an encoder for it."""

Pairs = list[tuple[str, str]]
"""Heads and tails of one cell."""


class Cells(NamedTuple):
    """The triples of one reply by relation, those of people and those of an extractor."""

    gold: Mapping[str, Pairs]
    extracted: Mapping[str, Pairs]


def extraction_measures(
    replies: Sequence[Cells],
    relations: Sequence[str],
    *,
    likeness: Likeness | None = None,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Return precision, recall, F1 and BLEU-2, 0 to 1, with intervals over replies."""
    counts = _table(replies, relations, likeness)

    def statistic(weights: Floats) -> Floats:
        return _measures(weights @ counts)

    drawn = resample(statistic, len(counts), seed=seed)
    names = MEASURES if likeness is None else (*MEASURES, BERTSCORE)
    return {name: estimate(drawn, column, what=name) for column, name in enumerate(names)}


def extraction_differences(
    first: Sequence[Cells], second: Sequence[Cells], relations: Sequence[str], *, seed: int = 0
) -> dict[str, Estimate]:
    """Return how far one extractor is above another on the same replies, by measure.

    The intervals are of the differences, over replies drawn together for both.
    """
    if len(first) != len(second):
        raise InputError(f"{len(first)} replies cannot be compared with {len(second)}")
    tables = (_table(first, relations), _table(second, relations))

    def statistic(weights: Floats) -> Floats:
        return np.subtract(*(_measures(weights @ table) for table in tables))

    drawn = resample(statistic, len(first), seed=seed)
    return {
        name: estimate(drawn, column, what=f"difference of {name}")
        for column, name in enumerate(MEASURES)
    }


def _table(
    replies: Sequence[Cells], relations: Sequence[str], likeness: Likeness | None = None
) -> Floats:
    counts = np.array([_counts(cells, relations, likeness) for cells in replies], np.float64)
    if len(counts) < 2 or not counts[:, 0].sum():
        raise InputError(
            f"{len(counts)} replies: extraction is measured on at least two, and people and "
            f"extractor must agree on one relation at least"
        )
    return counts


def _measures(sums: Floats) -> Floats:
    """Return the measures of sums of :func:`_counts`, shape ``(n, 5)`` each."""
    both, extracted, gold, likeness, closeness = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        columns = (
            both / extracted,
            both / gold,
            2 * both / (extracted + gold),
            likeness / both,
            closeness / both,
        )
    return np.stack(columns, axis=1)


def _counts(
    cells: Cells, relations: Sequence[str], closest: Likeness | None
) -> tuple[int, int, int, float, float]:
    """Return cells of both, of the extractor, of people; of the first BLEU-2 and BERTScore."""
    extracted = [name for name in relations if cells.extracted.get(name)]
    gold = [name for name in relations if cells.gold.get(name)]
    both = [name for name in extracted if name in gold]
    pairs = [(lines_of(cells.extracted[name]), lines_of(cells.gold[name])) for name in both]
    likeness = sum(bleu2(mine, goals) for mine, goals in pairs)
    closeness = sum(_best(mine, goals, closest) for mine, goals in pairs) if closest else 0.0
    return len(both), len(extracted), len(gold), likeness, closeness


def _best(predictions: Sequence[str], references: Sequence[str], likeness: Likeness) -> float:
    """Return the mean over predictions of the best likeness with a reference."""
    best = [max(likeness(text, goal) for goal in references) for text in predictions]
    return sum(best) / len(best)


def lines_of(pairs: Pairs) -> list[str]:
    """Return triples of one relation as texts that are compared."""
    return [f"{head} <sep> {tail}" for head, tail in pairs]


def bleu2(predictions: Sequence[str], references: Sequence[str]) -> float:
    """Return corpus BLEU of words and neighbouring pairs, without smoothing, 0 to 1.

    Every prediction has all the references; the length it should have is that of the shortest.

    >>> round(bleu2(["PersonX eats chicken"], ["PersonX eats chicken for days"]), 3)
    0.513
    """
    goals = [tokens_13a(text) for text in references]
    mine = [tokens_13a(text) for text in predictions]
    length, wanted = sum(map(len, mine)), len(mine) * min(map(len, goals), default=0)
    total = 0.0
    for order in (1, 2):
        most: Counter[tuple[str, ...]] = Counter()
        for goal in goals:
            most |= _ngrams(goal, order)
        grams = [_ngrams(words, order) for words in mine]
        shared = sum((counts & most).total() for counts in grams)
        if not shared:
            return 0.0
        total += math.log(shared / sum(counts.total() for counts in grams))
    short = min(0.0, 1 - wanted / length)
    return math.exp(short + total / 2)


def _ngrams(words: list[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter((word,) for word in words) if order == 1 else Counter(pairwise(words))


def as_deco(text: str) -> str:
    """Return a clause as the people who wrote DECO's triples do, with every form of "be" as "be".

    >>> as_deco("PersonX is sad")
    'PersonX be sad'
    """
    return re.sub(r"\b(?:is|are|am)\b", "be", text)


_SEPARATE = (
    (re.compile(r"([{-~\[-` -&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def tokens_13a(text: str) -> list[str]:
    """Split as the WMT script mteval-v13a does: marks apart, except within numbers."""
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    text = f" {' '.join(text.split())} "
    for pattern, spaced in _SEPARATE:
        text = pattern.sub(spaced, text)
    return text.split()
