"""The standard error of Kendall's tau with ties, from each item's own pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grice.stats.inputs import Floats, Integers


def standard_error(x: Floats, y: Floats, *, tau: float, variant: str) -> float:
    """Return the standard error of tau-b or tau-c, free of any assumed distribution.

    The delta method on the per-item counts of agreeing and tied pairs (Brown and Benedetti,
    1977; Samara and Randles, 1988).

    Args:
        x: Values of one column.
        y: Values of the other.
        tau: The coefficient on these values.
        variant: ``kendall`` (tau-b) or ``kendall_c``.
    """
    n = len(x)
    agree = agreeing(x, y)
    if variant == "kendall_c":
        fewest = min(len(np.unique(x)), len(np.unique(y)))
        scale = n * n * (fewest - 1) / fewest
        influence = 2 * (agree / scale - tau / n)
    else:
        untied = [n - _ties(column) for column in (x, y)]
        total = [float(column.sum()) for column in untied]
        share = (untied[0] / total[0] + untied[1] / total[1]) / 2
        influence = 2 * (agree / math.sqrt(total[0] * total[1]) - tau * share)
    return math.sqrt(float(influence @ influence) * n / (n - 1))


def _ties(column: Floats) -> Floats:
    _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    return np.asarray(counts[codes], np.float64)


def agreeing(x: Floats, y: Floats) -> Floats:
    """Return for each item how many others agree with it in order, less those that disagree."""
    a = np.unique(x, return_inverse=True)[1].astype(np.int64)
    b = np.unique(y, return_inverse=True)[1].astype(np.int64)
    counts = _below_left(a, b) + _below_left(-a, -b) - _below_left(a, -b) - _below_left(-a, b)
    return counts.astype(np.float64)


def _below_left(a: Integers, b: Integers) -> Integers:
    """Return for each item how many others are strictly smaller in both columns.

    Sorted by ``a``, with ``b`` falling among equal ``a``, these are the earlier items with a
    smaller ``b``: counted by merging halves of doubling width, all halves of a width at once.
    """
    n = len(a)
    order = np.lexsort((-b, a))
    values = b[order] - b.min()
    span = int(values.max()) + 1
    counts = np.zeros(n, np.int64)
    place = np.arange(n)
    width = 1
    while width < n:
        pair = place // (2 * width)
        right = (place // width) % 2 == 1
        keys = pair * span + values
        left_keys = np.sort(keys[~right])
        # Smaller values of the same pair lie between the start of the pair and the own key.
        own = np.searchsorted(left_keys, keys[right], side="left")
        start = np.searchsorted(left_keys, pair[right] * span, side="left")
        counts[right] += own - start
        width *= 2
    result = np.empty(n, np.int64)
    result[order] = counts
    return result
