"""Which printed wins survive an interval, when only the figures were printed.

Two correlations with the same ratings differ more or less surely as the two metrics correlate with
each other, which tables do not print. So the difference is bounded from both sides: with metrics
that have nothing in common (the widest interval) and with metrics that largely agree.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from grice.errors import InputError
from grice.stats import zou_interval
from grice.stats.estimate import FEW

__all__ = ["Survives", "survives"]

Survives: TypeAlias = Literal["yes", "no", "open"]
"""``yes``: whatever the two have in common. ``no``: not even if they largely agree. ``open``: it
depends on what they have in common, which only their scores would tell."""

ALIKE = 0.8
"""How far two metrics are taken to agree at most."""


def survives(best: float, other: float, n: int, between: float | None = None) -> Survives:
    """Return whether a correlation is surely above another one with the same ratings.

    By the interval of Zou (2007) at 95 %, which is no guide below ten items: those say ``no``.

    Args:
        best: The higher correlation.
        other: The lower one.
        n: Number of items.
        between: Correlation of the two metrics, if their scores are at hand.
    """
    if n < FEW:
        return "no"
    if between is not None:
        return "yes" if _apart(best, other, between, n) else "no"
    if _apart(best, other, max(0.0, _feasible(best, other)[0]), n):
        return "yes"
    return "open" if _apart(best, other, min(ALIKE, _feasible(best, other)[1]), n) else "no"


def _feasible(one: float, other: float) -> tuple[float, float]:
    """Return the least and greatest correlation that two such metrics can have."""
    room = math.sqrt(max(0.0, (1 - one**2) * (1 - other**2)))
    return one * other - room, one * other + room


def _apart(best: float, other: float, between: float, n: int) -> bool:
    try:
        low = zou_interval(best, other, between, n).low
    except InputError:
        return False  # too few systems, or a correlation of 1 of two of them
    return low is not None and low > 0
