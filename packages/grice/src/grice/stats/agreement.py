"""How far do annotators agree? Chance-corrected coefficients with intervals."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from grice.errors import InputError, did_you_mean
from grice.stats.estimate import Estimate
from grice.stats.inputs import Floats, Groups, Values, check_level, columns_of
from grice.stats.ratings import Flat, Ratings, agreement, arranged, coded, flatten, matrix
from grice.stats.resample import ResamplingKind, Sampling, Statistic

Scale: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
KappaWeights: TypeAlias = Literal["none", "linear", "quadratic"]


def krippendorff_alpha(
    ratings: Ratings | Sequence[Sequence[Hashable]],
    *,
    scale: Scale = "interval",
    groups: Groups | None = None,
    interval: ResamplingKind = "jackknife",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Return Krippendorff's alpha: 1 for full agreement, 0 for that of chance, down to below 0.

    For any number of annotators, who need not rate every item (Krippendorff 2011, *Computing
    Krippendorff's Alpha-Reliability*). Items with a single rating say nothing and are left out.

    ``interval``, ``level``, ``resamples`` and ``seed`` are as in :func:`~grice.stats.correlation`.

    Args:
        ratings: One list of ratings per item; labels of any kind for ``nominal``.
        scale: What a difference of ratings means. ``ordinal`` counts the ratings in between,
            ``ratio`` takes ratings of one sign.
        groups: Conversation of each item, resampled together.

    Raises:
        InputError: If no item has two ratings, or all ratings are the same.
    """
    check_level(level)
    table = coded(ratings) if scale == "nominal" else matrix(ratings)  # type: ignore[arg-type]
    flat = flatten(*arranged(table, groups))
    if np.ptp(flat.value) == 0:
        raise InputError(
            f"all {len(flat.value)} ratings are the same: alpha is not defined without variation"
        )
    builders: dict[str, Callable[[Flat], Statistic]] = {
        "nominal": _nominal_alpha,
        "ordinal": _ordinal_alpha,
        "interval": interval_alpha,
        "ratio": _ratio_alpha,
    }
    if scale not in builders:
        raise InputError(f"scale={scale!r}{did_you_mean(scale, builders)}")
    sampling = Sampling(interval, level, resamples, seed)
    return agreement(builders[scale](flat), flat, f"Krippendorff's alpha ({scale})", sampling)


def _alpha(observed: Floats, expected: Floats) -> Floats:
    values = np.full((len(observed), 1), np.nan)
    usable = expected > 1e-12
    values[usable, 0] = 1 - observed[usable] / expected[usable]
    return values


def interval_alpha(flat: Flat) -> Statistic:
    """Return the statistic of alpha with squared differences."""
    value = flat.value - flat.value.mean()
    sums = np.add.reduceat(value, flat.starts)
    squares = np.add.reduceat(value**2, flat.starts)
    within = 2 * (flat.sizes * squares - sums**2) / (flat.sizes - 1)
    moments = np.stack([flat.sizes, sums, squares, within], axis=1)

    def statistic(weights: Floats) -> Floats:
        count, total, square, observed = (weights @ moments).T
        expected = 2 * (count * square - total**2) / (count - 1)
        return _alpha(observed, expected)

    return statistic


