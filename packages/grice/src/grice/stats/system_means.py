"""How a metric orders systems by their means, held against people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from grice.errors import InputError, plural
from grice.stats.correlations import NAMES, analytic_interval, correlation_value
from grice.stats.estimate import Estimate, few_units
from grice.stats.inputs import (
    Floats,
    Groups,
    Integers,
    Values,
    check_level,
    columns_of,
    group_codes,
    joined,
    ordered,
)
from grice.stats.resample import Sampling, resampled_estimate

if TYPE_CHECKING:
    from grice.stats.weighted import Kind


class SystemLevel(msgspec.Struct, frozen=True):
    """A metric judged by the means of systems.

    Attributes:
        metric: Mean of the metric per system.
        human: Mean rating per system.
        correlation: Correlation of the means. Its interval treats the systems as drawn from all
            possible ones, so it is wide for a handful of them.
        accuracy: Share of system pairs that the metric puts in the order of the ratings. Its
            interval resamples the items of each system and holds the systems as they are.
        systems: How many.
    """

    metric: dict[str, float]
    human: dict[str, float]
    correlation: Estimate
    accuracy: Estimate
    systems: int


def system_level(
    metric: Values,
    human: Values,
    systems: Groups,
    *,
    kind: Kind = "pearson",
    contexts: Groups | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> SystemLevel:
    """Return correlation and pairwise accuracy of system means (Kocmi et al. 2021).

    Two systems always correlate with -1 or 1: the interval then spans everything.

    ``level``, ``resamples`` and ``seed`` are as in :func:`~grice.stats.correlation`.

    Args:
        metric: One value per item.
        human: The ratings of the same items.
        systems: The system that produced each item.
        kind: As in :func:`~grice.stats.correlation`.
        contexts: Context of each item, if the systems answered the same ones; contexts are
            then resampled with the replies of all systems, otherwise single items.

    Raises:
        InputError: If there are fewer than two systems, or all means are the same.
    """
    check_level(level)
    x, y = columns_of(metric=metric, human=human)
    complete = ~(np.isnan(x) | np.isnan(y))
    labels = [label for label, keep in zip(systems, complete, strict=True) if keep]
    groups = None if contexts is None else joined(group_codes(contexts, len(x))[complete])
    x, y = x[complete], y[complete]
    codes = group_codes(labels, len(x))
    count = int(codes.max(initial=-1)) + 1
    if count < 2:
        raise InputError(f"{count} system with both values; at least two are needed")
    names = [""] * count
    for label, code in zip(labels, codes, strict=True):
        names[int(code)] = str(label)
    order = ordered([x, y, codes.astype(np.float64)], groups)
    x, y, codes = x[order], y[order], codes[order]
    groups = None if groups is None else groups[order]
    member = np.zeros((len(x), count))
    member[np.arange(len(x)), codes] = 1
    means = [(column @ member) / member.sum(axis=0) for column in (x, y)]
    return SystemLevel(
        dict(zip(names, map(float, means[0]), strict=True)),
        dict(zip(names, map(float, means[1]), strict=True)),
        _between(means[0], means[1], kind, level),
        _ordered_pairs(x, y, member, groups, level=level, resamples=resamples, seed=seed),
        count,
    )


def _between(x: Floats, y: Floats, kind: Kind, level: float) -> Estimate:
    for name, column in (("metric", x), ("human", y)):
        if np.ptp(column) == 0:
            raise InputError(f"the mean of {name} is {column[0]:g} for every system")
    value = correlation_value(x, y, kind)
    low, high, how = analytic_interval(x, y, kind=kind, value=value, level=level)
    count = len(x)
    note = few_units(count, "systems")
    if count < 4:
        note = f"{plural(count, 'system bounds', 'systems bound')} no correlation"
    return Estimate(
        value, low, high, level, count, f"{NAMES[kind]} of system means, {how}", note=note
    )


def _ordered_pairs(
    x: Floats,
    y: Floats,
    member: Floats,
    groups: Integers | None,
    *,
    level: float,
    resamples: int,
    seed: int,
) -> Estimate:
    a, b = np.triu_indices(member.shape[1], 1)

    def statistic(weights: Floats) -> Floats:
        size = weights @ member
        with np.errstate(invalid="ignore", divide="ignore"):
            mean_x = ((weights * x) @ member) / size
            mean_y = ((weights * y) @ member) / size
        same = np.sign(mean_x[:, a] - mean_x[:, b]) == np.sign(mean_y[:, a] - mean_y[:, b])
        # A resample without a single item of some system has no order of all of them.
        share = np.where((size > 0).all(axis=1), same.mean(axis=1), np.nan)
        return share[:, None]

    sampling = Sampling("percentile", level, resamples, seed)
    return resampled_estimate(
        statistic, len(x), "pairwise accuracy of systems", sampling, groups=groups
    )
