"""Shares of items with an interval that stays honest at 0 and 1 and among clustered items."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from grice.stats.clusters import student_quantile, wilson_interval
from grice.stats.estimate import Estimate, few_units

if TYPE_CHECKING:
    from collections.abc import Sequence


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
