"""A person as a metric: how single annotators correlate with each other and with the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from grice.errors import InputError, did_you_mean
from grice.stats import weighted
from grice.stats.correlations import NAMES
from grice.stats.estimate import Estimate
from grice.stats.inputs import Floats, Groups, Integers, check_level
from grice.stats.ratings import Ratings, arranged, matrix
from grice.stats.resample import ResamplingKind, Sampling, resampled_estimate

if TYPE_CHECKING:
    from grice.stats.weighted import Kind


def leave_one_annotator_out(
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
    """Return the correlation of one annotator with the mean of the others: a person as a metric.

    ``interval``, ``level``, ``resamples`` and ``seed`` are as in :func:`~grice.stats.correlation`.

    Args:
        ratings: One list of ratings per item.
        kind: As in :func:`~grice.stats.correlation`.
        pool: ``judges``: a correlation per position in the lists, averaged. ``pairs``: one
            correlation over all (rating, mean of the others) pairs together, where positions
            are not persons.
        groups: Conversation of each item, resampled together.

    Raises:
        InputError: If no annotator's ratings and the others' vary on common items.
    """
    table, codes = arranged(matrix(ratings), groups)
    present = ~np.isnan(table)
    count = present.sum(axis=1, keepdims=True)
    total = np.where(present, table, 0).sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        others = np.where(count > 1, (total - table) / (count - 1), np.nan)
    usable = present & (count > 1)
    if pool == "pairs":
        item, annotator = np.nonzero(usable)
        columns = [(item.astype(np.int64), table[item, annotator], others[item, annotator])]
    elif pool == "judges":
        columns = []
        for j in range(table.shape[1]):
            item = np.flatnonzero(usable[:, j])
            columns.append((item.astype(np.int64), table[item, j], others[item, j]))
    else:
        raise InputError(f"pool={pool!r}{did_you_mean(pool, ('judges', 'pairs'))}")
    what = f"one judge against the mean of the others, {NAMES[kind]} over {pool}"
    sampling = Sampling(interval, level, resamples, seed)
    return _mean_correlation(columns, len(table), codes, kind, what, sampling)


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
    """Return the mean correlation of two annotators over all pairs of positions in the lists.

    Args, Raises: as for :func:`leave_one_annotator_out`.
    """
    table, codes = arranged(matrix(ratings), groups)
    columns = []
    for j in range(table.shape[1]):
        for k in range(j + 1, table.shape[1]):
            item = np.flatnonzero(~np.isnan(table[:, j]) & ~np.isnan(table[:, k]))
            columns.append((item.astype(np.int64), table[item, j], table[item, k]))
    what = f"pairs of judges, {NAMES[kind]}"
    sampling = Sampling(interval, level, resamples, seed)
    return _mean_correlation(columns, len(table), codes, kind, what, sampling)


def _mean_correlation(
    columns: list[tuple[Integers, Floats, Floats]],
    items: int,
    codes: Integers | None,
    kind: Kind,
    what: str,
    sampling: Sampling,
) -> Estimate:
    """Return the mean of the correlations of (item, x, y) columns that vary."""
    check_level(sampling.level)
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
        each = np.stack([of_pair(weights[:, item])[:, 0] for item, of_pair in usable], axis=1)
        present = np.isfinite(each)
        count = present.sum(axis=1)
        mean = np.where(present, each, 0).sum(axis=1) / np.maximum(count, 1)
        return np.asarray(np.where(count > 0, mean, np.nan))[:, None]

    return resampled_estimate(statistic, items, what, sampling, groups=codes, bounded="correlation")
