"""How alike two facts are, word by word: BLEU, ROUGE-2 and ROUGE-L of their text.

The numbers equal those of nltk (``sentence_bleu``, no smoothing) and rouge-score (with
stemming); facts repeat, so the counts of each distinct one are made once.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import GriceError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["bleu", "rouge_2", "rouge_2_precision", "rouge_l"]

BLEU_TOKEN = re.compile(r"[^\s;]+|;")
ROUGE_TOKEN = re.compile(r"[a-z0-9]+")
ORDERS = 4
UNSTEMMED = 3
"""Words up to this length are not stemmed."""


class _Ngrams(NamedTuple):
    length: int
    counts: tuple[Counter[tuple[str, ...]], ...]


def bleu(predicted: str, gold: str) -> float:
    """Return BLEU-4 of a predicted fact, its semicolons being words; 0 without shared 4-gram.

    Args:
        predicted: A fact as it is written, without its brackets: ``zoos; is a; place``.
        gold: The fact to compare with.
    """
    mine, other = _bleu_ngrams(predicted), _bleu_ngrams(gold)
    if not mine.length:
        return 0.0
    total = 0.0
    for order in range(ORDERS):
        shared = _shared(mine.counts[order], other.counts[order])
        if not shared:
            return 0.0
        total += math.log(shared / (mine.length - order))
    short = min(0.0, 1 - other.length / mine.length)
    return math.exp(short + total / ORDERS)


def rouge_2(predicted: str, gold: str) -> float:
    """Return the F-measure of shared pairs of neighbouring stems, 0 to 1."""
    shared, mine, other = _bigrams(predicted, gold)
    return 2 * shared / (mine + other) if shared else 0.0


def rouge_2_precision(predicted: str, gold: str) -> float:
    """Return the share of the predicted fact's pairs of stems that the gold fact has.

    The released script takes this for ROUGE-2.
    """
    shared, mine, _ = _bigrams(predicted, gold)
    return shared / mine if shared else 0.0


def rouge_l(predicted: str, gold: str) -> float:
    """Return the F-measure of the longest common subsequence of stems, 0 to 1."""
    mine, other = _stems(predicted), _stems(gold)
    shared = _common(mine, other)
    return 2 * shared / (len(mine) + len(other)) if shared else 0.0


@lru_cache(maxsize=50_000)
def _bleu_ngrams(fact: str) -> _Ngrams:
    tokens = BLEU_TOKEN.findall(fact)
    return _Ngrams(len(tokens), tuple(_count(tokens, order + 1) for order in range(ORDERS)))


def _count(tokens: list[str] | tuple[str, ...], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[i:] for i in range(order)), strict=False))


def _shared(mine: Counter[tuple[str, ...]], other: Counter[tuple[str, ...]]) -> int:
    return sum(min(count, other[gram]) for gram, count in mine.items() if gram in other)


def _bigrams(predicted: str, gold: str) -> tuple[int, int, int]:
    mine, other = _rouge_bigrams(predicted), _rouge_bigrams(gold)
    return _shared(mine, other), max(0, mine.total()), max(0, other.total())


@lru_cache(maxsize=50_000)
def _rouge_bigrams(fact: str) -> Counter[tuple[str, ...]]:
    return _count(_stems(fact), 2)


@lru_cache(maxsize=50_000)
def _stems(fact: str) -> tuple[str, ...]:
    return tuple(_stem(word) for word in ROUGE_TOKEN.findall(fact.lower()))


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return word if len(word) <= UNSTEMMED else _stemmer()(word)


@lru_cache(maxsize=1)
def _stemmer() -> Callable[[str], str]:
    """Return Porter's stemmer with the extensions of nltk, the one published scores use."""
    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError as error:
        raise GriceError(
            'ROUGE needs nltk, which is not installed: pip install "grice[graphs]"'
        ) from error
    stem: Callable[[str], str] = PorterStemmer().stem
    return stem


def _common(mine: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for word in mine:
        diagonal = 0
        for j, gold in enumerate(other, 1):
            above = row[j]
            row[j] = diagonal + 1 if word == gold else max(above, row[j - 1])
            diagonal = above
    return row[-1]
