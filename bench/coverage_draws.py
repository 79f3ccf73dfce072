"""What the simulations of coverage.py draw, and rows of its table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grice.stats import Estimate

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Generator = np.random.Generator


class Row(NamedTuple):
    """One line of the table: what is drawn, and the interval that should hold the truth.

    A truth that takes a simulation of its own is a function, called for rows that are run.
    """

    name: str
    truth: float | Callable[[], float]
    draw: Callable[[Generator], Estimate]


def drawn_seed(rng: Generator) -> int:
    return int(rng.integers(1 << 31))


def normal_pair(rng: Generator, n: int, rho: float) -> tuple[Floats, Floats]:
    x = rng.normal(size=n)
    return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)


def rated_pair(rng: Generator, n: int, rho: float) -> tuple[Floats, Floats]:
    """A fine metric and ratings 1 to 5 with most mass at the top, as people give them."""
    x, y = normal_pair(rng, n, rho)
    return x, np.searchsorted([-1.6, -0.9, -0.2, 0.7], y) + 1.0


def clustered_pair(rng: Generator, groups: int, each: int) -> tuple[Floats, Floats, Integers]:
    """Items of one conversation share half of the variance of both columns."""
    code = np.repeat(np.arange(groups), each)
    shared = rng.normal(size=(groups, 2)) @ np.linalg.cholesky([[1, 0.5], [0.5, 1]]).T
    own = rng.normal(size=(groups * each, 2)) @ np.linalg.cholesky([[1, 0.3], [0.3, 1]]).T
    both = (shared[code] + own) / np.sqrt(2)
    return both[:, 0], both[:, 1], code


def exact(rho: float, kind: str) -> float:
    """Return the coefficient of a normal population."""
    if kind == "pearson":
        return rho
    if kind == "spearman":
        return float(6 / np.pi * np.arcsin(rho / 2))
    return float(2 / np.pi * np.arcsin(rho))
