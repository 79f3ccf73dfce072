"""Areas under the curve per relation, rank correlations and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1, equal values sharing their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def auc(scores: np.ndarray, labels: np.ndarray) -> float:
    positives = int(labels.sum())
    negatives = len(labels) - positives
    over = ranks(scores)[labels == 1].sum() - positives * (positives + 1) / 2
    return float(over / (positives * negatives))


def by_relation(scores: np.ndarray, labels: np.ndarray, names: Sequence) -> dict[str, float]:
    names = np.asarray(names)
    areas = {}
    for name in sorted(set(names.tolist())):
        rows = names == name
        if 0 < labels[rows].sum() < rows.sum():
            areas[str(name)] = round(auc(scores[rows], labels[rows]), 4)
    return areas


def weighted(scores: np.ndarray, labels: np.ndarray, names: Sequence) -> float:
    """AUC per relation, averaged by the number of rows; relations of one class are left out."""
    names = np.asarray(names)
    total = rows_seen = 0.0
    for name in set(names.tolist()):
        rows = names == name
        if 0 < labels[rows].sum() < rows.sum():
            total += auc(scores[rows], labels[rows]) * rows.sum()
            rows_seen += rows.sum()
    return total / rows_seen


def pearson(left: np.ndarray, right: np.ndarray) -> float:
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])


def spearman(left: np.ndarray, right: np.ndarray) -> float:
    return pearson(ranks(np.asarray(left)), ranks(np.asarray(right)))


def partial(left: np.ndarray, right: np.ndarray, given: np.ndarray) -> float:
    """Rank correlation of two quantities after a third is taken out of both."""
    ab, ac, bc = spearman(left, right), spearman(left, given), spearman(right, given)
    return (ab - ac * bc) / np.sqrt((1 - ac**2) * (1 - bc**2))


def interval(
    measure: Callable[..., float], *columns: np.ndarray, rounds: int = 1000, seed: int = 0
) -> tuple[float, float, float]:
    """Return the measure and its 95 % percentile interval over resampled rows."""
    random = np.random.default_rng(seed)
    count = len(columns[0])
    values = []
    for _ in range(rounds):
        rows = random.integers(0, count, count)
        values.append(measure(*(column[rows] for column in columns)))
    low, high = np.quantile(values, [0.025, 0.975])
    return measure(*columns), float(low), float(high)
