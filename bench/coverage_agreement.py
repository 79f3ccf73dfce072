"""Rows of coverage.py: agreement of annotators, shares of pairs, areas under the curve."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from statistics import NormalDist

import numpy as np
from coverage_draws import (
    RESAMPLES,
    Floats,
    Generator,
    Row,
    drawn_seed,
    exact,
    normal_pair,
    rated_pair,
)  # fmt: skip
from coverage_means import share_row

from grice import stats
from grice.records import Triple
from grice.stats import Estimate
from grice_research.triples import AREAS, TripleRows, area


def judged(rng: Generator, items: int, missing: float) -> Floats:
    """Return ratings of four judges whose noise is as large as what they judge."""
    seen = rng.normal(size=(items, 1)) + rng.normal(size=(items, 4))
    return np.where(rng.random(seen.shape) < missing, np.nan, seen)


def agreement_rows() -> Iterator[Row]:
    for items in (30, 150):
        for interval in ("jackknife", "percentile", "bca"):
            for missing in (0.0, 0.3):
                yield alpha_row(items, missing, interval)
            yield ceiling_row(items, interval)
            yield kappa_row(items, interval)


def alpha_row(items: int, missing: float, interval: str) -> Row:
    def draw(rng: Generator) -> Estimate:
        return stats.krippendorff_alpha(
            judged(rng, items, missing), interval=interval, resamples=RESAMPLES,
            seed=drawn_seed(rng),
        )  # fmt: skip

    return Row(f"alpha interval {items} items, {missing:.0%} missing, {interval}", 0.5, draw)


def ceiling_row(items: int, interval: str) -> Row:
    def draw(rng: Generator) -> Estimate:
        return stats.ceiling(
            judged(rng, items, 0), interval=interval, resamples=RESAMPLES, seed=drawn_seed(rng)
        )

    return Row(f"ceiling {items} items, {interval}", float(np.sqrt(0.8)), draw)


def kappa_row(items: int, interval: str) -> Row:
    def draw(rng: Generator) -> Estimate:
        # Each judge answers the true class with probability 0.8, else tosses a coin.
        true = rng.integers(0, 2, items)
        a, b = (
            np.where(rng.random(items) < 0.8, true, rng.integers(0, 2, items)) for _ in range(2)
        )
        return stats.cohen_kappa(a, b, interval=interval, resamples=RESAMPLES, seed=drawn_seed(rng))

    return Row(f"cohen kappa {items} items, {interval}", 0.64, draw)


def judge_rows() -> Iterator[Row]:
    """Yield what is left of agreement: defaults alone."""
    half = float(1 / np.sqrt(2 * (1 + 1 / 3)))

    def fleiss(rng: Generator, items: int) -> Estimate:
        true = rng.integers(0, 2, (items, 1))
        guess = rng.integers(0, 2, (items, 3))
        return stats.fleiss_kappa(np.where(rng.random((items, 3)) < 0.8, true, guess).tolist())

    made: dict[str, tuple[float, Callable[[Generator, int], Estimate]]] = {
        "one judge and the rest": (
            exact(half, "spearman"), lambda rng, n: stats.leave_one_annotator_out(judged(rng, n, 0))
        ),
        "pairs of judges": (
            exact(0.5, "spearman"), lambda rng, n: stats.pairwise_agreement(judged(rng, n, 0))
        ),
        "intraclass(1,k)": (0.8, lambda rng, n: stats.intraclass(judged(rng, n, 0))),
        "reliability of a mean": (0.8, lambda rng, n: stats.reliability_of_mean(judged(rng, n, 0))),
        "fleiss kappa": (0.64, fleiss),
    }  # fmt: skip
    for items in (15, 30, 150):
        for name, (truth, drawn) in made.items():
            yield Row(
                f"{name} {items} items, jackknife",
                truth,
                partial(lambda n, f, rng: f(rng, n), items, drawn),
            )
        yield alpha_row(items, 0.0, "jackknife") if items == 15 else ceiling_row(items, "jackknife")


def pair_rows() -> Iterator[Row]:
    """Yield shares of pairs and of items: defaults and what they replaced."""
    for n in (30, 100):
        for epsilon in ("cross-fit", "calibrate"):
            for interval in ("jackknife", "percentile"):
                yield pairs_row(n, epsilon, interval)
    for groups in (10, 40):
        yield within_row(groups)
        for often in (0.5, 0.1):
            yield share_row(groups, often)
    for heads in (15, 60):
        yield area_row(heads)


@cache
def best_accuracy() -> float:
    """Return the share of pairs that the best tie bar gets right in the population."""
    rng = np.random.default_rng(4)
    shares = []
    for _ in range(20):
        x, y = rated_pair(rng, 1000, 0.5)
        a, b = np.triu_indices(1000, 1)
        order = np.argsort(np.abs(x[a] - x[b]))
        people = np.sign(y[a] - y[b])[order]
        right = np.sign(x[a] - x[b])[order] == people
        agreed = right.sum() + np.cumsum((people == 0).astype(int) - right)
        shares.append(agreed.max() / len(a))
    return float(np.mean(shares))


def pairs_row(n: int, epsilon: str, interval: str) -> Row:
    def draw(rng: Generator) -> Estimate:
        x, y = rated_pair(rng, n, 0.5)
        return stats.pairwise_accuracy(
            x, y, epsilon=epsilon, interval=interval, resamples=300, seed=drawn_seed(rng)
        ).accuracy  # fmt: skip

    return Row(f"pairwise accuracy {n} items, {epsilon}, {interval}", best_accuracy, draw)


def within_row(contexts: int) -> Row:
    def draw(rng: Generator) -> Estimate:
        x, y = normal_pair(rng, contexts * 8, 0.5)
        return stats.correlation_within(x, y, np.repeat(np.arange(contexts), 8))

    # The expectation of Spearman's coefficient of eight normal items.
    truth = 6 / (np.pi * 9) * (np.arcsin(0.5) + 6 * np.arcsin(0.25))
    return Row(f"spearman within {contexts} contexts of 8, student", float(truth), draw)


def area_row(heads: int) -> Row:
    def draw(rng: Generator) -> Estimate:
        head = np.repeat(np.arange(heads), 4)
        label = rng.random(4 * heads) < 0.5
        scores = 0.7 * rng.normal(size=heads)[head] + rng.normal(size=4 * heads) + label
        triples = tuple(Triple(str(number), "xWant", "tail") for number in head)
        return area(AREAS[0], scores.tolist(), TripleRows(triples, tuple(map(bool, label))))

    spread = np.sqrt(2 * (0.49 + 1))
    return Row(
        f"area under the curve, {heads} heads of 4, jackknife", NormalDist().cdf(1 / spread), draw
    )
