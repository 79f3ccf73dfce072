"""Correlations with intervals: over items, given covariates, and within contexts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from grice.errors import InputError, did_you_mean, plural
from grice.stats import weighted
from grice.stats.estimate import Estimate, clamp, few_units, scipy_module
from grice.stats.inputs import (
    Floats,
    Groups,
    Integers,
    Values,
    check_level,
    columns_of,
    complete_items,
    group_codes,
)
from grice.stats.resample import BLOCK, resampled_estimate

if TYPE_CHECKING:
    from grice.stats.weighted import Kind

HEAVY = 6.0
"""Kurtosis above which a Pearson correlation is marked; normal data have 3."""

NAMES: dict[str, str] = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
}


def correlation(
    x: Values,
    y: Values,
    *,
    kind: Kind = "spearman",
    groups: Groups | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return the correlation of two columns over the items that have both values, -1 to 1.

    The interval of a rank correlation without groups is Fisher's z with the standard error of
    Bonett and Wright (2000) for Spearman, and that of Brown and Benedetti (1977) for Kendall.
    Otherwise it is the jackknife's on Fisher's z, which holds for conversations and for heavy
    tails (``bench/coverage.md``).

    >>> str(correlation([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [2, 1, 4, 3, 6, 5, 8, 7, 10, 9]))
    '0.939, 95 % [0.688, 0.990], n 10'

    Args:
        x: One value per item, such as those of a metric; None or NaN where there is none.
        y: The other column, such as human ratings.
        kind: ``pearson``, ``spearman``, or ``kendall`` (tau-b).
        groups: Conversation of each item, left out together, as its items resemble each other.
        level: Confidence level.
        seed: Seed of the parts that are left out where there are more than 500 items.

    Raises:
        InputError: If fewer than two items have both values, or a column is constant.
    """
    check_level(level)
    _check_kind(kind)
    (a, b), codes = complete({"x": x, "y": y}, groups)
    value = correlation_value(a, b, kind)
    if kind != "pearson" and codes is None:
        low, high, how = analytic_interval(a, b, kind=kind, value=value, level=level)
        method = f"{NAMES[kind]}, {how}"
        return Estimate(value, low, high, level, len(a), method, note=_small(len(a), value))
    drawn = resampled_estimate(
        weighted.correlations(a[:, None], b, kind), len(a), NAMES[kind], groups=codes, level=level,
        seed=seed, value=value, bounded="correlation",
    )  # fmt: skip
    if len(a) < 4:
        return msgspec.structs.replace(drawn, low=-1.0, high=1.0, note=_small(len(a), value))
    kurtosis = max(_kurtosis(a), _kurtosis(b))
    if kind != "pearson" or kurtosis <= HEAVY:
        return drawn
    heavy = (
        f"heavy tails (kurtosis {kurtosis:.0f}): a few items decide Pearson's correlation; "
        "see Spearman's"
    )
    note = "; ".join(filter(None, (drawn.note, heavy)))
    return msgspec.structs.replace(drawn, note=note)


def complete(
    named: dict[str, Values], groups: Groups | None, *, least: int = 2
) -> tuple[list[Floats], Integers | None]:
    """Return the columns over the items that have all values, and their groups.

    The items come in an order that depends on nothing but themselves.
    """
    items = complete_items(named, groups, least=least)
    for name, column in zip(named, items.columns, strict=True):
        if np.ptp(column) == 0:
            raise InputError(
                f"{name} is {column[0]:g} on all {len(column)} items: "
                "a column that never changes has no correlation"
            )
    return items.columns, items.groups


def correlation_value(x: Floats, y: Floats, kind: Kind) -> float:
    """Return the bare coefficient of two columns without gaps."""
    stats = scipy_module("stats")
    if kind == "pearson":
        value = float(np.corrcoef(x, y)[0, 1])
    elif kind == "spearman":
        value = float(stats.spearmanr(x, y).statistic)
    else:
        value = float(stats.kendalltau(x, y).statistic)
    # A perfect correlation is one, however its sums were rounded.
    return math.copysign(1.0, value) if abs(value) > 1 - 1e-12 else value


