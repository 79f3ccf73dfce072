"""Correlations with intervals: over items, given covariates, within contexts, and of systems.

Columns have one value per item; None or NaN if missing. ``groups`` are the conversations
of the items, left out together as their items resemble each other. ``seed`` is that of the parts
that are left out where there are more than 500. Intervals are at 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from grice.errors import InputError, did_you_mean, plural
from grice.stats.estimate import LEVEL, Estimate, clamp, few_units, scipy_module
from grice.stats.inputs import (
    Floats,
    Groups,
    Integers,
    Values,
    columns_of,
    complete_items,
    group_codes,
)
from grice.stats.resample import BLOCK, Statistic, estimate, resample

Kind: TypeAlias = Literal["pearson", "spearman", "kendall"]
HEAVY = 6.0
"""Kurtosis above which a Pearson correlation is marked; normal data have 3."""
NAMES: dict[str, str] = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall tau-b"}


def correlation(
    x: Values, y: Values, *, kind: Kind = "spearman", groups: Groups | None = None, seed: int = 0
) -> Estimate:
    """Return the correlation of two columns over the items that have both values, -1 to 1.

    The interval of a rank correlation without groups is Fisher's z with the standard error of
    Bonett and Wright (2000) for Spearman, and that of Brown and Benedetti (1977) for Kendall.
    Otherwise it is the jackknife's on Fisher's z, which holds for conversations and for heavy
    tails (``bench/coverage.md``).

    >>> str(correlation([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [2, 1, 4, 3, 6, 5, 8, 7, 10, 9]))
    '0.939, 95 % [0.688, 0.990], n 10'

    Args:
        x: One value per item, such as those of a metric; None or NaN if missing.
        y: The other column, such as human ratings.
        kind: ``pearson``, ``spearman``, or ``kendall`` (tau-b).
        groups: Conversation of each item, left out together, as its items resemble each other.
        seed: Seed of the parts that are left out where there are more than 500.

    Raises:
        InputError: If fewer than two items have both values, or a column is constant.
    """
    _check_kind(kind)
    (a, b), codes = complete_items({"x": x, "y": y}, groups, least=2, varying=True)
    value, n = correlation_value(a, b, kind), len(a)
    if kind != "pearson" and codes is None:
        return _analytic(a, b, value, NAMES[kind], kind=kind)
    drawn = resample(weighted_correlations(a[:, None], b, kind), n, groups=codes, seed=seed)
    found = estimate(drawn, what=NAMES[kind], value=value, bounded="correlation")
    if n < 4:
        return msgspec.structs.replace(found, low=-1.0, high=1.0, note=_small(n, value))
    kurtosis = max(map(_kurtosis, (a, b)))
    if kind != "pearson" or kurtosis <= HEAVY:
        return found
    heavy = f"heavy tails (kurtosis {kurtosis:.0f}): a few items decide Pearson's correlation"
    note = "; ".join(filter(None, (found.note, f"{heavy}; see Spearman's")))
    return msgspec.structs.replace(found, note=note)


def correlation_value(x: Floats, y: Floats, kind: Kind) -> float:
    """Return the bare coefficient of two columns without gaps."""
    stats = scipy_module("stats")
    if kind == "pearson":
        value = float(np.corrcoef(x, y)[0, 1])
    else:
        ranked = stats.spearmanr if kind == "spearman" else stats.kendalltau
        value = float(ranked(x, y).statistic)
    # A perfect correlation is one, however its sums were rounded.
    return math.copysign(1.0, value) if abs(value) > 1 - 1e-12 else value


def _check_kind(kind: str) -> None:
    if kind not in NAMES:
        raise InputError(f"kind={kind!r}{did_you_mean(kind, NAMES)}")


def _kurtosis(column: Floats) -> float:
    centred = column - column.mean()
    return float((centred**4).mean() / (centred**2).mean() ** 2)


def _small(n: int, value: float, unit: str = "item") -> str | None:
    """Return the note of an interval from few items or systems."""
    if n >= 4:
        return few_units(n, f"{unit}s")
    always = ": two always give -1 or 1" if n == 2 and abs(value) == 1 else ""
    return f"{plural(n, f'{unit} bounds', f'{unit}s bound')} no correlation{always}"


def _analytic(
    x: Floats,
    y: Floats,
    value: float,
    what: str,
    *,
    kind: Kind = "spearman",
    unit: str = "item",
    covariates: int = 0,
) -> Estimate:
    """Return a correlation of independent items with the interval of a formula."""
    n, note = len(x), _small(len(x), value, unit)
    if n < 4:
        what += ", no bound from fewer than four items"
        return Estimate(value, -1.0, 1.0, LEVEL, n, what, note=note)
    # One less half the least step a rank correlation of n items can make: without this the
    # interval of a perfect order of a handful of systems would have no width.
    most = 1 - (2 / (n * n - n) if kind == "kendall" else 3 / (n**3 - n))
    if kind == "pearson":
        variance, how = 1 / (n - 3), "Fisher z"
    elif kind == "spearman":
        variance, how = (1 + value**2 / 2) / (n - covariates - 3), "Fisher z, Bonett-Wright error"
    else:
        how = "Fisher z, delta-method error"
        error = kendall_error(x, y, tau=value)
        variance = (error / (1 - min(abs(value), most) ** 2)) ** 2
        if abs(value) > most:
            # A perfect order shows no spread; the normal-theory variance of Fieller, Hartley and
            # Pearson (1957) is taken instead.
            variance = 0.437 / max(1, n - 4)
        # The error is estimated from the items, hence Student's quantile, not the normal one.
        wide = float(scipy_module("special").stdtrit(n - 2, 0.5 + LEVEL / 2))
        variance *= (wide / NormalDist().inv_cdf(0.5 + LEVEL / 2)) ** 2
    half = NormalDist().inv_cdf(0.5 + LEVEL / 2) * math.sqrt(variance)
    z = math.atanh(clamp(value, -most, most))
    low, high = min(math.tanh(z - half), value), max(math.tanh(z + half), value)
    return Estimate(value, low, high, LEVEL, n, f"{what}, {how}", note=note)


def kendall_error(x: Floats, y: Floats, *, tau: float) -> float:
    """Return the standard error of tau-b, free of any assumed distribution.

    The delta method on the per-item counts of agreeing and tied pairs (Brown and Benedetti, 1977).
    """
    n = len(x)
    # For each item how many others agree with it in order, less those that disagree.
    rows = np.array_split(np.arange(n), 1 + n**2 // BLOCK)
    signs = (np.sign(x[part, None] - x) * np.sign(y[part, None] - y) for part in rows)
    agree = np.concatenate([sign.sum(axis=1) for sign in signs])
    untied = []
    for column in (x, y):
        _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
        untied.append(n - np.asarray(counts[codes], np.float64))
    total = [float(column.sum()) for column in untied]
    share = (untied[0] / total[0] + untied[1] / total[1]) / 2
    influence = 2 * (agree / math.sqrt(total[0] * total[1]) - tau * share)
    return math.sqrt(float(influence @ influence) * n / (n - 1))


def partial_correlation(
    x: Values,
    y: Values,
    covariates: Sequence[Values],
    *,
    groups: Groups | None = None,
    seed: int = 0,
) -> Estimate:
    """Return the partial Spearman correlation of two columns given covariates, -1 to 1.

    It is the partial correlation of the ranks, given columns such as the length of the reply.
    Intervals as for :func:`correlation`, with one item fewer per covariate in the analytic one.

    Raises:
        InputError: If there are too few complete items, a column is constant, or a column is
            determined by the covariates.
    """
    named = {"x": x, "y": y}
    named |= {f"covariates[{i}]": column for i, column in enumerate(covariates)}
    k = len(covariates)
    columns, codes = complete_items(named, groups, least=k + 4, varying=True)
    n = len(columns[0])
    statistic = _partial_ranks(columns)
    value = float(statistic(np.ones((1, n)))[0, 0])
    if math.isnan(value):
        raise InputError("a column is determined by the others: no partial correlation is defined")
    what = f"partial Spearman given {plural(k, 'covariate')}"
    if codes is None:
        return _analytic(columns[0], columns[1], value, what, covariates=k)
    drawn = resample(statistic, n, groups=codes, seed=seed)
    return estimate(drawn, what=what, bounded="correlation")


def correlation_within(
    x: Values, y: Values, contexts: Groups, *, kind: Kind = "spearman"
) -> Estimate:
    """Return the mean over contexts of the correlation among the items of each, -1 to 1.

    The convention of tables that average over the contexts of USR-TopicalChat. A context in
    which a column is constant, or with fewer than two complete items, is left out and counted
    in the note. The interval is Student's over contexts.

    Raises:
        InputError: If no context has a correlation.
    """
    _check_kind(kind)
    a, b = columns_of(x=x, y=y)
    codes = group_codes(contexts, len(a))
    total = int(codes.max(initial=-1)) + 1
    codes = np.where(np.isnan(a) | np.isnan(b), -1, codes)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(total + 1))
    parts = [order[start:end] for start, end in pairwise(ends) if end - start > 1]
    parts = [part for part in parts if np.ptp(a[part]) > 0 and np.ptp(b[part]) > 0]
    values = [correlation_value(a[part], b[part], kind) for part in parts]
    used, n = len(values), sum(map(len, parts))
    if not values:
        raise InputError(f"none of {total} contexts has two items that differ in x and in y")
    mean = float(np.mean(values))
    low = high = None
    left_out = f"{total - used} of {total} contexts left out: a column is constant"
    notes = [left_out if used < total else None, few_units(used, "contexts")]
    if used > 1:
        quantile = float(scipy_module("special").stdtrit(used - 1, 0.5 + LEVEL / 2))
        half = quantile * float(np.std(values, ddof=1)) / math.sqrt(used)
        low, high = max(-1.0, mean - half), min(1.0, mean + half)
    else:
        notes.append("the variance cannot be estimated from one context")
    what = f"mean over {used} contexts of {NAMES[kind]}, Student's t"
    return Estimate(mean, low, high, LEVEL, n, what, used, "; ".join(filter(None, notes)) or None)


class SystemLevel(NamedTuple):
    """Agreement of a metric with ratings on the means of systems.

    Attributes:
        correlation: Of the means with the mean ratings, its interval for systems as a sample of
            all possible ones.
        accuracy: Share of system pairs that the metric puts in the order of the ratings, its
            interval for items as a sample.
    """

    correlation: Estimate
    accuracy: Estimate


def system_level(
    metric: Values, human: Values, systems: Groups, *, kind: Kind = "pearson", seed: int = 0
) -> SystemLevel:
    """Return correlation and pairwise accuracy of system means (Kocmi et al. 2021).

    ``systems`` names the system of each item. Two always correlate with -1 or 1: the interval
    then spans everything.

    Raises:
        InputError: If there are fewer than two systems, or all means are the same.
    """
    codes = group_codes(systems, len(metric))
    columns = {"metric": metric, "human": human, "system": codes.astype(np.float64)}
    (x, y, code), _ = complete_items(columns, None)
    present = np.unique(code)
    count = len(present)
    if count < 2:
        raise InputError(f"{count} system with both values; at least two are needed")
    member = (code[:, None] == present).astype(np.float64)
    first, second = ((column @ member) / member.sum(axis=0) for column in (x, y))
    for name, means in (("metric", first), ("human", second)):
        if np.ptp(means) == 0:
            raise InputError(f"the mean of {name} is {means[0]:g} for every system")
    value = correlation_value(first, second, kind)
    what = f"{NAMES[kind]} of system means"
    a, b = np.triu_indices(count, 1)

    def right_order(weights: Floats) -> Floats:
        size = weights @ member
        with np.errstate(invalid="ignore", divide="ignore"):
            mean_x = ((weights * x) @ member) / size
            mean_y = ((weights * y) @ member) / size
        same = np.sign(mean_x[:, a] - mean_x[:, b]) == np.sign(mean_y[:, a] - mean_y[:, b])
        # A resample without a single item of some system has no order of all of them.
        return np.where((size > 0).all(axis=1), same.mean(axis=1), np.nan)[:, None]

    drawn = resample(right_order, len(x), kind="percentile", seed=seed)
    return SystemLevel(
        _analytic(first, second, value, what, kind=kind, unit="system"),
        estimate(drawn, what="pairwise accuracy of systems"),
    )


def weighted_correlations(columns: Floats, target: Floats, kind: Kind) -> Statistic:
    """Return the statistic of the correlation of each column (items, k) with the target.

    An item of weight 2 stands twice in a resample; ranks and ties are those of that resample.
    """
    makers = {"pearson": _pearson, "spearman": _spearman, "kendall": _kendall}
    return makers[kind](columns, target)


def _pearson(columns: Floats, target: Floats) -> Statistic:
    x, y = _standard(columns), _standard(target[:, None])
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
    values = np.full(above.shape, np.nan)
    np.divide(above, below, out=values, where=below > least)
    return np.asarray(np.clip(values, -1.0, 1.0))


class Levels(NamedTuple):
    """A column as positions among its distinct values."""

    codes: Integers
    order: Integers
    starts: Integers


def levels_of(column: Floats) -> Levels:
    """Return where each value of a column stands among its distinct values."""
    codes = np.unique(column, return_inverse=True)[1].astype(np.int64)
    order = np.argsort(codes, kind="stable")
    return Levels(codes, order, np.flatnonzero(np.diff(codes[order], prepend=-1)))


def centred_ranks(levels: Levels, weights: Floats) -> tuple[Floats, Floats]:
    """Return mid-ranks less their mean per item (rows, items), and their sum of squares (rows,)."""
    held = np.add.reduceat(weights[:, levels.order], levels.starts, axis=1)
    ranks = np.cumsum(held, axis=1) - held / 2
    ranks -= weights.sum(axis=1, keepdims=True) / 2
    return ranks[:, levels.codes], np.einsum("ij,ij->i", held, ranks**2)


def _spearman(columns: Floats, target: Floats) -> Statistic:
    y = levels_of(target)
    xs = [levels_of(column) for column in columns.T]

    def statistic(weights: Floats) -> Floats:
        ranks_y, squares_y = centred_ranks(y, weights)
        ranks_y *= weights
        values = np.empty((len(weights), len(xs)))
        for k, x in enumerate(xs):
            ranks_x, squares_x = centred_ranks(x, weights)
            product = np.einsum("ij,ij->i", ranks_x, ranks_y)
            values[:, k] = _ratio(product, np.sqrt(squares_x * squares_y), 1e-9)
        return values

    return statistic


def _kendall(columns: Floats, target: Floats) -> Statistic:
    tau = scipy_module("stats").kendalltau

    def statistic(weights: Floats) -> Floats:
        values = np.empty((len(weights), columns.shape[1]))
        for row, weight in enumerate(weights.astype(np.int64)):
            drawn, ordered = np.repeat(columns, weight, axis=0), np.repeat(target, weight)
            values[row] = [tau(column, ordered).statistic for column in drawn.T]
        return values

    return statistic


def _partial_ranks(columns: Sequence[Floats]) -> Statistic:
    """Return the statistic of the rank correlation of columns 0 and 1 given all others."""
    k = len(columns)
    levels = [levels_of(column) for column in columns]

    def statistic(weights: Floats) -> Floats:
        ranks = [centred_ranks(level, weights)[0] for level in levels]
        matrix = np.empty((len(weights), k, k))
        for a, b in zip(*np.triu_indices(k), strict=True):
            product = np.einsum("ij,ij,ij->i", weights, ranks[a], ranks[b])
            matrix[:, a, b] = matrix[:, b, a] = product
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
