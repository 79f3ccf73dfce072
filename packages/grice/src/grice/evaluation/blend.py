"""A weighted sum of metrics that comes nearer to people than the best of them alone, or none.

Ridge regression with weights of at least zero: a metric may count for nothing, but never against
what it means. The gain over the best single metric is measured on conversations that had no part
in choosing either; if the interval of the gain holds zero, there is no blend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.stats.estimate import Estimate, scipy_module
from grice.stats.inputs import Floats, Integers, joined
from grice.stats.systems import mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0)
FOLDS = 5


class Linear(NamedTuple):
    """``intercept + values @ weights``, of values as the metrics give them."""

    weights: Floats
    intercept: float

    def at(self, values: Floats) -> Floats:
        """Return the sum for rows of values."""
        return np.asarray(values @ self.weights + self.intercept, np.float64)


class Blended(NamedTuple):
    """A fitted blend and what it is worth.

    Attributes:
        gain: By how much the squared error of an unseen item falls against the best single
            metric; worth having if its interval lies above zero.
        out_of_fold: What the blend says of each item when fitted without its conversation's fold.
    """

    linear: Linear
    gain: Estimate
    out_of_fold: Floats
    penalty: float
    single: int


def fit_blend(values: Floats, ratings: Floats, groups: Integers, *, seed: int) -> Blended:
    """Return the blend of the columns and its gain on unseen conversations.

    Args:
        values: One row per item, one column per metric, no gaps.
        groups: Conversation of each item; at least ten.
    """
    folds = _folds(groups, seed)
    blend, single = np.empty(len(ratings)), np.empty(len(ratings))
    for fold in range(FOLDS):
        kept, out = folds != fold, folds == fold
        inner = _folds(groups[kept], seed + 1 + fold)
        penalty = _best_penalty(values[kept], ratings[kept], inner)
        blend[out] = _fit(values[kept], ratings[kept], penalty).at(values[out])
        # The single metric is shrunk as freely as the blend: shrinking is no merit of blending.
        place, penalty = _best_single(values[kept], ratings[kept], inner)
        alone = values[:, [place]]
        single[out] = _fit(alone[kept], ratings[kept], penalty).at(alone[out])
    penalty = _best_penalty(values, ratings, folds)
    # Without the correction for skewness, which among cross-validated gains of useless metrics
    # raises the lower bound too often.
    squares = (ratings - single) ** 2 - (ratings - blend) ** 2
    gain = mean(squares, groups=groups, interval="student")
    return Blended(
        _fit(values, ratings, penalty),
        gain,
        blend,
        penalty,
        _best_single(values, ratings, folds)[0],
    )


def _folds(groups: Integers, seed: int) -> Integers:
    codes = joined(groups)
    order = np.random.default_rng(seed).permutation(int(codes.max()) + 1)
    return np.asarray(order[codes] % FOLDS, np.int64)


def _fit(values: Floats, ratings: Floats, penalty: float) -> Linear:
    centre, spread = values.mean(axis=0), values.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    n, k = values.shape
    rows = np.vstack([(values - centre) / spread, np.sqrt(penalty * n) * np.eye(k)])
    wanted = np.concatenate([ratings - ratings.mean(), np.zeros(k)])
    weights = scipy_module("optimize").nnls(rows, wanted)[0] / spread
    return Linear(weights, float(ratings.mean() - centre @ weights))


def _best_penalty(values: Floats, ratings: Floats, folds: Integers) -> float:
    return min(
        PENALTIES, key=lambda penalty: _cross_validated_error(values, ratings, folds, penalty)
    )


def _best_single(values: Floats, ratings: Floats, folds: Integers) -> tuple[int, float]:
    """Return the place of the best metric alone, and its penalty."""
    pairs = [(place, penalty) for place in range(values.shape[1]) for penalty in PENALTIES]
    return min(
        pairs,
        key=lambda pair: _cross_validated_error(values[:, [pair[0]]], ratings, folds, pair[1]),
    )


def _cross_validated_error(
    values: Floats, ratings: Floats, folds: Integers, penalty: float
) -> float:
    return sum(
        float(
            ((ratings[out] - _fit(values[kept], ratings[kept], penalty).at(values[out])) ** 2).sum()
        )
        for kept, out in _parts(folds)
    )


def _parts(folds: Integers) -> Iterator[tuple[Sequence[bool], Sequence[bool]]]:
    for fold in range(FOLDS):
        out = folds == fold
        if out.any() and not out.all():
            yield ~out, out
