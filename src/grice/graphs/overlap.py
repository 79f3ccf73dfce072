"""How alike two facts are, word by word: BLEU, ROUGE-2 and ROUGE-L of their text.

The numbers equal those of nltk (``sentence_bleu``, no smoothing) and rouge-score (with
stemming); facts repeat, so the counts of each distinct one are made once.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from grice.errors import GriceError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["bleu", "rouge_2", "rouge_2_precision", "rouge_l"]

BLEU_TOKEN = re.compile(r"[^\s;]+|;")
ROUGE_TOKEN = re.compile(r"[a-z0-9]+")
ORDERS = 4
UNSTEMMED = 3
"""Words up to this length are not stemmed."""
Counts: TypeAlias = dict[tuple[str, ...], int]


def bleu(predicted: str, gold: str) -> float:
    """Return BLEU-4 of a predicted fact, its semicolons being words; 0 without shared 4-gram.

    Args:
        predicted: A fact as it is written, without its brackets: ``zoos; is a; place``.
        gold: The fact to compare with.
    """
    total = 0.0
    # Most pairs share no 4-gram, so that the look at the longest settles it.
    for order in range(ORDERS, 0, -1):
        mine = _bleu_ngrams(predicted, order)
        shared = _shared(mine, _bleu_ngrams(gold, order))
        if not shared:
            return 0.0
        total += math.log(shared / sum(mine.values()))
    short = min(0.0, 1 - len(_bleu_tokens(gold)) / len(_bleu_tokens(predicted)))
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
def _bleu_tokens(fact: str) -> tuple[str, ...]:
    return tuple(BLEU_TOKEN.findall(fact))


@lru_cache(maxsize=50_000)
def _bleu_ngrams(fact: str, order: int) -> Counts:
    return _count(_bleu_tokens(fact), order)


def _count(tokens: tuple[str, ...], order: int) -> Counts:
    counts: Counts = {}
    for gram in zip(*(tokens[i:] for i in range(order)), strict=False):
        counts[gram] = counts.get(gram, 0) + 1
    return counts


def _shared(mine: Counts, other: Counts) -> int:
    return sum(min(mine[gram], other[gram]) for gram in mine.keys() & other.keys())


def _bigrams(predicted: str, gold: str) -> tuple[int, int, int]:
    mine, other = _rouge_bigrams(predicted), _rouge_bigrams(gold)
    return _shared(mine, other), sum(mine.values()), sum(other.values())


@lru_cache(maxsize=50_000)
def _rouge_bigrams(fact: str) -> Counts:
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
    """Return the length of the longest common subsequence.

    One bit per word of ``other``, cleared where the length grows (Hyyrö 2004).
    """
    places: dict[str, int] = {}
    for place, word in enumerate(other):
        places[word] = places.get(word, 0) | 1 << place
    every = (1 << len(other)) - 1
    left = every
    for word in mine:
        met = left & places.get(word, 0)
        left = (left + met) | (left - met)
    return (~left & every).bit_count()