def analytic_interval(
    x: Floats, y: Floats, *, kind: Kind, value: float, level: float, covariates: int = 0
) -> tuple[float, float, str]:
    """Return bounds and the name of their method, for independent items."""
    n = len(x)
    if n < 4:
        return -1.0, 1.0, "no bound from fewer than four items"
    most = _most(n, kind)
    if kind == "pearson":
        return *fisher(value, 1 / (n - 3), most, level), "Fisher z"
    if kind == "spearman":
        variance = (1 + value**2 / 2) / (n - covariates - 3)
        return *fisher(value, variance, most, level), "Fisher z, Bonett-Wright error"
    error = kendall_error(x, y, tau=value)
    variance = (error / (1 - min(abs(value), most) ** 2)) ** 2
    if abs(value) > most:
        # A perfect order shows no spread; the normal-theory variance of Fieller, Hartley and
        # Pearson (1957) is taken instead.
        variance = 0.437 / max(1, n - 4)
    # The error is estimated from the items, hence Student's quantile instead of the normal one.
    wide = float(scipy_module("special").stdtrit(n - 2, 0.5 + level / 2))
    variance *= (wide / NormalDist().inv_cdf(0.5 + level / 2)) ** 2
    return *fisher(value, variance, most, level), "Fisher z, delta-method error"


def fisher(value: float, variance: float, most: float, level: float) -> tuple[float, float]:
    """Return the bounds of a correlation whose Fisher z has the given variance."""
    half = NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(variance)
    z = math.atanh(clamp(value, -most, most))
    low, high = math.tanh(z - half), math.tanh(z + half)
    return (min(low, value), max(high, value))


def _most(n: int, kind: Kind) -> float:
    """Return 1 less half the least step a rank correlation of n items can make.

    A perfect order of a handful of systems says little of the next system; without this its
    interval would have no width.
    """
    return 1 - (2 / (n * n - n) if kind.startswith("kendall") else 3 / (n**3 - n))


