"""Statistics of weighted items, for many rows of weights at once.

Each function prepares what does not depend on the weights and returns a
:data:`~grice.stats.resample.Statistic`. A weight of 2 means that the item stands twice in the
resample; ranks and ties are those of that resample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from grice.stats.estimate import scipy_module
from grice.stats.inputs import Floats, Integers

if TYPE_CHECKING:
    from grice.stats.resample import Statistic

Kind: TypeAlias = Literal["pearson", "spearman", "kendall"]


def means(columns: Floats) -> Statistic:
    """Return the statistic of the weighted mean of each column of ``columns`` (items, k)."""

    def statistic(weights: Floats) -> Floats:
        return np.asarray((weights @ columns) / weights.sum(axis=1, keepdims=True))

    return statistic


def correlations(columns: Floats, target: Floats, kind: Kind) -> Statistic:
    """Return the statistic of the correlation of each column (items, k) with the target."""
    if kind == "pearson":
        return _pearson(columns, target)
    if kind == "spearman":
        return _spearman(columns, target)
    return _kendall(columns, target)


def _pearson(columns: Floats, target: Floats) -> Statistic:
    x = _standard(columns)
    y = _standard(target[:, None])
    k = x.shape[1]
    moments = np.hstack([y, y * y, x, x * x, x * y])

    def statistic(weights: Floats) -> Floats:
        mean = (weights @ moments) / weights.sum(axis=1, keepdims=True)
        mean_y, square_y = mean[:, :1], mean[:, 1:2]
        mean_x, square_x = mean[:, 2 : 2 + k], mean[:, 2 + k : 2 + 2 * k]
        product = mean[:, 2 + 2 * k :]
        spread = (square_x - mean_x**2) * (square_y - mean_y**2)
        return _ratio(product - mean_x * mean_y, np.sqrt(np.maximum(spread, 0)), 1e-12)

    return statistic


def _standard(columns: Floats) -> Floats:
    # Sums of squares lose digits if the mean is far from zero.
    centred = columns - columns.mean(axis=0)
    scale = np.sqrt((centred**2).mean(axis=0))
    return np.asarray(centred / np.where(scale > 0, scale, 1.0), np.float64)


def _ratio(above: Floats, below: Floats, least: float) -> Floats:
    good = below > least
    values = np.full(above.shape, np.nan)
    np.divide(above, below, out=values, where=good)
    return np.asarray(np.clip(values, -1.0, 1.0))


class _Levels(NamedTuple):
    """A column as positions among its distinct values."""

    codes: Integers
    order: Integers
    starts: Integers


def _levels(column: Floats) -> _Levels:
    codes = np.unique(column, return_inverse=True)[1].astype(np.int64)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return _Levels(codes, order, starts.astype(np.int64))


def _level_weights(levels: _Levels, weights: Floats) -> Floats:
    return np.asarray(np.add.reduceat(weights[:, levels.order], levels.starts, axis=1))


def _centred_ranks(levels: _Levels, weights: Floats) -> tuple[Floats, Floats]:
    """Return mid-ranks less their mean per item (rows, items), and their sum of squares (rows,)."""
    held = _level_weights(levels, weights)
    ranks = np.cumsum(held, axis=1) - held / 2
    ranks -= weights.sum(axis=1, keepdims=True) / 2
    squares = np.einsum("ij,ij->i", held, ranks**2)
    return ranks[:, levels.codes], squares


def _spearman(columns: Floats, target: Floats) -> Statistic:
    y = _levels(target)
    xs = [_levels(column) for column in columns.T]

    def statistic(weights: Floats) -> Floats:
        ranks_y, squares_y = _centred_ranks(y, weights)
        ranks_y *= weights
        values = np.empty((len(weights), len(xs)))
        for k, x in enumerate(xs):
            ranks_x, squares_x = _centred_ranks(x, weights)
            product = np.einsum("ij,ij->i", ranks_x, ranks_y)
            values[:, k] = _ratio(product, np.sqrt(squares_x * squares_y), 1e-9)
        return values

    return statistic


def _kendall(columns: Floats, target: Floats) -> Statistic:
    tau = scipy_module("stats").kendalltau

    def statistic(weights: Floats) -> Floats:
        values = np.empty((len(weights), columns.shape[1]))
        for row, weight in enumerate(weights.astype(np.int64)):
            drawn = np.repeat(columns, weight, axis=0)
            ordered = np.repeat(target, weight)
            values[row] = [tau(column, ordered).statistic for column in drawn.T]
        return values

    return statistic


def partial(columns: Floats, kind: Literal["pearson", "spearman"]) -> Statistic:
    """Return the statistic of the correlation of columns 0 and 1 given all other columns."""
    k = columns.shape[1]
    upper = np.triu_indices(k)
    standard = _standard(columns)
    products = standard[:, upper[0]] * standard[:, upper[1]]
    levels = [_levels(column) for column in columns.T] if kind == "spearman" else []

    def covariances(weights: Floats) -> Floats:
        matrix = np.empty((len(weights), k, k))
        if kind == "pearson":
            total = weights.sum(axis=1, keepdims=True)
            mean = (weights @ standard) / total
            flat = (weights @ products) / total - mean[:, upper[0]] * mean[:, upper[1]]
        else:
            ranks = [_centred_ranks(level, weights)[0] for level in levels]
            flat = np.stack(
                [
                    np.einsum("ij,ij,ij->i", weights, ranks[a], ranks[b])
                    for a, b in zip(*upper, strict=True)
                ],
                axis=1,
            )
        matrix[:, upper[0], upper[1]] = flat
        matrix[:, upper[1], upper[0]] = flat
        return matrix

    def statistic(weights: Floats) -> Floats:
        matrix = covariances(weights)
        scale = np.sqrt(np.maximum(np.einsum("iaa->ia", matrix), 0))
        usable = (scale > 1e-9).all(axis=1)
        values = np.full((len(weights), 1), np.nan)
        unit = matrix[usable] / (scale[usable, :, None] * scale[usable, None, :])
        # The correlation of what is left is read off the inverse; a column that the others
        # determine has none.
        firm = np.linalg.eigvalsh(unit)[:, 0] > 1e-10 if len(unit) else np.zeros(0, bool)
        inverse = np.linalg.inv(unit[firm])
        rows = np.flatnonzero(usable)[firm]
        values[rows, 0] = -inverse[:, 0, 1] / np.sqrt(inverse[:, 0, 0] * inverse[:, 1, 1])
        return np.asarray(np.clip(values, -1.0, 1.0))

    return statistic
