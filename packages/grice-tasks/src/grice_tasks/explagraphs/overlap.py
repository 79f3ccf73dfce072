"""How alike two facts are, word by word: BLEU, ROUGE-2 and ROUGE-L of their text.

The numbers equal those of nltk (``sentence_bleu``, no smoothing) and rouge-score (with
stemming); facts repeat, so the counts of each distinct one are made once.
"""

from __future__ import annotations

import math
from functools import lru_cache

from grice_tasks.overlap import (
    Counts,
    common_length,
    count_ngrams,
    shared,
    stem_bigrams,
    stems,
)
from grice_tasks.tokens import BLEU_TOKENS

ORDERS = 4


def bleu(predicted: str, gold: str) -> float:
    """Return BLEU-4 of a predicted fact, its semicolons being words; 0 without shared 4-gram.

    Args:
        predicted: A fact as it is written, without its brackets: ``zoos; is a; place``.
    """
    total = 0.0
    # Most pairs share no 4-gram, so that the look at the longest settles it.
    for order in range(ORDERS, 0, -1):
        mine = _bleu_ngrams(predicted, order)
        both = shared(mine, _bleu_ngrams(gold, order))
        if not both:
            return 0.0
        total += math.log(both / sum(mine.values()))
    short = min(0.0, 1 - len(_bleu_tokens(gold)) / len(_bleu_tokens(predicted)))
    return math.exp(short + total / ORDERS)


def rouge_2_precision(predicted: str, gold: str) -> float:
    """Return the share of the predicted fact's pairs of stems that the gold fact has.

    The released script takes this for ROUGE-2.
    """
    mine = stem_bigrams(predicted)
    both = shared(mine, stem_bigrams(gold))
    return both / sum(mine.values()) if both else 0.0


def rouge_l(predicted: str, gold: str) -> float:
    """Return the F-measure of the longest common subsequence of stems, 0 to 1."""
    mine, other = stems(predicted), stems(gold)
    both = common_length(mine, other)
    return 2 * both / (len(mine) + len(other)) if both else 0.0


@lru_cache(maxsize=50_000)
def _bleu_tokens(fact: str) -> tuple[str, ...]:
    return tuple(BLEU_TOKENS.findall(fact))


@lru_cache(maxsize=50_000)
def _bleu_ngrams(fact: str, order: int) -> Counts:
    return count_ngrams(_bleu_tokens(fact), order)
