"""Agreement of annotators: chance-corrected coefficients, with intervals by jackknife.

Ratings are one list per item with the rating of each annotator, None or NaN where one gave none.
``groups`` are those of :func:`~grice.stats.correlation`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from grice.errors import InputError, did_you_mean
from grice.stats.correlations import (
    NAMES,
    Kind,
    Levels,
    centred_ranks,
    levels_of,
    weighted_correlations,
)
from grice.stats.estimate import Estimate
from grice.stats.inputs import Floats, Groups, Integers, Values, columns_of, group_codes, joined
from grice.stats.resample import Statistic, estimate, resample

Ratings: TypeAlias = Sequence[Sequence[float | None]] | Sequence[Sequence[float]] | Floats
"""Lists may differ in length; the position identifies the annotator."""
Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]
KappaWeights: TypeAlias = Literal["none", "linear", "quadratic"]
POWERS: dict[str, int] = {"none": 0, "linear": 1, "quadratic": 2}


class _Paired(NamedTuple):
    """Ratings of the items that have at least two.

    ``table`` has shape (items, annotators) with NaN for none, ``sizes`` and ``groups`` one entry
    per item, ``item`` one per rating, as have ``levels``; ``starts`` is an item's first rating.
    """

    table: Floats
    item: Integers
    levels: Levels
    starts: Integers
    sizes: Floats
    groups: Integers | None

    def estimate(self, statistic: Statistic, what: str) -> Estimate:
        """Return a coefficient of at most 1 with its interval."""
        drawn = resample(statistic, len(self.sizes), groups=self.groups)
        return estimate(drawn, what=what, bounded="by one")


def _matrix(ratings: Ratings) -> Floats:
    """Return ratings as an array, shape (items, annotators), NaN if missing."""
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


def _paired(table: Floats, groups: Groups | None, *, varying: str = "") -> _Paired:
    """Return the items with at least two ratings, in an order that does not depend on theirs.

    ``varying`` names the coefficient that needs ratings which are not all the same.
    """
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
    value, sizes = table[present], present.sum(axis=1)
    if varying and np.ptp(value) == 0:
        raise InputError(f"all {len(value)} ratings are the same: {varying} is not defined")
    return _Paired(
        table, np.nonzero(present)[0], levels_of(value), np.cumsum(sizes) - sizes,
        sizes.astype(np.float64), None if codes is None else codes[order],
    )  # fmt: skip


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
) -> Estimate:
    """Return Krippendorff's alpha: 1 for full agreement, 0 for that of chance, down to below 0.

    For any number of annotators, who need not rate every item (Krippendorff 2011, *Computing
    Krippendorff's Alpha-Reliability*). Items with a single rating are left out.
    Ratings are numbers, for ``nominal`` any labels; ``ordinal`` counts the ratings in between.

    Raises:
        InputError: If no item has two ratings, or all ratings are the same.
    """
    if scale not in (scales := ("nominal", "ordinal", "interval")):
        raise InputError(f"scale={scale!r}{did_you_mean(scale, scales)}")
    table = _coded(ratings) if scale == "nominal" else _matrix(ratings)  # type: ignore[arg-type]
    paired = _paired(table, groups, varying="alpha")
    statistic = _nominal(paired, 1) if scale == "nominal" else _alpha(paired, scale)
    return paired.estimate(statistic, f"Krippendorff's alpha ({scale})")


def _nominal(paired: _Paired, less: int) -> Statistic:
    """Return agreement on categories: the pairs expected are drawn with 0 or 1 rating ``less``."""
    counts, sizes = np.zeros((len(paired.sizes), len(paired.levels.starts))), paired.sizes
    np.add.at(counts, (paired.item, paired.levels.codes), 1)
    within = (sizes**2 - (counts**2).sum(axis=1)) / (sizes - 1)

    def statistic(weights: Floats) -> Floats:
        held = weights @ counts
        count = held.sum(axis=1)
        expected = (count**2 - (held**2).sum(axis=1)) / (count - less)
        return _chance_corrected(weights @ within, expected)

    return statistic


def _alpha(paired: _Paired, scale: str) -> Statistic:
    """Return alpha by squared distance, of the ratings or of their mid-ranks in each resample."""
    given = paired.table[~np.isnan(paired.table)]
    centred, sizes = (given - given.mean())[None], paired.sizes

    def statistic(weights: Floats) -> Floats:
        value = centred
        if scale == "ordinal":  # its distance is the difference of mid-ranks
            value = centred_ranks(paired.levels, weights[:, paired.item])[0]
        sums = np.add.reduceat(value, paired.starts, axis=1)
        squares = np.add.reduceat(value**2, paired.starts, axis=1)
        within = 2 * (sizes * squares - sums**2) / (sizes - 1)
        count = weights @ sizes
        total, square, observed = (
            weights @ each[0] if len(each) == 1 else np.einsum("ij,ij->i", weights, each)
            for each in (sums, squares, within)
        )
        return _chance_corrected(observed, 2 * (count * square - total**2) / (count - 1))

    return statistic


def cohen_kappa(
    first: Values, second: Values, *, weights: KappaWeights = "none", groups: Groups | None = None
) -> Estimate:
    """Return Cohen's kappa of two annotators: 1 for full agreement, 0 for that of chance.

    Items lacking a rating are left out. ``none`` counts any disagreement alike (Cohen 1960),
    ``linear`` and ``quadratic`` by the distance of the ratings in steps (Cohen 1968).

    Raises:
        InputError: If no item has both ratings, or both give one and the same rating.
    """
    if weights not in POWERS:
        raise InputError(f"weights={weights!r}{did_you_mean(weights, POWERS)}")
    table = np.stack(columns_of(first=first, second=second), axis=1)
    complete = ~np.isnan(table).any(axis=1)
    if not complete.any():
        raise InputError(f"none of {len(table)} items has both ratings")
    table[~complete] = np.nan
    paired = _paired(table, groups, varying="kappa")
    steps = np.arange(len(paired.levels.starts))
    gap = np.abs(np.subtract.outer(steps, steps)).astype(np.float64)
    penalty = np.where(gap > 0, gap ** POWERS[weights], 0.0)
    codes = paired.levels.codes.reshape(-1, 2)
    one, other = ((column[:, None] == steps).astype(np.float64) for column in codes.T)
    apart = penalty[codes[:, 0], codes[:, 1]]

    def statistic(resamples: Floats) -> Floats:
        observed = (resamples @ apart) * resamples.sum(axis=1)
        rows, columns = resamples @ one, resamples @ other
        return _chance_corrected(observed, np.einsum("bi,ij,bj->b", rows, penalty, columns))

    what = "Cohen's kappa" if weights == "none" else f"Cohen's kappa ({weights} weights)"
    return paired.estimate(statistic, what)


def fleiss_kappa(
    ratings: Sequence[Sequence[Hashable]], *, groups: Groups | None = None
) -> Estimate:
    """Return Fleiss' kappa (1971) of several annotators on categories without order.

    Raises:
        InputError: If items have different numbers of ratings, or all ratings are the same.
    """
    table = _coded(ratings)
    sizes = {int(size) for size in (~np.isnan(table)).sum(axis=1)}
    if len(sizes) > 1:
        raise InputError(
            f"Fleiss' kappa needs as many ratings for every item, found {sorted(sizes)}; "
            "krippendorff_alpha(scale='nominal') takes missing ones"
        )
    paired = _paired(table, groups, varying="kappa")
    return paired.estimate(_nominal(paired, 0), "Fleiss' kappa")


def ceiling(ratings: Ratings, *, groups: Groups | None = None) -> Estimate:
    """Return the Pearson correlation with the mean ratings that a perfect metric would have.

    The root (Spearman 1904) of the reliability of the mean of several annotators: Krippendorff's
    interval alpha, stepped up to the length of the longest list (Spearman-Brown); 0 where alpha is
    not positive.

    Raises:
        InputError: If no item has two ratings, or all ratings are the same.
    """
    paired = _paired(_matrix(ratings), groups, varying="reliability")
    count, alpha = int(paired.sizes.max()), _alpha(paired, "interval")

    def statistic(weights: Floats) -> Floats:
        positive = np.maximum(alpha(weights), 0.0)
        return np.asarray(np.sqrt(count * positive / (1 + (count - 1) * positive)))

    return paired.estimate(statistic, f"ceiling for the mean of {count} annotators")


def leave_one_annotator_out(
    ratings: Ratings,
    *,
    kind: Kind = "spearman",
    pool: Literal["judges", "pairs"] = "judges",
    groups: Groups | None = None,
) -> Estimate:
    """Return the correlation of one annotator with the mean of the others: a person as a metric.

    ``judges`` averages the correlations of each position in the lists; ``pairs`` is one
    correlation over all (rating, mean of the others) together, where positions are not persons.

    Raises:
        InputError: If no annotator's ratings and the others' vary on common items.
    """
    if pool not in ("judges", "pairs"):
        raise InputError(f"pool={pool!r}{did_you_mean(pool, ('judges', 'pairs'))}")
    paired = _paired(_matrix(ratings), groups)
    table, n = paired.table, len(paired.table)
    present = ~np.isnan(table)
    count = present.sum(axis=1, keepdims=True)
    total = np.where(present, table, 0).sum(axis=1, keepdims=True)
    others = (total - table) / (count - 1)
    together = [present] if pool == "pairs" else [present & one for one in np.eye(len(table.T)) > 0]
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

    what = f"one annotator against the mean of the others, {NAMES[kind]} over {pool}"
    drawn = resample(statistic, n, groups=paired.groups)
    return estimate(drawn, what=what, bounded="correlation")
