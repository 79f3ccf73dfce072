"""Rows of coverage.py: agreement of annotators, shares of items, areas under the curve."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import NormalDist

import numpy as np
from coverage_means import Floats, Generator, Row, exact, normal_pair, share_row

from grice import stats
from grice.data import Triple
from grice.stats import Estimate
from grice_research.benches.cskb_population import AREAS, TripleRows, area


def judged(rng: Generator, items: int, missing: float) -> Floats:
    """Return ratings of four judges whose noise is as large as what they judge."""
    seen = rng.normal(size=(items, 1)) + rng.normal(size=(items, 4))
    return np.where(rng.random(seen.shape) < missing, np.nan, seen)


def agreement_rows() -> Iterator[Row]:
    for items in (30, 150):
        yield alpha_row(items, 0.0)
        yield alpha_row(items, 0.3)
        yield ceiling_row(items)
        yield kappa_row(items)


def alpha_row(items: int, missing: float) -> Row:
    def draw(rng: Generator) -> Estimate:
        return stats.krippendorff_alpha(judged(rng, items, missing))

    return Row(f"alpha interval {items} items, {missing:.0%} missing, jackknife", 0.5, draw)


def ceiling_row(items: int) -> Row:
    def draw(rng: Generator) -> Estimate:
        return stats.ceiling(judged(rng, items, 0))

    return Row(f"ceiling {items} items, jackknife", float(np.sqrt(0.8)), draw)


def kappa_row(items: int) -> Row:
    def draw(rng: Generator) -> Estimate:
        # Each judge answers the true class with probability 0.8, else tosses a coin.
        true = rng.integers(0, 2, items)
        a, b = (
            np.where(rng.random(items) < 0.8, true, rng.integers(0, 2, items)) for _ in range(2)
        )
        return stats.cohen_kappa(a, b)

    return Row(f"cohen kappa {items} items, jackknife", 0.64, draw)


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
        "fleiss kappa": (0.64, fleiss),
    }  # fmt: skip
    for items in (15, 30, 150):
        for name, (truth, drawn) in made.items():
            yield Row(
                f"{name} {items} items, jackknife",
                truth,
                partial(lambda n, f, rng: f(rng, n), items, drawn),
            )
        yield alpha_row(items, 0.0) if items == 15 else ceiling_row(items)


def item_rows() -> Iterator[Row]:
    """Yield correlations within contexts, shares of items, and areas under the curve."""
    for groups in (10, 40):
        yield within_row(groups)
        for often in (0.5, 0.1):
            yield share_row(groups, often)
    for heads in (15, 60):
        yield area_row(heads)


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
