"""Facts of two graphs paired so that they are most alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grice.stats.estimate import scipy_module

if TYPE_CHECKING:
    from collections.abc import Sequence


class Match(msgspec.Struct, frozen=True):
    """How well predicted facts match gold facts, each number 0 to 1.

    Attributes:
        precision: Likeness of the pairs over the number of predicted facts.
        recall: The same over the number of gold facts.
        f1: Harmonic mean of both; 0 if both are 0.
    """

    precision: float
    recall: float
    f1: float


def match_facts(likeness: Sequence[Sequence[float]]) -> Match:
    """Return the match of the best one-to-one pairing.

    >>> round(match_facts([[0.9, 0.8, 0.1], [0.85, 0.2, 0.1]]).f1, 3)
    0.66

    Args:
        likeness: One row per predicted fact, one column per gold fact; all of them 0 to 1.
    """
    if not likeness or not likeness[0]:
        return Match(0.0, 0.0, 0.0)
    rows, columns = len(likeness), len(likeness[0])
    total = _best_total(likeness)
    precision, recall = total / rows, total / columns
    both = precision + recall
    return Match(precision, recall, 2 * precision * recall / both if both > 0 else 0.0)


def _best_total(likeness: Sequence[Sequence[float]]) -> float:
    """Return the sum of the best pairing; the rows' own best if they are no rivals."""
    best = [max(range(len(row)), key=row.__getitem__) for row in likeness]
    if len(set(best)) == len(best):
        return sum(row[column] for row, column in zip(likeness, best, strict=True))
    chosen = scipy_module("optimize").linear_sum_assignment(likeness, maximize=True)
    return float(sum(likeness[row][column] for row, column in zip(*chosen, strict=True)))


def best_gold(matches: Sequence[Match]) -> Match:
    """Return the match with the gold graph of the largest F1, the first of equal ones."""
    return max(matches, key=lambda match: match.f1)
