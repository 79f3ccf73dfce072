"""How often a metric puts two replies, or two systems, in the order that people do."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from grice.errors import InputError, counted
from grice.stats.correlations import NAMES, analytic_interval, correlation_value
from grice.stats.estimate import (
    FEW,
    Estimate,
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
from grice.stats.resample import ResamplingKind, estimate, resample

if TYPE_CHECKING:
    from grice.stats.resample import Statistic
    from grice.stats.weighted import Kind

__all__ = ["PairwiseAccuracy", "SystemLevel", "pairwise_accuracy", "system_level"]

MOST_PAIRS = 20_000_000
CHOSEN = ("cross-fit", "calibrate")


class PairwiseAccuracy(msgspec.Struct, frozen=True):
    """How often metric and people agree on a pair, a tie being one of three answers.

    Attributes:
        accuracy: Share of agreeing pairs, 0 to 1.
        epsilon: Metric differences up to this count as a tie. With ``cross-fit`` the one that
            agrees best on all pairs, for use on other data: the accuracy is that of two others.
        calibrated: Whether epsilon was chosen on the pairs it judges, which flatters.
        pairs: Number of pairs.
        human_ties: Share of pairs that people rate the same.
        metric_ties: Share of pairs that the metric ties under epsilon.
    """

    accuracy: Estimate
    epsilon: float
    calibrated: bool
    pairs: int
    human_ties: float
    metric_ties: float


class _Pairs(NamedTuple):
    """All pairs, sorted by how far the metric holds them apart.

    Attributes:
        first: One item of the pair; with contexts, the context.
        second: The other item; None with contexts.
        gap: How far apart the metric puts them, rising.
        right: 1 if people prefer the one the metric prefers.
        tied: 1 if people rate both the same.
        share: What the pair counts: 1, or one over the pairs of its context.
    """

    first: Integers
    second: Integers | None
    gap: Floats
    right: Floats
    tied: Floats
    share: Floats


def pairwise_accuracy(
    metric: Values,
    human: Values,
    *,
    contexts: Groups | None = None,
    epsilon: float | Literal["cross-fit", "calibrate"] = "cross-fit",
    interval: ResamplingKind = "jackknife",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> PairwiseAccuracy:
    """Return the share of pairs on which metric and people agree, ties included.

    A pair agrees if both prefer the same reply, or both see a tie (acc_eq of Deutsch, Foster
    and Freitag 2023). As a metric on a fine scale never ties, differences up to epsilon count
    as one. ``cross-fit`` splits the items (or contexts) into random halves and judges the pairs
    within each with the epsilon that agrees most on the pairs within the other; ``calibrate`` is
    the published way, which takes the epsilon that agrees most on the very pairs it judges and
    so flatters. Both choose anew on each resample. A number is an epsilon from other data.

    Args:
        metric: One value per item.
        human: The ratings of the same items.
        contexts: Compare only replies to the same context, and average over contexts, which
            are then what is resampled. Without them all items are compared with each other.
        epsilon: The largest metric difference that is a tie, ``cross-fit`` or ``calibrate``.
        interval: ``jackknife``, ``bca`` or ``percentile``.
        level: Confidence level.
        resamples: How many bootstrap resamples.
        seed: Seed of the draws and of the halves.

    Raises:
        InputError: If there is no pair, no pair in one of the halves, or more than 20 million.
    """
    check_level(level)
    if epsilon not in CHOSEN and not (isinstance(epsilon, int | float) and epsilon >= 0):
        raise InputError(
            f"epsilon={epsilon!r}: a number from 0, 'cross-fit' or 'calibrate' is needed"
        )
    x, y = columns_of(metric=metric, human=human)
    codes = None if contexts is None else group_codes(contexts, len(x))
    kept = ~(np.isnan(x) | np.isnan(y))
    x, y = x[kept], y[kept]
    codes = None if codes is None else joined(codes[kept])
    order = ordered([x, y], codes)
    x, y = x[order], y[order]
    codes = None if codes is None else codes[order]
    pairs, units, n = _all_pairs(x, y, codes)
    what = "pairwise accuracy with ties"
    if epsilon == "cross-fit":
        statistic = _cross_fitted(_halves(pairs, units, seed))
        what += f", epsilon of each half from the other, halves drawn with seed {seed}"
    else:
        statistic = _accuracy(pairs, epsilon)
        if epsilon == "calibrate":
            what += ", epsilon chosen on these very pairs"
    drawn = resample(statistic, units, kind=interval, resamples=resamples, seed=seed)
    used = float(_best(pairs, pairs.share[None, :], epsilon)[0][0])
    total = float(pairs.share.sum())
    found = estimate(drawn, level=level, what=what, n=n, bounded="share")
    if codes is not None:
        found = _over_contexts(found, units)
    return PairwiseAccuracy(
        found,
        used,
        epsilon == "calibrate",
        len(pairs.gap),
        float(pairs.tied @ pairs.share) / total,
        float((pairs.gap <= used) @ pairs.share) / total,
    )


def _over_contexts(found: Estimate, units: int) -> Estimate:
    return msgspec.structs.replace(
        found,
        method=found.method.replace("of items", "of contexts").replace(
            "over items", "over contexts"
        ),
        groups=units,
        note=None if found.note is None else found.note.replace("items", "contexts"),
    )


def _all_pairs(x: Floats, y: Floats, codes: Integers | None) -> tuple[_Pairs, int, int]:
    """Return the pairs, the number of units to resample, and the number of items in pairs."""
    if codes is None:
        first, second = _within(np.arange(len(x)))
        unit = None
        units = n = len(x)
    else:
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(codes.max(initial=-1) + 2))
        blocks = [_within(order[a:b]) for a, b in pairwise(ends)]
        blocks = [block for block in blocks if len(block[0])]
        if not blocks:
            raise InputError("no context has two items with both values: there is no pair")
        first = np.concatenate([block[0] for block in blocks])
        second = np.concatenate([block[1] for block in blocks])
        sizes = np.array([len(block[0]) for block in blocks])
        unit = np.repeat(np.arange(len(blocks)), sizes)
        units = len(blocks)
        n = len(np.unique(np.concatenate([first, second])))
    if not len(first):
        raise InputError(f"{len(x)} items with both values make no pair; at least two are needed")
    metric, people = x[first] - x[second], y[first] - y[second]
    gap = np.abs(metric)
    rising = np.argsort(gap, kind="stable")
    share = np.ones(len(gap)) if unit is None else 1 / sizes[unit]
    return (
        _Pairs(
            first[rising] if unit is None else unit[rising],
            second[rising] if unit is None else None,
            gap[rising],
            (np.sign(metric) * np.sign(people) > 0)[rising].astype(np.float64),
            (people == 0)[rising].astype(np.float64),
            share[rising],
        ),
        units,
        n,
    )


def _within(items: Integers) -> tuple[Integers, Integers]:
    if len(items) * (len(items) - 1) // 2 > MOST_PAIRS:
        raise InputError(
            f"{len(items)} items make more than {MOST_PAIRS:,} pairs; give contexts, so that "
            "only replies to the same context are compared, or a sample of the items"
        )
    a, b = np.triu_indices(len(items), 1)
    return items[a].astype(np.int64), items[b].astype(np.int64)


def _best(pairs: _Pairs, weights: Floats, epsilon: float | str) -> tuple[Floats, Floats]:
    """Return per row of pair weights the epsilon and the weight of the agreeing pairs.

    Unless epsilon is a number, it is the one that agrees most.
    """
    right, tied = weights * pairs.right, weights * pairs.tied
    if not isinstance(epsilon, str):
        cut = int(np.searchsorted(pairs.gap, epsilon, side="right"))
        agreed = tied[:, :cut].sum(axis=1) + right[:, cut:].sum(axis=1)
        return np.full(len(weights), float(epsilon)), agreed
    # With the first so many pairs called ties, the rest as the metric says; a cut may only
    # stand where the gap grows. Ties of the metric itself are ties under any epsilon.
    gain = np.cumsum(tied - right, axis=1)
    last = np.append(np.diff(pairs.gap) > 0, True)
    exact = int(np.searchsorted(pairs.gap, 0.0, side="right"))
    start = right.sum(axis=1)
    cuts = np.flatnonzero(last)
    cuts = cuts[cuts >= exact - 1] if exact else cuts
    options = gain[:, cuts]
    if not exact:
        options = np.hstack([np.zeros((len(weights), 1)), options])
        reach = np.concatenate([[0.0], pairs.gap[cuts]])
    else:
        reach = pairs.gap[cuts]
    chosen = np.argmax(options, axis=1)
    return reach[chosen], start + options[np.arange(len(options)), chosen]


def _accuracy(pairs: _Pairs, epsilon: float | str) -> Statistic:
    def statistic(weights: Floats) -> Floats:
        values = np.full((len(weights), 1), np.nan)
        for i, row in enumerate(weights):
            weight = _weight(pairs, row)
            total = weight.sum()
            if total > 0:
                values[i, 0] = _best(pairs, weight, epsilon)[1][0] / total
        return values

    return statistic


def _weight(pairs: _Pairs, row: Floats) -> Floats:
    weight = row[pairs.first] * pairs.share
    if pairs.second is not None:
        weight *= row[pairs.second]
    return np.asarray(weight[None, :])


def _halves(pairs: _Pairs, units: int, seed: int) -> tuple[_Pairs, _Pairs]:
    """Return the pairs within either half of the items, or of the contexts."""
    half = np.random.default_rng(seed).permutation(units) % 2
    second = pairs.first if pairs.second is None else pairs.second
    inside = [(half[pairs.first] == one) & (half[second] == one) for one in (0, 1)]
    if not all(part.any() for part in inside):
        raise InputError(
            f"{units} items or contexts are too few for epsilon='cross-fit'; give a number"
        )
    one, other = (_part_of(pairs, part) for part in inside)
    return one, other


def _part_of(pairs: _Pairs, part: NDArray[np.bool_]) -> _Pairs:
    second = None if pairs.second is None else pairs.second[part]
    rest = (pairs.gap[part], pairs.right[part], pairs.tied[part], pairs.share[part])
    return _Pairs(pairs.first[part], second, *rest)


def _cross_fitted(halves: tuple[_Pairs, _Pairs]) -> Statistic:
    def statistic(weights: Floats) -> Floats:
        values = np.full((len(weights), 1), np.nan)
        for i, row in enumerate(weights):
            held = [_weight(pairs, row) for pairs in halves]
            if not all(weight.any() for weight in held):
                continue
            bars = [
                float(_best(pairs, w, "calibrate")[0][0])
                for pairs, w in zip(halves, held, strict=True)
            ]
            agreed = sum(
                float(_best(pairs, w, bar)[1][0])
                for pairs, w, bar in zip(halves, held, bars[::-1], strict=True)
            )
            values[i, 0] = agreed / sum(float(weight.sum()) for weight in held)
        return values

    return statistic


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

    Args:
        metric: One value per item.
        human: The ratings of the same items.
        systems: The system that produced each item.
        kind: As in :func:`~grice.stats.correlation`.
        contexts: Context of each item, if the systems answered the same ones; contexts are
            then resampled with the replies of all systems, otherwise single items.
        level: Confidence level.
        resamples: How many bootstrap resamples.
        seed: Seed of the draws.

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
    note = None
    if count < 4:
        note = f"{counted(count, 'system bounds', 'systems bound')} no correlation"
    elif count < FEW:
        note = f"fewer than {FEW} systems: the interval is a rough guide"
    return Estimate(value, low, high, level, count, f"{NAMES[kind]} of system means, {how}",
                    note=note)  # fmt: skip


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

    drawn = resample(
        statistic, len(x), groups=groups, kind="percentile", resamples=resamples, seed=seed
    )
    value = float(statistic(np.ones((1, len(x))))[0, 0])
    return estimate(drawn, level=level, what="pairwise accuracy of systems", value=value)
