"""How often one of two wins where both are of one length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grice.errors import InputError
from grice.numeric import logistic
from grice.stats.resample import estimate as estimated
from grice.stats.resample import resample
from grice_research.training.logistic import fit_logistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.stats.estimate import Estimate
    from grice.stats.inputs import Floats

__all__ = ["length_controlled"]

RIDGE = 0.01
"""Penalty on what a standard deviation of length adds to the log odds."""


def length_controlled(won: Sequence[float], sizes: Sequence[tuple[int, int]]) -> Estimate:
    """Return the share of wins that a logistic regression gives two texts of one length.

    The log odds of a win are a constant and a multiple of tanh of the standardised difference in
    log length, as in AlpacaEval 2 (Dubois et al., 2024) without its terms of the instruction; the
    share is that of the constant. Items are left out in turn for the interval.

    Args:
        won: 1, 0, or 0.5 for a tie.
        sizes: Lengths of the one and the other, 0 or more.

    Raises:
        InputError: If lengths differ, or there are fewer than two items.
    """
    if len(won) != len(sizes) or len(won) < 2:
        raise InputError(f"{len(won)} wins, {len(sizes)} lengths: two items at least, one each")
    labels = np.array(won, np.float64)
    gaps = np.array([np.log1p(own) - np.log1p(theirs) for own, theirs in sizes])
    longer = np.tanh(gaps / (gaps.std() or 1.0))[:, None]

    def statistic(rows: Floats) -> Floats:
        shares = []
        for weights in rows:
            fitted = fit_logistic(
                longer, labels, penalties=RIDGE, weights=weights / max(weights.mean(), 1e-9)
            )
            shares.append([float(logistic(np.array([fitted.bias]))[0])])
        return np.array(shares)

    drawn = resample(statistic, len(labels), kind="jackknife")
    return estimated(drawn, what="share of wins at one length", bounded="share")