def _ordinal_alpha(flat: Flat) -> Statistic:
    # The ordinal distance of two ratings is the difference of their mid-ranks, so this is the
    # interval alpha of ranks, which every resample has of its own.
    codes = np.unique(flat.value, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    begins = np.flatnonzero(np.diff(codes[order], prepend=-1))

    def statistic(weights: Floats) -> Floats:
        spread = weights[:, flat.unit]
        held = np.add.reduceat(spread[:, order], begins, axis=1)
        count = held.sum(axis=1)
        ranks = np.cumsum(held, axis=1) - held / 2 - count[:, None] / 2
        expected = 2 * count * np.einsum("ij,ij->i", held, ranks**2) / (count - 1)
        value = ranks[:, codes]
        sums = np.add.reduceat(value, flat.starts, axis=1)
        squares = np.add.reduceat(value**2, flat.starts, axis=1)
        within = 2 * (flat.sizes * squares - sums**2) / (flat.sizes - 1)
        return _alpha(np.einsum("ij,ij->i", weights, within), expected)

    return statistic


def _nominal_alpha(flat: Flat) -> Statistic:
    return _table_alpha(flat, lambda values: (values[:, None] != values[None, :]).astype(float))


def _ratio_alpha(flat: Flat) -> Statistic:
    if flat.value.min() < 0 < flat.value.max():
        raise InputError("scale='ratio' takes ratings of one sign; use 'interval'")

    def distance(values: Floats) -> Floats:
        total = values[:, None] + values[None, :]
        gap = values[:, None] - values[None, :]
        return np.asarray(np.divide(gap, total, out=np.zeros_like(gap), where=total != 0) ** 2)

    return _table_alpha(flat, distance)


def _table_alpha(flat: Flat, distance: Callable[[Floats], Floats]) -> Statistic:
    values, codes = np.unique(flat.value, return_inverse=True)
    apart = distance(values)
    counts = np.zeros((flat.items, len(values)))
    np.add.at(counts, (flat.unit, codes), 1)
    within = np.einsum("ij,ij->i", counts @ apart, counts) / (flat.sizes - 1)

    def statistic(weights: Floats) -> Floats:
        held = weights @ counts
        expected = np.einsum("ij,ij->i", held @ apart, held) / (held.sum(axis=1) - 1)
        return _alpha(weights @ within, expected)

    return statistic


def cohen_kappa(
    first: Values,
    second: Values,
    *,
    weights: KappaWeights = "none",
    groups: Groups | None = None,
    interval: ResamplingKind = "jackknife",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Return Cohen's kappa of two annotators: 1 for full agreement, 0 for that of chance.

    ``interval``, ``level``, ``resamples`` and ``seed`` are as in :func:`~grice.stats.correlation`.

    Args:
        first: Ratings of the one annotator, as numbers.
        second: Ratings of the other on the same items; items lacking one are left out.
        weights: ``none`` counts any disagreement alike (Cohen 1960); ``linear`` and
            ``quadratic`` by the distance of the ratings in steps (Cohen 1968).
        groups: Conversation of each item, resampled together.

    Raises:
        InputError: If no item has both ratings, or both give one and the same rating.
    """
    check_level(level)
    a, b = columns_of(first=first, second=second)
    table = np.stack([a, b], axis=1)
    complete = ~np.isnan(table).any(axis=1)
    if not complete.any():
        raise InputError(f"none of {len(a)} items has both ratings")
    table[~complete] = np.nan
    flat = flatten(*arranged(table, groups))
    steps, codes = np.unique(flat.value, return_inverse=True)
    k = len(steps)
    if k == 1:
        raise InputError(f"both judges rate every item {steps[0]:g}: kappa is not defined")
    cells = codes.reshape(-1, 2) @ np.array([k, 1])
    penalty = disagreement(k, weights)

    def statistic(rows: Floats) -> Floats:
        counts = [np.bincount(cells, row, k * k).astype(np.float64) for row in rows]
        return _kappa(np.stack(counts).reshape(-1, k, k), penalty)[:, None]

    what = "Cohen's kappa" if weights == "none" else f"Cohen's kappa ({weights} weights)"
    sampling = Sampling(interval, level, resamples, seed)
    return agreement(statistic, flat, what, sampling)


def kappa_of_table(table: Sequence[Sequence[float]], weights: KappaWeights | Floats) -> float:
    """Return Cohen's kappa of a table of counts or shares, annotators in rows and columns.

    Args:
        table: How often the one annotator chose the row's category and the other the column's.
        weights: As in :func:`cohen_kappa`, or a matrix of what each disagreement costs.

    Raises:
        InputError: If the table is not square, or chance alone would agree fully.
    """
    counts = np.asarray(table, np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise InputError(f"a square table is needed, found shape {counts.shape}")
    k = len(counts)
    penalty = disagreement(k, weights) if isinstance(weights, str) else np.asarray(weights)
    value = float(_kappa(counts[None], penalty)[0])
    if np.isnan(value):
        raise InputError("both judges use a single category: kappa is not defined")
    return value


def disagreement(k: int, weights: KappaWeights) -> Floats:
    """Return what each disagreement among k ordered categories costs."""
    steps = np.arange(k, dtype=np.float64)
    gap = np.abs(steps[:, None] - steps[None, :])
    if weights == "none":
        return (gap > 0).astype(np.float64)
    if weights == "linear":
        return gap
    if weights == "quadratic":
        return np.asarray(gap**2)
    known = ("none", "linear", "quadratic")
    raise InputError(f"weights={weights!r}{did_you_mean(weights, known)}")


def _kappa(tables: Floats, penalty: Floats) -> Floats:
    total = tables.sum(axis=(1, 2))
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    observed = (tables * penalty).sum(axis=(1, 2)) * total
    expected = np.einsum("bi,ij,bj->b", rows, penalty, columns)
    values = np.full(len(tables), np.nan)
    usable = expected > 1e-12
    values[usable] = 1 - observed[usable] / expected[usable]
    return values


def fleiss_kappa(
    ratings: Sequence[Sequence[Hashable]],
    *,
    groups: Groups | None = None,
    interval: ResamplingKind = "jackknife",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Return Fleiss' kappa (1971) of several annotators on categories without order.

    ``interval``, ``level``, ``resamples`` and ``seed`` are as in :func:`~grice.stats.correlation`.

    Args:
        ratings: One list of labels per item, all of one length.
        groups: Conversation of each item, resampled together.

    Raises:
        InputError: If items have different numbers of ratings, or all ratings are the same.
    """
    check_level(level)
    table = coded(ratings)
    sizes = {int(size) for size in (~np.isnan(table)).sum(axis=1)}
    if len(sizes) > 1:
        raise InputError(
            f"Fleiss' kappa needs as many ratings for every item, found {sorted(sizes)}; "
            "krippendorff_alpha(scale='nominal') takes missing ones"
        )
    flat = flatten(*arranged(table, groups))
    values, codes = np.unique(flat.value, return_inverse=True)
    if len(values) == 1:
        raise InputError("all ratings are the same: kappa is not defined")
    counts = np.zeros((flat.items, len(values)))
    np.add.at(counts, (flat.unit, codes), 1)
    annotators = flat.sizes[0]
    agreeing = ((counts**2).sum(axis=1) - annotators) / (annotators * (annotators - 1))

    def statistic(weights: Floats) -> Floats:
        total = weights.sum(axis=1)
        share = (weights @ counts) / (annotators * total)[:, None]
        chance = (share**2).sum(axis=1)
        kappa = np.full((len(weights), 1), np.nan)
        usable = chance < 1 - 1e-12
        mean = (weights @ agreeing) / total
        kappa[usable, 0] = (mean[usable] - chance[usable]) / (1 - chance[usable])
        return kappa

    sampling = Sampling(interval, level, resamples, seed)
    return agreement(statistic, flat, "Fleiss' kappa", sampling)
