"""Rows of coverage.py: draws for all, means, shares, means helped by a metric, bands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grice import stats
from grice.stats import Estimate
from grice.stats.comparison import proportion

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


def mean_rows() -> Iterator[Row]:
    for n in (10, 40, 200):
        yield mean_row(n, skewed=True)
        yield mean_row(n, skewed=False)
    for groups in (8, 20, 60):
        yield clustered_mean_row(groups, skewed=False)
        yield clustered_mean_row(groups, skewed=True)
    for n in (3, 5, 10, 20, 50):
        for often in (0.5, 0.8, 0.95, None):
            yield bounded_mean_row(n, often)


def bounded_mean_row(n: int, often: float | None) -> Row:
    """Return the mean of hits and misses, or of scores most of which are low (Beta(0.5, 4))."""

    def draw(rng: Generator) -> Estimate:
        values = rng.beta(0.5, 4, n) if often is None else (rng.random(n) < often).astype(float)
        return stats.mean(values, bounds=(0, 1))

    shape = "low scores" if often is None else f"share {often}"
    return Row(f"mean of 0 to 1, {shape}, n {n}, hall, bounds", often or 0.5 / 4.5, draw)


def mean_row(n: int, *, skewed: bool) -> Row:
    def draw(rng: Generator) -> Estimate:
        values = rng.exponential(size=n) if skewed else rng.normal(size=n)
        return stats.mean(values)

    return Row(f"mean {'skewed' if skewed else 'normal'} n {n}, hall", float(skewed), draw)


def clustered_mean_row(groups: int, *, skewed: bool) -> Row:
    def draw(rng: Generator) -> Estimate:
        code = np.repeat(np.arange(groups), rng.integers(1, 8, groups))
        drawn = rng.exponential if skewed else rng.normal
        values = drawn(size=groups)[code] + drawn(size=len(code))
        return stats.mean(values, groups=code)

    shape = "skewed clustered" if skewed else "clustered"
    return Row(f"mean {shape} {groups} x 1-7, hall", 2.0 * skewed, draw)


def share_row(groups: int, often: float) -> Row:
    def draw(rng: Generator) -> Estimate:
        sizes = rng.integers(1, 8, groups)
        each = rng.beta(2 * often, 2 * (1 - often), groups)
        share = proportion(rng.binomial(sizes, each).tolist(), sizes.tolist())
        assert share is not None
        return share

    return Row(f"share {often:g} in {groups} conversations of 1-7, Wilson", often, draw)


def inference_rows() -> Iterator[Row]:
    for n in (15, 40, 150):
        yield powered_row(n)
        yield clustered_powered_row(n)
        yield bounded_powered_row(n)


def powered_row(n: int) -> Row:
    def draw(rng: Generator) -> Estimate:
        x, y = normal_pair(rng, n + 2000, 0.7)
        return stats.prediction_powered_mean(y[:n], x[:n] / 5, x[n:] / 5).mean

    return Row(f"prediction-powered mean, {n} labels of 2,000", 0.0, draw)


def bounded_powered_row(n: int) -> Row:
    """Return the mean of marks of 0 and 1, nine in ten of which are 1."""

    def draw(rng: Generator) -> Estimate:
        x, y = normal_pair(rng, n + 2000, 0.7)
        marks = (y < NormalDist().inv_cdf(0.9)).astype(float)
        return stats.prediction_powered_mean(marks[:n], -x[:n], -x[n:], bounds=(0, 1)).mean

    return Row(f"prediction-powered share 0.9, {n} labels of 2,000, bounds", 0.9, draw)


def clustered_powered_row(conversations: int) -> Row:
    def draw(rng: Generator) -> Estimate:
        x, y, code = clustered_pair(rng, conversations + 300, 3)
        cut = 3 * conversations
        return stats.prediction_powered_mean(
            y[:cut], x[:cut], x[cut:], groups=code[:cut], unlabelled_groups=code[cut:]
        ).mean

    return Row(f"prediction-powered mean, {conversations} conversations of 300", 0.0, draw)


def band_rows(runs: int) -> Iterator[tuple[str, float, float]]:
    """Yield name, promise and share of new items inside the band."""
    for n, grouped in ((40, False), (200, False), (40, True), (200, True)):
        rng = np.random.default_rng(5)
        inside = []
        for _ in range(runs):
            if grouped:
                code = np.repeat(np.arange(n // 4 + 1), 4)
                shift = rng.normal(size=n // 4 + 1)[code]
            else:
                code, shift = np.arange(n + 1), np.zeros(n + 1)
            x = rng.normal(size=len(code))
            y = np.clip(np.round(3 + x + 0.5 * shift + 0.7 * rng.normal(size=len(code))), 1, 5)
            new = code == code[-1]
            fit = stats.fit_human_scale(
                x[~new], y[~new], scale=(1, 5), groups=code[~new] if grouped else None,
                seed=drawn_seed(rng),
            )  # fmt: skip
            band = fit.at(float(x[-1]))
            inside.append(band.low <= y[-1] <= band.high)
        units = f"{n // 4} conversations" if grouped else f"{n} items"
        yield f"band of the human scale, {units}", 0.9, float(np.mean(inside))
