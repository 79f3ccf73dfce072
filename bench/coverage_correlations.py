"""Rows of coverage.py: correlations, alone and less one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np
from coverage_means import (
    Floats,
    Generator,
    Row,
    clustered_pair,
    exact,
    normal_pair,
    rated_pair,
)

from grice import stats
from grice.stats import Estimate


def skewed_pair(rng: Generator, n: int, rho: float) -> tuple[Floats, Floats]:
    x, y = normal_pair(rng, n, rho)
    return np.exp(x), np.exp(y)


def half_skewed_pair(rng: Generator, n: int, rho: float) -> tuple[Floats, Floats]:
    x, y = normal_pair(rng, n, rho)
    return np.exp(x), y


def heavy_pair(rng: Generator, n: int, rho: float) -> tuple[Floats, Floats]:
    """Student's t with five degrees of freedom."""
    x, y = normal_pair(rng, n, rho)
    scale = np.sqrt(rng.chisquare(5, n) / 5)
    return x / scale, y / scale


PAIRS = {
    "normal": normal_pair,
    "skewed": skewed_pair,
    "one column skewed": half_skewed_pair,
    "heavy": heavy_pair,
    "rated 1-5": rated_pair,
}


def population(pair: Callable[..., tuple[Floats, Floats]], rho: float, kind: str) -> float:
    """Return the coefficient of the population, from two million draws in parts."""
    rng = np.random.default_rng(99)
    values = [stats.correlation(*pair(rng, 50_000, rho), kind=kind).value for _ in range(40)]  # type: ignore[arg-type]
    return float(np.mean(values))


@cache
def truth_of(shape: str, rho: float, kind: str) -> float:
    """Return the coefficient of the population, from a formula where there is one."""
    if shape == "normal" or (shape in ("skewed", "one column skewed") and kind != "pearson"):
        return exact(rho, kind)
    if shape == "skewed":
        return float((np.exp(rho) - 1) / (np.e - 1))
    if shape == "one column skewed":
        return float(rho / np.sqrt(np.e - 1))
    if shape == "heavy" and kind == "pearson":
        return rho
    return population(PAIRS[shape], rho, kind)


SETTINGS: dict[str, dict[float, tuple[int, ...]]] = {
    "normal": {0.0: (10, 25), 0.5: (6, 10, 25, 100), 0.9: (25,)},
    "skewed": {0.5: (25, 100, 400)},
    "one column skewed": {0.5: (25, 100)},
    "heavy": {0.5: (25, 100)},
    "rated 1-5": {0.0: (25,), 0.5: (10, 25, 100), 0.9: (25,)},
}


def correlation_rows() -> Iterator[Row]:
    for shape, sizes in SETTINGS.items():
        for rho in sizes:
            for kind in ("pearson", "spearman", "kendall"):
                truth = partial(truth_of, shape, rho, kind)
                for n in sizes[rho]:
                    yield correlation_row(shape, rho, kind, n, truth)


def correlation_row(shape: str, rho: float, kind: str, n: int, truth: Callable[[], float]) -> Row:
    def draw(rng: Generator) -> Estimate:
        return stats.correlation(*PAIRS[shape](rng, n, rho), kind=kind)

    interval = "jackknife" if kind == "pearson" else "analytic"
    return Row(f"{kind} {shape} rho {rho:g} n {n}, {interval}", truth, draw)


def clustered_rows() -> Iterator[Row]:
    for kind in ("pearson", "spearman"):
        for groups, each in ((6, 6), (15, 6), (60, 6), (200, 3)):
            yield clustered_row(kind, groups, each, "jackknife")
            yield clustered_row(kind, groups, each, "items as independent")


def clustered_row(kind: str, groups: int, each: int, way: str) -> Row:
    def draw(rng: Generator) -> Estimate:
        x, y, code = clustered_pair(rng, groups, each)
        return stats.correlation(x, y, kind=kind, groups=code if way == "jackknife" else None)

    return Row(f"{kind} clustered {groups} x {each}, {way}", exact(0.4, kind), draw)


def partial_rows() -> Iterator[Row]:
    yield partial_row(25)
    yield partial_row(100)


def partial_row(n: int) -> Row:
    mix = np.linalg.cholesky([[1, 0.5, 0.4], [0.5, 1, 0.6], [0.4, 0.6, 1]]).T

    def draw(rng: Generator) -> Estimate:
        x, y, z = (rng.normal(size=(n, 3)) @ mix).T
        return stats.partial_correlation(x, y, [z])

    xy, xz, yz = (exact(rho, "spearman") for rho in (0.5, 0.4, 0.6))
    truth = (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))
    return Row(f"partial spearman n {n}, analytic", float(truth), draw)


TRIPLE = np.linalg.cholesky([[1, 0.5, 0.3], [0.5, 1, 0.6], [0.3, 0.6, 1]]).T
"""Mixes normal numbers into ratings and two metrics that correlate with each other."""


def difference_rows() -> Iterator[Row]:
    for n in (30, 100):
        for kind in ("pearson", "spearman"):
            yield difference_row(kind, n)
    for groups in (8, 15, 60):
        yield clustered_difference_row(groups)


def difference_row(kind: str, n: int) -> Row:
    def draw(rng: Generator) -> Estimate:
        human, first, second = (rng.normal(size=(n, 3)) @ TRIPLE).T
        metrics = {"first": first, "second": second}
        compared = stats.compare_correlations(metrics, human, kind=kind, permutations=100)
        return compared.comparisons[0].difference

    truth = exact(0.5, kind) - exact(0.3, kind)
    return Row(f"difference of {kind} n {n}, jackknife", truth, draw)


def clustered_difference_row(groups: int) -> Row:
    def draw(rng: Generator) -> Estimate:
        code = np.repeat(np.arange(groups), 6)
        shared, own = rng.normal(size=(groups, 3)) @ TRIPLE, rng.normal(size=(6 * groups, 3))
        human, first, second = ((shared[code] + own @ TRIPLE) / np.sqrt(2)).T
        compared = stats.compare_correlations(
            {"first": first, "second": second}, human, kind="pearson", groups=code,
            permutations=100,
        )  # fmt: skip
        return compared.comparisons[0].difference

    return Row(f"difference of pearson clustered {groups} x 6, jackknife", 0.2, draw)
