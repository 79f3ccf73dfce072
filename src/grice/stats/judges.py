"""A judge as a metric: how single judges correlate with each other and with the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from grice.errors import InputError, did_you_mean
from grice.stats import weighted
from grice.stats.correlations import NAMES
from grice.stats.estimate import Estimate, Floats, Groups, Integers, check_level
from grice.stats.ratings import Ratings, arranged, matrix
from grice.stats.resample import ResamplingKind, estimate, resample

if TYPE_CHECKING:
    from grice.stats.weighted import Kind

__all__ = ["leave_one_judge_out", "pairwise_agreement"]


def leave_one_judge_out(
    ratings: Ratings,
    *,
    kind: Kind = "spearman",
    pool: Literal["judges", "pairs"] = "judges",
    groups: Groups | None = None,
    interval: ResamplingKind = "jackknife",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Estimate:
    """Return the correlation of one judge with the mean of the others: a person as a metric.

    Args:
        ratings: One list of ratings per item.
        kind: As in :func:`~grice.stats.correlation`.
        pool: ``judges``: a correlation per position in the lists, averaged. ``pairs``: one
            correlation over all (rating, mean of the others) pairs together, where positions
            are not persons.
        groups: Conversation of each item, resampled together.
        interval: ``jackknife``, ``bca`` or ``percentile``.
        level: Confidence level.
        resamples: How many bootstrap resamples.
        seed: Seed of the draws.

    Raises:
        InputError: If no judge's ratings and the others' vary on common items.
    """
    table, codes = arranged(matrix(ratings), groups)
    present = ~np.isnan(table)
    count = present.sum(axis=1, keepdims=True)
    total = np.where(present, table, 0).sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        others = np.where(count > 1, (total - table) / (count - 1), np.nan)
    usable = present & (count > 1)
    if pool == "pairs":
        item, judge = np.nonzero(usable)
        columns = [(item.astype(np.int64), table[item, judge], others[item, judge])]
    elif pool == "judges":
        columns = []
        for j in range(table.shape[1]):
            item = np.flatnonzero(usable[:, j])
            columns.append((item.astype(np.int64), table[item, j], others[item, j]))
    else:
        raise InputError(f"pool={pool!r}{did_you_mean(pool, ('judges', 'pairs'))}")
    what = f"one judge against the mean of the others, {NAMES[kind]} over {pool}"
    return _mean_correlation(
        columns,
        len(table),
        codes,
        kind=kind,
        what=what,
        interval=interval,
        level=level,
        resamples=resamples,
        seed=seed,
    )


def pairwise_agreement(
    ratings: Ratings,
    *,
    kind: Kind = "spearman",
    groups: Groups | None = None,
    interval: ResamplingKind = "jackknife",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Estimate:
    """Return the mean correlation of two judges over all pairs of positions in the lists.

    Args, Raises: as for :func:`leave_one_judge_out`.
    """
    table, codes = arranged(matrix(ratings), groups)
    columns = []
    for j in range(table.shape[1]):
        for k in range(j + 1, table.shape[1]):
            item = np.flatnonzero(~np.isnan(table[:, j]) & ~np.isnan(table[:, k]))
            columns.append((item.astype(np.int64), table[item, j], table[item, k]))
    what = f"pairs of judges, {NAMES[kind]}"
    return _mean_correlation(
        columns,
        len(table),
        codes,
        kind=kind,
        what=what,
        interval=interval,
        level=level,
        resamples=resamples,
        seed=seed,
    )


def _mean_correlation(
    columns: list[tuple[Integers, Floats, Floats]],
    items: int,
    codes: Integers | None,
    *,
    kind: Kind,
    what: str,
    interval: ResamplingKind,
    level: float,
    resamples: int,
    seed: int,
) -> Estimate:
    """Return the mean of the correlations of (item, x, y) columns that vary."""
    check_level(level)
    usable = [
        (item, weighted.correlations(x[:, None], y, kind))
        for item, x, y in columns
        if len(item) > 1 and np.ptp(x) > 0 and np.ptp(y) > 0
    ]
    if not usable:
        raise InputError(
            f"no two judges' ratings vary on common items ({items} items have two ratings)"
        )

    def statistic(weights: Floats) -> Floats:
        values = [one(weights[:, item])[:, 0] for item, one in usable]
        found = np.stack(values, axis=1)
        present = np.isfinite(found)
        count = present.sum(axis=1)
        mean = np.where(present, found, 0).sum(axis=1) / np.maximum(count, 1)
        return np.asarray(np.where(count > 0, mean, np.nan))[:, None]

    drawn = resample(statistic, items, groups=codes, kind=interval, resamples=resamples, seed=seed)
    return estimate(drawn, level=level, what=what, bounded="correlation")
