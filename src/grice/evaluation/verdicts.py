"""Which side of a threshold an estimate lies on, as far as its interval tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from grice.stats.estimate import Estimate

__all__ = ["Side", "side_of"]

Side: TypeAlias = Literal["above", "below", "either"]
"""The whole interval lies above the threshold, below it, or it holds the threshold."""


def side_of(estimate: Estimate | None, threshold: float) -> Side | None:
    """Return the side of an estimate; None if there is none, or no interval of it."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return None
    if estimate.low > threshold:
        return "above"
    return "below" if estimate.high < threshold else "either"
