"""Logistic regression with a penalty per coefficient, by Newton's method in numpy."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grice.models.mlp import single_threaded
from grice.numeric import logistic

Floats: TypeAlias = NDArray[np.floating]

STEPS = 30
INNER = 60  # steps of conjugate gradients for one Newton step


class Linear(NamedTuple):
    """``features @ weights + bias``: log odds."""

    weights: NDArray[np.float64]  # one per feature, float64
    bias: float  # what is added

    def __call__(self, features: Floats) -> NDArray[np.float64]:
        """Return the log odds of rows of features, shape ``(n,)``."""
        return np.asarray(features @ self.weights + self.bias, np.float64)


def balanced(labels: Floats) -> NDArray[np.float64]:
    """Return weights of mean 1 that give both classes the same sum.

    >>> balanced(np.array([1, 0, 0, 0])).round(3).tolist()
    [2.0, 0.667, 0.667, 0.667]
    """
    positive = np.asarray(labels) > 0.5
    share = positive.mean()
    weights = np.where(positive, 0.5 / max(share, 1e-9), 0.5 / max(1 - share, 1e-9))
    return np.asarray(weights, np.float64)


def fit_logistic(
    features: Floats,
    labels: Floats,
    *,
    penalties: Floats | float,
    weights: Floats | None = None,
    tolerance: float = 1e-4,
) -> Linear:
    """Return the coefficients of least weighted cross entropy plus penalty.

    Minimised is ``mean(weights * cross entropy) + sum(penalties * coefficients ** 2) / 2``; the
    bias has no penalty. The problem is convex, so that there is one answer whatever the start.
    """
    x = np.asarray(features)
    y = np.asarray(labels, np.float64)
    n, k = x.shape
    share = (np.ones(n) if weights is None else np.asarray(weights, np.float64)) / n
    ridge = np.append(np.broadcast_to(np.asarray(penalties, np.float64), k), 0.0)
    solution = np.zeros(k + 1)
    with single_threaded():
        for _ in range(STEPS):
            logits = _times(x, solution)
            chance = logistic(logits)
            slope = _back(x, share * (chance - y)) + ridge * solution
            if np.abs(slope).max() < tolerance:
                break
            curve = share * np.maximum(chance * (1 - chance), 1e-6)
            step = _conjugate(x, curve, ridge, slope)
            solution = solution - _length(x, y, share, ridge, solution, step, slope) * step
    return Linear(solution[:-1], float(solution[-1]))


def _times(x: Floats, solution: Floats) -> Floats:
    return np.asarray(x @ solution[:-1].astype(x.dtype) + solution[-1], np.float64)


def _back(x: Floats, rows: Floats) -> Floats:
    return np.append(np.asarray(x.T @ rows.astype(x.dtype), np.float64), rows.sum())


def _conjugate(x: Floats, curve: Floats, ridge: Floats, slope: Floats) -> Floats:
    """Return the Newton step, solved by conjugate gradients until it is good enough."""
    step = np.zeros_like(slope)
    residual = slope.copy()
    direction = residual.copy()
    size = float(residual @ residual)
    enough = size * 1e-4
    for _ in range(INNER):
        if size <= enough:
            break
        image = _back(x, curve * _times(x, direction)) + ridge * direction
        pace = size / float(direction @ image)
        step += pace * direction
        residual -= pace * image
        size, before = float(residual @ residual), size
        direction = residual + size / before * direction
    return step


def _length(
    x: Floats, y: Floats, share: Floats, ridge: Floats, at: Floats, step: Floats, slope: Floats
) -> float:
    """Return how much of the step to take: halved until the loss falls as the slope promises."""
    loss = _loss(_times(x, at), y, share, ridge, at)
    promised = float(slope @ step)
    length = 1.0
    while length > 1e-4:
        there = at - length * step
        if _loss(_times(x, there), y, share, ridge, there) <= loss - 1e-4 * length * promised:
            return length
        length /= 2
    return 0.0


def _loss(logits: Floats, y: Floats, share: Floats, ridge: Floats, at: Floats) -> float:
    entropy = np.logaddexp(0, logits) - y * logits
    return float((share * entropy).sum() + (ridge * at * at).sum() / 2)
