"""How often a metric puts two replies in the order that people do."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from grice.errors import InputError
from grice.stats.estimate import Estimate
from grice.stats.inputs import (
    Floats,
    Groups,
    Integers,
    Values,
    check_level,
    complete_items,
)
from grice.stats.resample import ResamplingKind, Sampling, resampled_estimate

if TYPE_CHECKING:
    from grice.stats.resample import Statistic

__all__ = ["PairwiseAccuracy", "pairwise_accuracy"]

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
    so flatters. Both choose again on each resample. A number is an epsilon from other data.

    Args:
        metric: One value per item.
        human: The ratings of the same items.
        contexts: Compare only replies to the same context, and average over contexts, which
            are then what is resampled. Without them all items are compared with each other.
        epsilon: The largest metric difference that is a tie, ``cross-fit`` or ``calibrate``.
        interval, level, resamples: As in :func:`~grice.stats.correlation`.
        seed: Seed of the draws and of the halves.

    Raises:
        InputError: If there is no pair, no pair in one of the halves, or more than 20 million.
    """
    check_level(level)
    if epsilon not in CHOSEN and not (isinstance(epsilon, int | float) and epsilon >= 0):
        raise InputError(
            f"epsilon={epsilon!r}: a number from 0, 'cross-fit' or 'calibrate' is needed"
        )
    (x, y), codes, _ = complete_items({"metric": metric, "human": human}, contexts)
    pairs, units, n = _all_pairs(x, y, codes)
    what = "pairwise accuracy with ties"
    if epsilon == "cross-fit":
        statistic = _cross_fitted(_halves(pairs, units, seed))
        what += f", epsilon of each half from the other, halves drawn with seed {seed}"
    else:
        statistic = _accuracy(pairs, epsilon)
        if epsilon == "calibrate":
            what += ", epsilon chosen on these very pairs"
    used = float(_best(pairs, pairs.share[None, :], epsilon)[0][0])
    total = float(pairs.share.sum())
    accuracy = resampled_estimate(
        statistic, units, what, Sampling(interval, level, resamples, seed), items=n, bounded="share"
    )
    if codes is not None:
        accuracy = _over_contexts(accuracy, units)
    return PairwiseAccuracy(
        accuracy,
        used,
        epsilon == "calibrate",
        len(pairs.gap),
        float(pairs.tied @ pairs.share) / total,
        float((pairs.gap <= used) @ pairs.share) / total,
    )


def _over_contexts(accuracy: Estimate, units: int) -> Estimate:
    return msgspec.structs.replace(
        accuracy,
        method=accuracy.method.replace("of items", "of contexts").replace(
            "over items", "over contexts"
        ),
        groups=units,
        note=None if accuracy.note is None else accuracy.note.replace("items", "contexts"),
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
    inside = [(half[pairs.first] == first) & (half[second] == first) for first in (0, 1)]
    if not all(part.any() for part in inside):
        raise InputError(
            f"{units} items or contexts are too few for epsilon='cross-fit'; give a number"
        )
    first, other = (_part_of(pairs, part) for part in inside)
    return first, other


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
