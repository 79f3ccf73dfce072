"""Logistic regression with a penalty per coefficient, by Newton's method in a trust region."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grice.models.mlp import single_threaded
from grice.numeric import logistic
from grice.stats.estimate import scipy_module

Floats: TypeAlias = NDArray[np.floating]

STEPS = 100


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
    tolerance: float = 1e-5,
) -> Linear:
    """Return the coefficients of least weighted cross entropy plus penalty.

    Minimised is ``mean(weights * cross entropy) + sum(penalties * coefficients ** 2) / 2`` until no
    slope exceeds the tolerance; the bias has no penalty. The problem is convex, so that there is
    one answer whatever the start.
    """
    x = np.asarray(features)
    y = np.asarray(labels, np.float64)
    n, k = x.shape
    share = (np.ones(n) if weights is None else np.asarray(weights, np.float64)) / n
    ridge = np.append(np.broadcast_to(np.asarray(penalties, np.float64), k), 0.0)

    def times(solution: Floats) -> Floats:
        return np.asarray(x @ solution[:-1].astype(x.dtype) + solution[-1], np.float64)

    def back(rows: Floats) -> Floats:
        return np.append(np.asarray(x.T @ rows.astype(x.dtype), np.float64), rows.sum())

    def loss(at: Floats) -> tuple[float, Floats]:
        odds = times(at)
        value = share @ (np.logaddexp(0, odds) - y * odds) + ridge @ (at * at) / 2
        return float(value), back(share * (logistic(odds) - y)) + ridge * at

    def curved(at: Floats, step: Floats) -> Floats:
        chance = logistic(times(at))
        return back(share * chance * (1 - chance) * times(step)) + ridge * step

    with single_threaded():
        found = scipy_module("optimize").minimize(
            loss,
            np.zeros(k + 1),
            jac=True,
            hessp=curved,
            method="trust-ncg",
            options={"gtol": tolerance, "maxiter": STEPS},
        )
    return Linear(found.x[:-1], float(found.x[-1]))
