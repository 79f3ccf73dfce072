"""Overlap of two sequences of words: n-grams, stems, the longest common subsequence."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from grice_tasks.tokens import ROUGE_TOKENS

if TYPE_CHECKING:
    from collections.abc import Sequence

Counts: TypeAlias = dict[tuple[str, ...], int]  # How often each n-gram occurs

UNSTEMMED = 3  # Words up to this length are not stemmed


def count_ngrams(tokens: Sequence[str], order: int) -> Counts:
    """Return how often each run of ``order`` tokens occurs."""
    counts: Counts = {}
    for gram in zip(*(tokens[i:] for i in range(order)), strict=False):
        counts[gram] = counts.get(gram, 0) + 1
    return counts


def shared(mine: Counts, other: Counts) -> int:
    """Return how many n-grams two texts share, each as often as both have it."""
    return sum(min(mine[gram], other[gram]) for gram in mine.keys() & other.keys())


@lru_cache(maxsize=50_000)
def stems(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, stemmed as rouge-score does."""
    return tuple(
        word if len(word) <= UNSTEMMED else stem(word)
        for word in ROUGE_TOKENS.findall(text.lower())
    )


@lru_cache(maxsize=50_000)
def stem_bigrams(text: str) -> Counts:
    """Return how often each two neighbouring stems of a text occur."""
    return count_ngrams(stems(text), 2)


def rouge_2(output: str, reference: str) -> float:
    """Return the F-measure of shared pairs of neighbouring stems, 0 to 1."""
    mine, other = stem_bigrams(output), stem_bigrams(reference)
    both = shared(mine, other)
    return 2 * both / (sum(mine.values()) + sum(other.values())) if both else 0.0


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return Porter's stem with the extensions of nltk, the one published scores use."""
    from nltk.stem.porter import PorterStemmer

    return str(PorterStemmer().stem(word))


def common_length(mine: Sequence[str], other: Sequence[str]) -> int:
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
