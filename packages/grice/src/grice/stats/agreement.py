"""Agreement of annotators: chance-corrected coefficients, with intervals by jackknife."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from grice.errors import InputError, did_you_mean
from grice.stats.correlations import NAMES, Kind, weighted_correlations
from grice.stats.estimate import Estimate
from grice.stats.inputs import (
    Floats,
    Groups,
    Integers,
    Values,
    check_level,
    columns_of,
    group_codes,
    joined,
)
from grice.stats.resample import Statistic, resampled_estimate

Ratings: TypeAlias = Sequence[Sequence[float | None]] | Sequence[Sequence[float]] | Floats
"""One list per item with the rating of each annotator, None or NaN where one gave none. Lists
may differ in length; the position identifies the annotator."""
Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]
KappaWeights: TypeAlias = Literal["none", "linear", "quadratic"]


class Paired(NamedTuple):
    """Ratings of the items that have at least two, one after the other.

    ``table`` has shape (items, annotators) with NaN for none, ``sizes`` and ``groups`` one entry
    per item, ``item`` and ``value`` one per rating; ``starts`` is the first rating of each item.
    """

    table: Floats
    item: Integers
    value: Floats
    starts: Integers
    sizes: Floats
    groups: Integers | None

    def counts(self) -> Floats:
        """Return how often each item has each distinct rating, shape (items, ratings)."""
        values, codes = np.unique(self.value, return_inverse=True)
        counts = np.zeros((len(self.sizes), len(values)))
        np.add.at(counts, (self.item, codes), 1)
        return counts

    def estimate(self, statistic: Statistic, what: str, level: float, seed: int) -> Estimate:
        """Return a coefficient of at most 1 with its interval."""
        return resampled_estimate(
            statistic, len(self.sizes), what, groups=self.groups, level=level, seed=seed,
            bounded="by one",
        )  # fmt: skip


def _matrix(ratings: Ratings) -> Floats:
    """Return ratings as an array, shape (items, annotators), NaN where there is none."""
    for i, row in enumerate(ratings):
        for j, value in enumerate(row):
            if value is not None and not isinstance(value, int | float | np.number):
                raise InputError(f"ratings[{i}][{j}]: a number or None is needed, found {value!r}")
    if not len(ratings):
        raise InputError("ratings: no item is given")
    table = np.full((len(ratings), max(1, *map(len, ratings))), np.nan)
    for i, row in enumerate(ratings):
        table[i, : len(row)] = np.asarray(row, np.float64)
    if np.isinf(table).any():
        raise InputError("ratings: an infinite value is no rating; give None")
    return table


def _coded(labels: Sequence[Sequence[Hashable]]) -> Floats:
    """Return labels as numbers, equal for equal labels; None and NaN stay missing."""
    codes: dict[Hashable, float] = {}

    def code(label: Hashable) -> float | None:
        missing = label is None or label != label  # NaN is not equal to itself
        return None if missing else codes.setdefault(label, float(len(codes)))

    return _matrix([[code(label) for label in row] for row in labels])


def _paired(table: Floats, groups: Groups | None) -> Paired:
    """Return the items with at least two ratings, in an order that does not depend on theirs."""
    codes = None if groups is None else group_codes(groups, len(table))
    usable = (~np.isnan(table)).sum(axis=1) >= 2
    if not usable.any():
        raise InputError(
            f"none of {len(table)} items has two ratings: there is no agreement to measure"
        )
    table = table[usable]
    keys = list(np.nan_to_num(table.T, nan=np.inf))
    if codes is not None:
        codes = joined(codes[usable])
        keys.append(codes.astype(np.float64))
    order = np.lexsort(keys)
    table = table[order]
    present = ~np.isnan(table)
    sizes = present.sum(axis=1)
    return Paired(
        table,
        np.nonzero(present)[0],
        table[present],
        np.cumsum(sizes) - sizes,
        sizes.astype(np.float64),
        None if codes is None else codes[order],
    )


def _chance_corrected(observed: Floats, expected: Floats) -> Floats:
    """Return 1 less observed over expected disagreement, NaN where none is expected."""
    values = np.full((len(observed), 1), np.nan)
    usable = expected > 1e-12
    values[usable, 0] = 1 - observed[usable] / expected[usable]
    return values


def krippendorff_alpha(
    ratings: Ratings | Sequence[Sequence[Hashable]],
    *,
    scale: Scale = "interval",
    groups: Groups | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return Krippendorff's alpha: 1 for full agreement, 0 for that of chance, down to below 0.

    For any number of annotators, who need not rate every item (Krippendorff 2011, *Computing
    Krippendorff's Alpha-Reliability*). Items with a single rating say nothing and are left out.

    Args:
        ratings: One list of ratings per item; labels of any kind for ``nominal``.
        scale: What a difference of ratings means; ``ordinal`` counts the ratings in between.
        groups: Conversation of each item, left out together.
        level: Confidence level.
        seed: As in :func:`~grice.stats.correlation`.

    Raises:
        InputError: If no item has two ratings, or all ratings are the same.
    """
    check_level(level)
    table = _coded(ratings) if scale == "nominal" else _matrix(ratings)  # type: ignore[arg-type]
    paired = _paired(table, groups)
    if np.ptp(paired.value) == 0:
        raise InputError(
            f"all {len(paired.value)} ratings are the same: alpha is not defined without variation"
        )
    builders = {"nominal": _nominal_alpha, "ordinal": _ordinal_alpha, "interval": _interval_alpha}
    if scale not in builders:
        raise InputError(f"scale={scale!r}{did_you_mean(scale, builders)}")
    return paired.estimate(builders[scale](paired), f"Krippendorff's alpha ({scale})", level, seed)


