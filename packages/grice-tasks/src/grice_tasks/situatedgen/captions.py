"""BLEU-4, ROUGE-L and CIDEr-D of outputs against one reference each, as pycocoevalcap has them.

ROUGE-2 is :func:`grice_tasks.overlap.rouge_2`, METEOR :mod:`grice_tasks.situatedgen.meteor`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice_tasks.overlap import common_length, count_ngrams, shared
from grice_tasks.situatedgen.words import sentences, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.stats.inputs import Floats
    from grice_tasks.overlap import Counts

ORDERS = 4
MARKED = "'' ' `` ` -lrb- -rrb- -lcb- -rcb- ( ) [ ] { } . ? ! , : - -- ... ; \" …"
MARKS = frozenset(MARKED.split())
"""Tokens that pycocoevalcap drops."""
LETTERS = re.compile(r"[a-z](?:\.[a-z])+|[a-z]|mr|mrs|dr|st|jr|inc|co")
"""Abbreviations that keep their period."""
TINY, SMALL = 1e-15, 1e-9
BETA = 1.2
"""How much more recall counts than precision in ROUGE-L."""
SIGMA = 6.0
"""Width of CIDEr-D's penalty on differing lengths, in bigrams."""
SCALE = 10.0
"""CIDEr-D of a text with itself."""


@lru_cache(maxsize=50_000)
def caption_tokens(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case without punctuation.

    >>> caption_tokens("The Hopi live in the USA; Kendo's from Japan!")
    ('the', 'hopi', 'live', 'in', 'the', 'usa', 'kendo', "'s", 'from', 'japan')
    """
    tokens = [token for sentence in sentences(text) for token in words(sentence)]
    for i, token in enumerate(tokens[:-1]):
        if tokens[i + 1] == "." and LETTERS.fullmatch(token):
            tokens[i] = token + "."
    return tuple(token for token in tokens if token not in MARKS)


def bleu_counts(output: str, *references: str) -> Floats:
    """Return what BLEU-4 sums over a corpus.

    Of several references each n-gram counts as often as in the one that has it most, and the
    length is that of the reference closest in length.
    """
    mine, others = caption_tokens(output), [caption_tokens(text) for text in references]
    guessed = [max(0, len(mine) - order) for order in range(ORDERS)]
    right = []
    for order in range(1, ORDERS + 1):
        most: Counts = {}
        for other in others:
            for gram, count in _ngrams(other, order).items():
                most[gram] = max(count, most.get(gram, 0))
        right.append(shared(_ngrams(mine, order), most))
    closest = min((abs(len(other) - len(mine)), len(other)) for other in others)[1]
    return np.array([*guessed, *right, len(mine), closest], np.float64)


@lru_cache(maxsize=50_000)
def _ngrams(tokens: tuple[str, ...], order: int) -> Counts:
    return count_ngrams(tokens, order)


def bleu_4(sums: Floats) -> Floats:
    """Return BLEU-4 for each row of summed counts, 0 to 1."""
    ratios = (sums[:, ORDERS : 2 * ORDERS] + TINY) / (sums[:, :ORDERS] + SMALL)
    lengths = (sums[:, -2] + TINY) / (sums[:, -1] + SMALL)
    short = np.where(lengths < 1, 1 - 1 / np.maximum(lengths, TINY), 0.0)
    values: Floats = np.exp(np.log(ratios).mean(axis=1) + np.maximum(short, -700.0))
    return values


def rouge_l(output: str, *references: str) -> float:
    """Return ROUGE-L with recall weighted by 1.2 squared, 0 to 1.

    Of several references precision and recall are each the best.
    """
    mine, others = caption_tokens(output), [caption_tokens(text) for text in references]
    both = [common_length(mine, other) for other in others]
    if not any(both):
        return 0.0
    precision = max(both) / len(mine)
    recall = max(length / max(1, len(other)) for length, other in zip(both, others, strict=True))
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


class _Weighed(NamedTuple):
    """The weighted n-grams of one text: per order its weights and their norm."""

    weights: tuple[dict[tuple[str, ...], float], ...]
    norms: tuple[float, ...]
    length: int


class CiderD:
    """CIDEr-D against references whose document frequencies are those of the scored corpus.

    A value therefore depends on which items are scored together.
    """

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        self._frequencies: Counter[tuple[str, ...]] = Counter()
        for texts in references:
            tokens = [caption_tokens(text) for text in texts]
            self._frequencies.update(
                {
                    gram
                    for n in range(ORDERS)
                    for text_tokens in tokens
                    for gram in _ngrams(text_tokens, n + 1)
                }
            )
        self._size = math.log(len(references)) if len(references) > 1 else 1.0

    def __call__(self, output: str, *references: str) -> float:
        """Return the value of one output, 0 to 10; the mean over its references."""
        mine = self._weigh(output)
        values = [self._likeness(mine, self._weigh(text)) for text in references]
        return sum(values) / len(values)

    def _likeness(self, mine: _Weighed, other: _Weighed) -> float:
        total = 0.0
        for n in range(ORDERS):
            both = sum(
                min(weight, other.weights[n][gram]) * other.weights[n][gram]
                for gram, weight in mine.weights[n].items()
                if gram in other.weights[n]
            )
            norm = mine.norms[n] * other.norms[n]
            total += both / norm if norm else both
        apart = mine.length - other.length
        return SCALE * total / ORDERS * math.exp(-(apart**2) / (2 * SIGMA**2))

    def _weigh(self, text: str) -> _Weighed:
        tokens = caption_tokens(text)
        weights = tuple(
            {
                gram: count * (self._size - math.log(max(1.0, self._frequencies[gram])))
                for gram, count in _ngrams(tokens, n + 1).items()
            }
            for n in range(ORDERS)
        )
        norms = tuple(math.sqrt(sum(w * w for w in part.values())) for part in weights)
        return _Weighed(weights, norms, max(0, len(tokens) - 1))
