"""Areas under the curve per relation, rank correlations and their intervals."""

from __future__ import annotations

from collections.abc import Sequence

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