def _nominal_alpha(paired: Paired) -> Statistic:
    counts, sizes = paired.counts(), paired.sizes
    within = (sizes**2 - (counts**2).sum(axis=1)) / (sizes - 1)

    def statistic(weights: Floats) -> Floats:
        held = weights @ counts
        count = held.sum(axis=1)
        expected = (count**2 - (held**2).sum(axis=1)) / (count - 1)
        return _chance_corrected(weights @ within, expected)

    return statistic


def _interval_alpha(paired: Paired) -> Statistic:
    value, sizes = paired.value - paired.value.mean(), paired.sizes
    sums = np.add.reduceat(value, paired.starts)
    squares = np.add.reduceat(value**2, paired.starts)
    within = 2 * (sizes * squares - sums**2) / (sizes - 1)
    moments = np.stack([sizes, sums, squares, within], axis=1)

    def statistic(weights: Floats) -> Floats:
        count, total, square, observed = (weights @ moments).T
        expected = 2 * (count * square - total**2) / (count - 1)
        return _chance_corrected(observed, expected)

    return statistic


def _ordinal_alpha(paired: Paired) -> Statistic:
    # The ordinal distance of two ratings is the difference of their mid-ranks, so this is the
    # interval alpha of ranks, which every resample has of its own.
    codes = np.unique(paired.value, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    begins = np.flatnonzero(np.diff(codes[order], prepend=-1))
    starts, sizes = paired.starts, paired.sizes

    def statistic(weights: Floats) -> Floats:
        held = np.add.reduceat(weights[:, paired.item][:, order], begins, axis=1)
        count = held.sum(axis=1)
        ranks = np.cumsum(held, axis=1) - held / 2 - count[:, None] / 2
        expected = 2 * count * np.einsum("ij,ij->i", held, ranks**2) / (count - 1)
        value = ranks[:, codes]
        sums = np.add.reduceat(value, starts, axis=1)
        squares = np.add.reduceat(value**2, starts, axis=1)
        within = 2 * (sizes * squares - sums**2) / (sizes - 1)
        return _chance_corrected(np.einsum("ij,ij->i", weights, within), expected)

    return statistic


def cohen_kappa(
    first: Values,
    second: Values,
    *,
    weights: KappaWeights = "none",
    groups: Groups | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return Cohen's kappa of two annotators: 1 for full agreement, 0 for that of chance.

    Args:
        first: Ratings of the one annotator, as numbers.
        second: Ratings of the other on the same items; items lacking one are left out.
        weights: ``none`` counts any disagreement alike (Cohen 1960); ``linear`` and
            ``quadratic`` by the distance of the ratings in steps (Cohen 1968).
        groups: Conversation of each item, left out together.
        level: Confidence level.
        seed: As in :func:`~grice.stats.correlation`.

    Raises:
        InputError: If no item has both ratings, or both give one and the same rating.
    """
    check_level(level)
    table = np.stack(columns_of(first=first, second=second), axis=1)
    complete = ~np.isnan(table).any(axis=1)
    if not complete.any():
        raise InputError(f"none of {len(table)} items has both ratings")
    table[~complete] = np.nan
    paired = _paired(table, groups)
    steps, codes = np.unique(paired.value, return_inverse=True)
    k = len(steps)
    if k == 1:
        raise InputError(f"both judges rate every item {steps[0]:g}: kappa is not defined")
    powers = {"none": 0, "linear": 1, "quadratic": 2}
    if weights not in powers:
        raise InputError(f"weights={weights!r}{did_you_mean(weights, powers)}")
    gap = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
    penalty = np.where(gap > 0, gap ** powers[weights], 0.0)
    cells = codes.reshape(-1, 2) @ np.array([k, 1])

    def statistic(resamples: Floats) -> Floats:
        counts = [np.bincount(cells, row, k * k).astype(np.float64) for row in resamples]
        tables = np.stack(counts).reshape(-1, k, k)
        rows, columns = tables.sum(axis=2), tables.sum(axis=1)
        observed = (tables * penalty).sum(axis=(1, 2)) * tables.sum(axis=(1, 2))
        return _chance_corrected(observed, np.einsum("bi,ij,bj->b", rows, penalty, columns))

    what = "Cohen's kappa" if weights == "none" else f"Cohen's kappa ({weights} weights)"
    return paired.estimate(statistic, what, level, seed)


def fleiss_kappa(
    ratings: Sequence[Sequence[Hashable]],
    *,
    groups: Groups | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return Fleiss' kappa (1971) of several annotators on categories without order.

    Args:
        ratings: One list of labels per item, all of one length.
        groups: Conversation of each item, left out together.
        level: Confidence level.
        seed: As in :func:`~grice.stats.correlation`.

    Raises:
        InputError: If items have different numbers of ratings, or all ratings are the same.
    """
    check_level(level)
    table = _coded(ratings)
    sizes = {int(size) for size in (~np.isnan(table)).sum(axis=1)}
    if len(sizes) > 1:
        raise InputError(
            f"Fleiss' kappa needs as many ratings for every item, found {sorted(sizes)}; "
            "krippendorff_alpha(scale='nominal') takes missing ones"
        )
    paired = _paired(table, groups)
    counts, annotators = paired.counts(), paired.sizes[0]
    if counts.shape[1] == 1:
        raise InputError("all ratings are the same: kappa is not defined")
    agreeing = ((counts**2).sum(axis=1) - annotators) / (annotators * (annotators - 1))

    def statistic(weights: Floats) -> Floats:
        total = weights.sum(axis=1)
        share = (weights @ counts) / (annotators * total)[:, None]
        chance = (share**2).sum(axis=1)
        return _chance_corrected(1 - (weights @ agreeing) / total, 1 - chance)

    return paired.estimate(statistic, "Fleiss' kappa", level, seed)


def ceiling(
    ratings: Ratings, *, groups: Groups | None = None, level: float = 0.95, seed: int = 0
) -> Estimate:
    """Return the Pearson correlation with the mean ratings that a perfect metric would have.

    The root (Spearman 1904) of the reliability of the mean of several annotators: Krippendorff's
    interval alpha, stepped up to the length of the longest list (Spearman-Brown); 0 where alpha is
    not positive.

    Args:
        ratings: One list of ratings per item.
        groups: Conversation of each item, left out together.
        level: Confidence level.
        seed: As in :func:`~grice.stats.correlation`.

    Raises:
        InputError: If no item has two ratings, or all ratings are the same.
    """
    paired = _paired(_matrix(ratings), groups)
    if np.ptp(paired.value) == 0:
        raise InputError("all ratings are the same: their reliability is not defined")
    count, alpha = int(paired.sizes.max()), _interval_alpha(paired)

    def statistic(weights: Floats) -> Floats:
        positive = np.maximum(alpha(weights), 0.0)
        return np.asarray(np.sqrt(count * positive / (1 + (count - 1) * positive)))

    return paired.estimate(statistic, f"ceiling for the mean of {count} judges", level, seed)


def leave_one_annotator_out(
    ratings: Ratings,
    *,
    kind: Kind = "spearman",
    pool: Literal["judges", "pairs"] = "judges",
    groups: Groups | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return the correlation of one annotator with the mean of the others: a person as a metric.

    Args:
        ratings: One list of ratings per item.
        kind: As in :func:`~grice.stats.correlation`.
        pool: ``judges``: a correlation per position in the lists, averaged. ``pairs``: one
            correlation over all (rating, mean of the others) pairs together, where positions
            are not persons.
        groups: Conversation of each item, left out together.
        level: Confidence level.
        seed: As in :func:`~grice.stats.correlation`.

    Raises:
        InputError: If no annotator's ratings and the others' vary on common items.
    """
    check_level(level)
    if pool not in ("judges", "pairs"):
        raise InputError(f"pool={pool!r}{did_you_mean(pool, ('judges', 'pairs'))}")
    paired = _paired(_matrix(ratings), groups)
    table, n = paired.table, len(paired.table)
    present = ~np.isnan(table)
    count = present.sum(axis=1, keepdims=True)
    total = np.where(present, table, 0).sum(axis=1, keepdims=True)
    others = np.where(count > 1, (total - table) / np.maximum(count - 1, 1), np.nan)
    usable = present & (count > 1)
    together = [usable] if pool == "pairs" else [usable & one for one in np.eye(len(table.T)) > 0]
    varying = []
    for part in together:
        item, x, y = np.nonzero(part)[0], table[part], others[part]
        if len(item) > 1 and np.ptp(x) > 0 and np.ptp(y) > 0:
            varying.append((item, weighted_correlations(x[:, None], y, kind)))
    if not varying:
        raise InputError(
            f"no two judges' ratings vary on common items ({n} items have two ratings)"
        )

    def statistic(weights: Floats) -> Floats:
        each = np.stack([of_pair(weights[:, item])[:, 0] for item, of_pair in varying], axis=1)
        defined = np.isfinite(each)
        count = defined.sum(axis=1)
        mean = np.where(defined, each, 0).sum(axis=1) / np.maximum(count, 1)
        return np.asarray(np.where(count > 0, mean, np.nan))[:, None]

    what = f"one judge against the mean of the others, {NAMES[kind]} over {pool}"
    return resampled_estimate(
        statistic, n, what, groups=paired.groups, level=level, seed=seed, bounded="correlation"
    )