def partial_correlation(
    x: Values,
    y: Values,
    covariates: Sequence[Values],
    *,
    kind: Literal["pearson", "spearman"] = "spearman",
    groups: Groups | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return the correlation of what the covariates leave of two columns, -1 to 1.

    Spearman's is the partial correlation of the ranks. Intervals as for :func:`correlation`,
    with one item fewer per covariate in the analytic ones; ``level`` and ``seed`` too.

    Args:
        x: One value per item.
        y: The other column.
        covariates: Columns to hold constant, such as the length of the reply.
        kind: ``pearson`` or ``spearman``.
        groups: Conversation of each item.

    Raises:
        InputError: If there are too few complete items, a column is constant, or a column is
            determined by the covariates.
    """
    check_level(level)
    if kind not in ("pearson", "spearman"):
        raise InputError(f"kind={kind!r}: a partial correlation is 'pearson' or 'spearman'")
    named = {"x": x, "y": y}
    named |= {f"covariates[{i}]": column for i, column in enumerate(covariates)}
    k = len(covariates)
    columns, codes = complete(named, groups, least=k + 4)
    n = len(columns[0])
    statistic = weighted.partial(np.stack(columns, axis=1), kind)
    value = float(statistic(np.ones((1, n)))[0, 0])
    if math.isnan(value):
        raise InputError("a column is determined by the others: no partial correlation is defined")
    what = f"partial {NAMES[kind]} given {k} covariate{'s' * (k != 1)}"
    if kind == "spearman" and codes is None:
        low, high, how = analytic_interval(
            *columns[:2], kind=kind, value=value, level=level, covariates=k
        )
        return Estimate(value, low, high, level, n, f"{what}, {how}", note=_small(n, value))
    return resampled_estimate(
        statistic, n, what, groups=codes, level=level, seed=seed, bounded="correlation"
    )


def correlation_within(
    x: Values, y: Values, contexts: Groups, *, kind: Kind = "spearman", level: float = 0.95
) -> Estimate:
    """Return the mean over contexts of the correlation among the items of each, -1 to 1.

    The convention of tables that average over the contexts of USR-TopicalChat. A context in
    which a column is constant, or with fewer than two complete items, is left out and counted
    in the note. The interval is Student's over contexts.

    Args:
        x: One value per item.
        y: The other column.
        contexts: The context of each item.
        kind: As in :func:`correlation`.
        level: Confidence level.

    Raises:
        InputError: If no context has a correlation.
    """
    check_level(level)
    _check_kind(kind)
    a, b = columns_of(x=x, y=y)
    codes = group_codes(contexts, len(a))
    total = int(codes.max(initial=-1)) + 1
    codes = np.where(np.isnan(a) | np.isnan(b), -1, codes)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(total + 1))
    values, n = [], 0
    for members in (order[start:end] for start, end in pairwise(ends)):
        if len(members) > 1 and np.ptp(a[members]) > 0 and np.ptp(b[members]) > 0:
            values.append(correlation_value(a[members], b[members], kind))
            n += len(members)
    if not values:
        raise InputError(f"none of {total} contexts has two items that differ in x and in y")
    mean = float(np.mean(values))
    low = high = None
    notes = [few_units(len(values), "contexts")]
    if len(values) < total:
        left_out = total - len(values)
        notes.insert(0, f"{left_out} of {total} contexts left out: a column is constant")
    if len(values) > 1:
        quantile = float(scipy_module("special").stdtrit(len(values) - 1, 0.5 + level / 2))
        half = quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values))
        low, high = max(-1.0, mean - half), min(1.0, mean + half)
    else:
        notes.append("one context alone says nothing of the spread")
    what = f"mean over {len(values)} contexts of {NAMES[kind]}, Student's t"
    note = "; ".join(filter(None, notes)) or None
    return Estimate(mean, low, high, level, n, what, len(values), note)


def _check_kind(kind: str) -> None:
    if kind not in NAMES:
        raise InputError(f"kind={kind!r}{did_you_mean(kind, NAMES)}")


def _kurtosis(column: Floats) -> float:
    centred = column - column.mean()
    return float((centred**4).mean() / (centred**2).mean() ** 2)


def _small(n: int, value: float) -> str | None:
    if n < 4:
        return f"{plural(n, 'item bounds', 'items bound')} no correlation" + (
            ": two always give -1 or 1" if n == 2 and abs(value) == 1 else ""
        )
    return few_units(n, "items")


def kendall_error(x: Floats, y: Floats, *, tau: float) -> float:
    """Return the standard error of tau-b, free of any assumed distribution.

    The delta method on the per-item counts of agreeing and tied pairs (Brown and Benedetti, 1977).
    """
    n = len(x)
    agree = _agreeing(x, y)
    untied = []
    for column in (x, y):
        _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
        untied.append(n - np.asarray(counts[codes], np.float64))
    total = [float(column.sum()) for column in untied]
    share = (untied[0] / total[0] + untied[1] / total[1]) / 2
    influence = 2 * (agree / math.sqrt(total[0] * total[1]) - tau * share)
    return math.sqrt(float(influence @ influence) * n / (n - 1))


def _agreeing(x: Floats, y: Floats) -> Floats:
    """Return for each item how many others agree with it in order, less those that disagree."""
    rows = np.array_split(np.arange(len(x)), 1 + len(x) ** 2 // BLOCK)
    signs = (np.sign(x[part, None] - x) * np.sign(y[part, None] - y) for part in rows)
    return np.concatenate([sign.sum(axis=1) for sign in signs])
