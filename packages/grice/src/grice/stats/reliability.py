"""How reliable is a mean rating, and how high can a metric's correlation with it be?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from grice.errors import InputError, did_you_mean
from grice.stats.agreement import interval_alpha
from grice.stats.estimate import Estimate
from grice.stats.inputs import Floats, Groups, check_level
from grice.stats.ratings import Ratings, agreement, arranged, flatten, matrix
from grice.stats.resample import ResamplingKind, Sampling, resampled_estimate

if TYPE_CHECKING:
    from grice.stats.ratings import Flat
    from grice.stats.resample import Statistic

IntraclassForm: TypeAlias = Literal["1,1", "1,k", "2,1", "2,k", "3,1", "3,k"]
FORMS = ("1,1", "1,k", "2,1", "2,k", "3,1", "3,k")


def intraclass(
    ratings: Ratings,
    *,
    form: IntraclassForm = "1,k",
    groups: Groups | None = None,
    interval: ResamplingKind = "jackknife",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Return an intraclass correlation of Shrout and Fleiss (1979), at most 1.

    ``interval``, ``level``, ``resamples`` and ``seed`` are as in :func:`~grice.stats.correlation`.

    Args:
        ratings: One list of ratings per item, all complete and of one length.
        form: ``1`` other annotators for each item, ``2`` the same throughout, ``3`` these
            and no others; then ``1`` for a single rating or ``k`` for their mean.
        groups: Conversation of each item, resampled together.

    Raises:
        InputError: If a rating is missing, there is one annotator or one item, or all are the same.
    """
    check_level(level)
    if form not in FORMS:
        raise InputError(f"form={form!r}{did_you_mean(form, FORMS)}")
    full = matrix(ratings)
    if np.isnan(full).any():
        place = [int(i) for i in np.argwhere(np.isnan(full))[0]]
        raise InputError(
            f"ratings[{place[0]}] has no rating {place[1]}: an intraclass correlation needs all "
            "of them; reliability_of_mean takes missing ones"
        )
    table, codes = arranged(full, groups)
    if len(table) < 2 or np.ptp(table) == 0:
        raise InputError("at least two items and two different ratings are needed")
    sampling = Sampling(interval, level, resamples, seed)
    return resampled_estimate(
        _intraclass(table, form),
        len(table),
        f"ICC({form})",
        sampling,
        groups=codes,
        bounded="by one",
    )


def _intraclass(table: Floats, form: IntraclassForm) -> Statistic:
    table = table - table.mean()
    k = table.shape[1]
    row_sums = table.sum(axis=1)
    moments = np.stack([row_sums, row_sums**2, (table**2).sum(axis=1)], axis=1)

    def statistic(weights: Floats) -> Floats:
        n = weights.sum(axis=1)
        total, square_rows, square_all = (weights @ moments).T
        grand = total**2 / (n * k)
        with np.errstate(divide="ignore", invalid="ignore"):
            between = (square_rows / k - grand) / (n - 1)
            inside = square_all - square_rows / k
            within = inside / (n * (k - 1))
            by_annotator = ((weights @ table) ** 2).sum(axis=1) / n - grand
            error = (inside - by_annotator) / ((n - 1) * (k - 1))
            by_annotator = by_annotator / (k - 1)
            if form == "1,1":
                value = (between - within) / (between + (k - 1) * within)
            elif form == "1,k":
                value = (between - within) / between
            elif form == "2,1":
                spread = between + (k - 1) * error + k * (by_annotator - error) / n
                value = (between - error) / spread
            elif form == "2,k":
                value = (between - error) / (between + (by_annotator - error) / n)
            elif form == "3,1":
                value = (between - error) / (between + (k - 1) * error)
            else:
                value = (between - error) / between
        return np.asarray(np.where(between > 1e-12, value, np.nan))[:, None]

    return statistic


def reliability_of_mean(
    ratings: Ratings,
    *,
    judges: int | None = None,
    groups: Groups | None = None,
    interval: ResamplingKind = "jackknife",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Return how far the mean of several annotators would agree with that of as many others.

    From 0 to 1: Krippendorff's interval alpha, stepped up to the number of annotators
    (Spearman-Brown); 0 where alpha is not positive. Takes missing ratings.

    ``interval``, ``level``, ``resamples`` and ``seed`` are as in :func:`~grice.stats.correlation`.

    Args:
        ratings: One list of ratings per item.
        judges: Number of annotators per mean; by default the longest list.
        groups: Conversation of each item, resampled together.

    Raises:
        InputError: If no item has two ratings, or all ratings are the same.
    """
    flat, k, reliability = _reliability(ratings, judges, groups)
    what = f"reliability of the mean of {k} judges"
    return agreement(reliability, flat, what, Sampling(interval, level, resamples, seed))


def ceiling(
    ratings: Ratings,
    *,
    judges: int | None = None,
    groups: Groups | None = None,
    interval: ResamplingKind = "jackknife",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Return the Pearson correlation with the mean ratings that a perfect metric would have.

    The root of :func:`reliability_of_mean` (Spearman 1904), 0 to 1.

    Args, Raises: as there.
    """
    flat, k, reliability = _reliability(ratings, judges, groups)
    what = f"ceiling for the mean of {k} judges"
    sampling = Sampling(interval, level, resamples, seed)
    return agreement(lambda weights: np.sqrt(reliability(weights)), flat, what, sampling)


def _reliability(
    ratings: Ratings, judges: int | None, groups: Groups | None
) -> tuple[Flat, int, Statistic]:
    """Return the ratings that can be paired, the annotators per mean, and its reliability."""
    flat = flatten(*arranged(matrix(ratings), groups))
    if np.ptp(flat.value) == 0:
        raise InputError("all ratings are the same: their reliability is not defined")
    count = int(flat.sizes.max()) if judges is None else judges
    if count < 1:
        raise InputError(f"judges={judges}: at least one is needed")
    alpha = interval_alpha(flat)

    def statistic(weights: Floats) -> Floats:
        positive = np.maximum(alpha(weights), 0.0)
        return np.asarray(count * positive / (1 + (count - 1) * positive))

    return flat, count, statistic
