"""Systems: how many conversations a comparison takes, unpaired means, shares, rankings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.errors import InputError, plural
from grice.stats.clusters import Bounds, student_quantile, wilson_interval
from grice.stats.comparison import Comparison, Ranking, mean, verdict
from grice.stats.correlations import NAMES, analytic_interval, correlation_value
from grice.stats.estimate import FEW, Estimate, few_units
from grice.stats.inputs import (
    Floats,
    Groups,
    Values,
    check_level,
    columns_of,
    complete_items,
    group_codes,
    joined,
    ordered,
)
from grice.stats.resample import resampled_estimate

if TYPE_CHECKING:
    from grice.stats.weighted import Kind


class Power(msgspec.Struct, frozen=True):
    """How many conversations a significant difference of two systems takes.

    Attributes:
        difference: The difference asked about.
        power: Probability to find it.
        level: One less it is the level of the test.
        now: Conversations (or items) at hand.
        total: Conversations (or items) needed.
        more: How many more; 0 if there are enough.
        detectable: The difference found with this power at the number at hand.
        unit: ``conversations`` or ``items``.
    """

    difference: float
    power: float
    level: float
    now: int
    total: int
    more: int
    detectable: float
    unit: str

    def __str__(self) -> str:
        stated = f"a difference of {self.difference:g} ({100 * self.power:g} % power)"
        if self.more == 0:
            return f"the {self.now} {self.unit} are enough for {stated}"
        return f"about {self.more} more {self.unit} are needed for {stated}"


def items_needed(
    first: Values,
    second: Values,
    *,
    difference: float,
    groups: Groups | None = None,
    power: float = 0.8,
    level: float = 0.95,
) -> Power:
    """Return how many conversations show a difference of two systems of this size.

    From the standard error of the mean difference at hand, clustered by conversation, which
    falls with the square root of their number (normal approximation). State a difference that
    would matter; with the observed one the answer only repeats the p-value.

    Args:
        first: Values of the one system.
        second: Values of the other on the same items.
        difference: The smallest difference worth finding, above 0.
        groups: Conversation of each item.
        power: Probability to find it, between 0 and 1.
        level: One less it is the level of the test.

    Raises:
        InputError: If the difference or power is out of range, or there are fewer than two
            conversations.
    """
    check_level(level)
    if not difference > 0:
        raise InputError(f"difference={difference}: give the difference worth finding, above 0")
    if not 0 < power < 1:
        raise InputError(f"power={power}: a probability between 0 and 1 is needed, such as 0.8")
    (a, b), codes, _ = complete_items({"first": first, "second": second}, groups, least=2)
    gap = a - b
    # The variance of a ratio of cluster sums to cluster sizes (Cochran 1977, section 2.11).
    sums = np.bincount(np.arange(len(gap)) if codes is None else codes, weights=gap - gap.mean())
    units = len(sums)
    if units < 2:
        raise InputError("one conversation alone says nothing of the spread; at least two needed")
    error = math.sqrt(units / (units - 1) * float(sums @ sums)) / len(gap)
    reach = NormalDist().inv_cdf(0.5 + level / 2) + NormalDist().inv_cdf(power)
    total = max(2, math.ceil(units * (reach * error / difference) ** 2))
    unit = "items" if groups is None else "conversations"
    more = max(0, total - units)
    return Power(difference, power, level, units, total, more, reach * error, unit)


APART = "difference of independent means from their intervals (Zou and Donner 2008)"
STEPS = 40
"""Halvings in the search for a p-value: far more than it is printed with."""


class Sample(NamedTuple):
    """The values of one side."""

    values: Values
    groups: Groups


def compare_unpaired(
    samples: Mapping[str, Sample], *, bounds: Bounds | None = None, level: float = 0.95
) -> Ranking | None:
    """Return two means over different items, compared; None if they have no interval.

    Each mean has the interval of :func:`grice.stats.mean`, which allows for conversations, skewed
    values and bounds; that of the difference follows from the two (the method of variance estimates
    recovery), and so does the p-value: one less the level at which that begins to hold 0. The two
    sides must not share conversations.
    """
    means, gap = _apart(samples, bounds, level)
    if gap.interval is None:
        return None
    # One less the highest level whose interval leaves 0 out.
    least, most = 0.0, 1.0
    for _ in range(STEPS):
        middle = (least + most) / 2
        if not 0 < middle < 1:
            break
        if _apart(samples, bounds, middle)[1].side(0) in ("above", "below"):
            least = middle
        else:
            most = middle
    p = 1 - least
    first, second = samples
    comparison = Comparison(first, second, gap, p, p, APART, "none", verdict(gap.value, p, level))
    return Ranking(dict(zip(samples, means, strict=True)), (comparison,), (), gap.n, 0)


def _apart(
    samples: Mapping[str, Sample], bounds: Bounds | None, level: float
) -> tuple[list[Estimate], Estimate]:
    """Return both means, and first less second, without an interval where one of them has none."""
    first, second = means = [
        mean(side.values, groups=side.groups, bounds=bounds, level=level)
        for side in samples.values()
    ]
    gap = first.value - second.value
    low = high = note = None
    if first.interval and second.interval:
        low = gap - math.hypot(first.value - first.interval[0], second.interval[1] - second.value)
        high = gap + math.hypot(first.interval[1] - first.value, second.value - second.interval[0])
    units = [side.groups or side.n for side in means]
    if min(units) < FEW:
        note = f"fewer than {FEW} conversations on a side: a rough guide"
    n = first.n + second.n
    return means, Estimate(gap, low, high, level, n, APART, sum(units), note)


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
    seed: int = 0,
) -> SystemLevel:
    """Return correlation and pairwise accuracy of system means (Kocmi et al. 2021).

    Two systems always correlate with -1 or 1: the interval then spans everything.

    Args:
        metric: One value per item.
        human: The ratings of the same items.
        systems: The system that produced each item.
        kind: As in :func:`~grice.stats.correlation`.
        contexts: Context of each item, if the systems answered the same ones; contexts are
            then resampled with the replies of all systems, otherwise single items.
        level: Confidence level.
        seed: Seed of the resamples.

    Raises:
        InputError: If there are fewer than two systems, or all means are the same.
    """
    check_level(level)
    x, y = columns_of(metric=metric, human=human)
    kept = ~(np.isnan(x) | np.isnan(y))
    labels = [label for label, keep in zip(systems, kept, strict=True) if keep]
    groups = None if contexts is None else joined(group_codes(contexts, len(x))[kept])
    x, y = x[kept], y[kept]
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
    member = (codes[:, None] == np.arange(count)).astype(np.float64)
    first, second = ((column @ member) / member.sum(axis=0) for column in (x, y))
    for name, column in (("metric", first), ("human", second)):
        if np.ptp(column) == 0:
            raise InputError(f"the mean of {name} is {column[0]:g} for every system")
    value = correlation_value(first, second, kind)
    low, high, how = analytic_interval(first, second, kind=kind, value=value, level=level)
    note = few_units(count, "systems")
    if count < 4:
        note = f"{plural(count, 'system bounds', 'systems bound')} no correlation"
    what = f"{NAMES[kind]} of system means, {how}"
    a, b = np.triu_indices(count, 1)

    def right_order(weights: Floats) -> Floats:
        size = weights @ member
        with np.errstate(invalid="ignore", divide="ignore"):
            mean_x = ((weights * x) @ member) / size
            mean_y = ((weights * y) @ member) / size
        same = np.sign(mean_x[:, a] - mean_x[:, b]) == np.sign(mean_y[:, a] - mean_y[:, b])
        # A resample without a single item of some system has no order of all of them.
        share = np.where((size > 0).all(axis=1), same.mean(axis=1), np.nan)
        return share[:, None]

    return SystemLevel(
        dict(zip(names, map(float, first), strict=True)),
        dict(zip(names, map(float, second), strict=True)),
        Estimate(value, low, high, level, count, what, note=note),
        resampled_estimate(
            right_order, len(x), "pairwise accuracy of systems", groups=groups, kind="percentile",
            level=level, seed=seed,
        ),
        count,
    )  # fmt: skip


def proportion(
    hits: Sequence[float], sizes: Sequence[int] | None = None, *, level: float = 0.95
) -> Estimate | None:
    """Return the share of hits among items that come in conversations; None without an item.

    Wilson's interval with the effective number of items (Korn and Graubard 1998): as many
    independent items as would vary like these conversations do. Where no spread is to be seen,
    because all items or none are hits, one conversation counts as one item.

    Args:
        hits: Hits of each conversation; a half counts as half a hit.
        sizes: Items of each conversation; by default one.
    """
    sums = np.asarray(hits, np.float64)
    items = np.ones_like(sums) if sizes is None else np.asarray(sizes, np.float64)
    sums, items = sums[items > 0], items[items > 0]
    n, units = int(items.sum()), len(items)
    if not n:
        return None
    value = float(sums.sum() / n)
    if units < 2:
        nothing = "one conversation alone says nothing of the spread"
        return Estimate(value, None, None, level, n, "share", units, nothing)
    squares = float(((sums - value * items) ** 2).sum())
    variance = units / (units - 1) * squares / n**2
    normal = NormalDist().inv_cdf(0.5 + level / 2)
    if variance > 0:
        # Few conversations make the variance itself uncertain: Student's quantile.
        shrink = (normal / student_quantile(0.5 + level / 2, units - 1)) ** 2
        effective = min(float(n), value * (1 - value) / variance) * shrink
    else:
        effective = n**2 / float((items**2).sum())
    low, high = wilson_interval(value, effective, level)
    note = few_units(units, "conversations")
    return Estimate(value, low, high, level, n, "share, Wilson's interval", units, note)
