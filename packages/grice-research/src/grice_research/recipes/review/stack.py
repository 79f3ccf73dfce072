"""Logistic regression with weights of a fixed sign, and covariates that are controlled for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RIDGE = 0.01
"""Of the weights of witnesses; controls are not held back."""


class Fit(NamedTuple):
    """Weights of witnesses, at least 0, and of controls."""

    weights: Floats
    controls: Floats


def standardised(columns: Floats, centers: Floats, scales: Floats) -> Floats:
    """Return how bad each witness finds each turn, in standard deviations; 0 where it is silent."""
    return np.nan_to_num((centers - columns) / scales)


def fit(
    witnesses: Floats, controls: Floats, flawed: Floats, weight: Floats, equality: float = 0.0
) -> Fit:
    """Return the weights that maximise the likelihood of the shares of people who marked a turn."""
    count = witnesses.shape[1]
    design = np.concatenate([witnesses, controls], axis=1)
    share = weight / weight.sum()

    def loss(guess: Floats) -> tuple[float, Floats]:
        odds, own = design @ guess, guess[:count]
        apart = own - own.mean()
        value = share @ (np.logaddexp(0, odds) - flawed * odds)
        value += (RIDGE * own @ own + equality * apart @ apart) / 2
        slope = design.T @ (share * (expit(odds) - flawed))
        slope[:count] += RIDGE * own + equality * apart
        return float(value), slope

    bounds = [(0.0, None)] * count + [(None, None)] * controls.shape[1]
    fitted = minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x
    return Fit(fitted[:count], fitted[count:])
