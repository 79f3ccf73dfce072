"""How often the intervals of grice.stats hold the truth, by simulation.

    python bench/coverage.py                    everything, about an hour on one core
    python bench/coverage.py --runs 400         a quick look
    python bench/coverage.py --only spearman    the rows whose name holds this word
    python bench/coverage.py --only "alpha&jackknife"    or all of these

Each row draws data of a known truth many times and counts the intervals that hold it. An
interval at 95 % that keeps its promise holds it in 93.6 to 96.4 % of 1,000 runs and in 94.3 to
95.7 % of 4,000, chance allowed for. With the full number of runs
the rows go to the table in bench/coverage.md.
"""

from __future__ import annotations

import argparse
import itertools
import time
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grice import stats
from grice.errors import InputError
from grice.evaluation.proportions import proportion
from grice.evaluation.triples import AREAS, TripleRows, area
from grice.records import Triple
from grice.stats import Estimate

HERE = Path(__file__).parent
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Generator = np.random.Generator
RUNS = 1000
LEAST = 250
"""With fewer runs the table is left as it is."""
RESAMPLES = 600
CUT = "cut off at 0 and 1"
BOOTSTRAPS = ("percentile", "bca")
"""Rows that end so are run a quarter as often as the others."""


class Row(NamedTuple):
    """One line of the table: what is drawn, and the interval that should hold the truth.

    A truth that takes a simulation of its own is a function, called for rows that are run.
    """

    name: str
    truth: float | Callable[[], float]
    draw: Callable[[Generator], Estimate]


def normal_pair(rng: Generator, n: int, rho: float) -> tuple[Floats, Floats]:
    x = rng.normal(size=n)
    return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)


def skewed_pair(rng: Generator, n: int, rho: float) -> tuple[Floats, Floats]:
    x, y = normal_pair(rng, n, rho)
    return np.exp(x), np.exp(y)


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


def exact(rho: float, kind: str) -> float:
    """Return the coefficient of a normal population."""
    if kind == "pearson":
        return rho
    if kind == "spearman":
        return float(6 / np.pi * np.arcsin(rho / 2))
    return float(2 / np.pi * np.arcsin(rho))


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
                    intervals = ["analytic", "jackknife"]
                    listed = shape in ("normal", "skewed", "rated 1-5") and rho == 0.5
                    if listed and 6 < n < 400 and (kind != "kendall" or n == 25):
                        intervals += ["percentile", "bca"]
                    for interval in intervals:
                        yield correlation_row(shape, rho, kind, n, interval, truth)


def correlation_row(
    shape: str, rho: float, kind: str, n: int, interval: str, truth: Callable[[], float]
) -> Row:
    def draw(rng: Generator) -> Estimate:
        x, y = PAIRS[shape](rng, n, rho)
        return stats.correlation(
            x, y, kind=kind, interval=interval, resamples=RESAMPLES,
            seed=drawn_seed(rng),
        )  # fmt: skip

    return Row(f"{kind} {shape} rho {rho:g} n {n}, {interval}", truth, draw)


def drawn_seed(rng: Generator) -> int:
    return int(rng.integers(1 << 31))


def clustered_rows() -> Iterator[Row]:
    for kind in ("pearson", "spearman"):
        for groups, each in ((6, 6), (15, 6), (60, 6), (200, 3)):
            for interval in ("jackknife", "percentile", "bca", "items as independent"):
                yield clustered_row(kind, groups, each, interval)


def clustered_row(kind: str, groups: int, each: int, interval: str) -> Row:
    def draw(rng: Generator) -> Estimate:
        x, y, code = clustered_pair(rng, groups, each)
        if interval == "items as independent":
            return stats.correlation(x, y, kind=kind)
        return stats.correlation(
            x, y, kind=kind, groups=code, interval=interval, resamples=RESAMPLES,
            seed=drawn_seed(rng),
        )  # fmt: skip

    return Row(f"{kind} clustered {groups} x {each}, {interval}", exact(0.4, kind), draw)


def partial_rows() -> Iterator[Row]:
    for n in (25, 100):
        for interval in ("analytic", "jackknife", "bca"):
            yield partial_row(n, interval)


def partial_row(n: int, interval: str) -> Row:
    mix = np.linalg.cholesky([[1, 0.5, 0.4], [0.5, 1, 0.6], [0.4, 0.6, 1]]).T

    def draw(rng: Generator) -> Estimate:
        x, y, z = (rng.normal(size=(n, 3)) @ mix).T
        return stats.partial_correlation(
            x, y, [z], kind="pearson", interval=interval, resamples=RESAMPLES,
            seed=drawn_seed(rng),
        )  # fmt: skip

    truth = (0.5 - 0.4 * 0.6) / np.sqrt((1 - 0.16) * (1 - 0.36))
    return Row(f"partial pearson n {n}, {interval}", float(truth), draw)


def mean_rows() -> Iterator[Row]:
    for interval in ("hall", "student", "jackknife", "percentile", "bca"):
        for n in (10, 40, 200):
            yield mean_row(n, interval, skewed=True)
        for groups in (8, 20, 60):
            yield clustered_mean_row(groups, interval)
    for n in (10, 40):
        yield mean_row(n, "hall", skewed=False)
        yield mean_row(n, "student", skewed=False)
    for groups in (8, 20, 60):
        for interval in ("hall", "student"):
            yield clustered_mean_row(groups, interval, skewed=True)
    for way in ("hall, bounds", f"hall, {CUT}"):
        for n in (3, 5, 10, 20, 50):
            yield bounded_mean_row(n, way, often=0.5)
            yield bounded_mean_row(n, way, often=0.8)
            yield bounded_mean_row(n, way, often=0.95)
            yield bounded_mean_row(n, way, often=None)


def bounded_mean_row(n: int, way: str, *, often: float | None) -> Row:
    """Return the mean of hits and misses, or of scores most of which are low (Beta(0.5, 4))."""

    def draw(rng: Generator) -> Estimate:
        values = rng.beta(0.5, 4, n) if often is None else (rng.random(n) < often).astype(float)
        if way == "hall, bounds":
            return stats.mean(values, bounds=(0, 1))
        found = stats.mean(values)
        return Estimate(found.value, max(0.0, found.low or 0.0), min(1.0, found.high or 0.0), 0.95,
                        n, found.method)  # fmt: skip

    shape = "low scores" if often is None else f"share {often}"
    return Row(f"mean of 0 to 1, {shape}, n {n}, {way}", often or 0.5 / 4.5, draw)


def mean_row(n: int, interval: str, *, skewed: bool) -> Row:
    def draw(rng: Generator) -> Estimate:
        values = rng.exponential(size=n) if skewed else rng.normal(size=n)
        return stats.mean(values, interval=interval, resamples=RESAMPLES, seed=drawn_seed(rng))

    return Row(f"mean {'skewed' if skewed else 'normal'} n {n}, {interval}", float(skewed), draw)


def clustered_mean_row(groups: int, interval: str, *, skewed: bool = False) -> Row:
    def draw(rng: Generator) -> Estimate:
        code = np.repeat(np.arange(groups), rng.integers(1, 8, groups))
        drawn = rng.exponential if skewed else rng.normal
        values = drawn(size=groups)[code] + drawn(size=len(code))
        return stats.mean(
            values, groups=code, interval=interval, resamples=RESAMPLES, seed=drawn_seed(rng)
        )

    shape = "skewed clustered" if skewed else "clustered"
    return Row(f"mean {shape} {groups} x 1-7, {interval}", 2.0 * skewed, draw)


TRIPLE = np.linalg.cholesky([[1, 0.5, 0.3], [0.5, 1, 0.6], [0.3, 0.6, 1]]).T
"""Mixes normal numbers into ratings and two metrics that correlate with each other."""


def difference_rows() -> Iterator[Row]:
    for n in (30, 100):
        for kind in ("pearson", "spearman"):
            for interval in ("jackknife", "percentile", "bca"):
                yield difference_row(kind, n, interval)
        yield zou_row(n)
    for groups in (8, 15, 60):
        for interval in ("jackknife", "percentile", "bca"):
            yield clustered_difference_row(groups, interval)


def difference_row(kind: str, n: int, interval: str) -> Row:
    def draw(rng: Generator) -> Estimate:
        human, one, other = (rng.normal(size=(n, 3)) @ TRIPLE).T
        compared = stats.compare_correlations(
            {"one": one, "other": other}, human, kind=kind, interval=interval,
            resamples=RESAMPLES, permutations=100, seed=drawn_seed(rng),
        )  # fmt: skip
        return compared.comparisons[0].difference

    truth = exact(0.5, kind) - exact(0.3, kind)
    return Row(f"difference of {kind} n {n}, {interval}", truth, draw)


def clustered_difference_row(groups: int, interval: str) -> Row:
    def draw(rng: Generator) -> Estimate:
        code = np.repeat(np.arange(groups), 6)
        shared, own = rng.normal(size=(groups, 3)) @ TRIPLE, rng.normal(size=(6 * groups, 3))
        human, one, other = ((shared[code] + own @ TRIPLE) / np.sqrt(2)).T
        compared = stats.compare_correlations(
            {"one": one, "other": other}, human, kind="pearson", groups=code, interval=interval,
            resamples=RESAMPLES, permutations=100, seed=drawn_seed(rng),
        )  # fmt: skip
        return compared.comparisons[0].difference

    return Row(f"difference of pearson clustered {groups} x 6, {interval}", 0.2, draw)


def zou_row(n: int) -> Row:
    def draw(rng: Generator) -> Estimate:
        r = np.corrcoef((rng.normal(size=(n, 3)) @ TRIPLE).T)
        return stats.zou_interval(r[0, 1], r[0, 2], r[1, 2], n)

    return Row(f"difference of pearson n {n}, Zou", 0.2, draw)


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
        for name, (truth, found) in made.items():
            yield Row(
                f"{name} {items} items, jackknife",
                truth,
                partial(lambda n, f, rng: f(rng, n), items, found),
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
    found = []
    for _ in range(20):
        x, y = rated_pair(rng, 1000, 0.5)
        a, b = np.triu_indices(1000, 1)
        order = np.argsort(np.abs(x[a] - x[b]))
        people = np.sign(y[a] - y[b])[order]
        right = np.sign(x[a] - x[b])[order] == people
        agreed = right.sum() + np.cumsum((people == 0).astype(int) - right)
        found.append(agreed.max() / len(a))
    return float(np.mean(found))


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


def share_row(groups: int, often: float) -> Row:
    def draw(rng: Generator) -> Estimate:
        sizes = rng.integers(1, 8, groups)
        each = rng.beta(2 * often, 2 * (1 - often), groups)
        found = proportion(rng.binomial(sizes, each).tolist(), sizes.tolist())
        assert found is not None
        return found

    return Row(f"share {often:g} in {groups} conversations of 1-7, Wilson", often, draw)


def area_row(heads: int) -> Row:
    def draw(rng: Generator) -> Estimate:
        head = np.repeat(np.arange(heads), 4)
        label = rng.random(4 * heads) < 0.5
        scores = 0.7 * rng.normal(size=heads)[head] + rng.normal(size=4 * heads) + label
        triples = tuple(Triple(str(one), "xWant", "tail") for one in head)
        return area(AREAS[0], scores.tolist(), TripleRows(triples, tuple(map(bool, label))))

    spread = np.sqrt(2 * (0.49 + 1))
    return Row(
        f"area under the curve, {heads} heads of 4, jackknife", NormalDist().cdf(1 / spread), draw
    )


def inference_rows() -> Iterator[Row]:
    for n in (15, 40, 150):
        yield powered_row(n)
        yield clustered_powered_row(n)


def powered_row(n: int) -> Row:
    def draw(rng: Generator) -> Estimate:
        x, y = normal_pair(rng, n + 2000, 0.7)
        return stats.prediction_powered_mean(y[:n], x[:n] / 5, x[n:] / 5).mean

    return Row(f"prediction-powered mean, {n} labels of 2,000", 0.0, draw)


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


def alarm_rows(runs: int, only: str) -> Iterator[tuple[str, float, float]]:
    """Yield name, promise and share of tests that tell two equally good metrics apart."""
    mix = np.linalg.cholesky([[1, 0.5, 0.5], [0.5, 1, 0.6], [0.5, 0.6, 1]]).T
    for test in ("permutation", "williams"):
        for shape in ("normal", "log-normal"):
            for n in (20, 60):
                name = f"false alarms of {test}, Pearson, {shape}, n {n}"
                if only not in name:
                    continue
                rng = np.random.default_rng(zlib.crc32(name.encode()))
                alarms = 0
                for _ in range(runs):
                    human, a, b = (rng.normal(size=(n, 3)) @ mix).T
                    if shape == "log-normal":
                        human, a, b = np.exp(human), np.exp(a), np.exp(b)
                    found = stats.compare_correlations(
                        {"a": a, "b": b}, human, kind="pearson", test=test, permutations=400,
                        resamples=100, interval="percentile",
                    )  # fmt: skip
                    alarms += found.comparisons[0].p_value <= 0.05
                yield name, 0.05, alarms / runs


def merged(lines: list[str]) -> str:
    """Return the table in bench/coverage.md with these rows in the place of those before."""
    path = HERE / "coverage.md"
    rows = {}
    for line in [*(path.read_text("utf-8").splitlines() if path.is_file() else ()), *lines]:
        if line.startswith("| ") and not line.startswith("| interval"):
            rows[line.split(" | ")[0].removesuffix(DEFAULT)] = line
    defaults = [line for line in rows.values() if line.split(" | ")[0].endswith(DEFAULT)]
    others = [line for line in rows.values() if line not in defaults]
    parts = ("", "## Defaults", "", *TABLE, *defaults, "", "## Others", "", *TABLE, *others)
    return "\n".join([*HEAD, *parts]) + "\n"


def marked(name: str) -> str:
    """Return the name, marked if this is what comes out without further options."""
    method = name.rpartition(", ")[2]
    rank = name.startswith(("spearman", "kendall")) and "clustered" not in name
    if method == "analytic":
        default = rank and "within" not in name
    elif method == "jackknife":
        default = not rank and not name.startswith("mean") and "calibrate" not in name
    else:
        others = ("student", "percentile", "bca", "Zou", "items as independent", CUT)
        default = method not in others
        default = (default or "within" in name) and "williams" not in name
    return name + DEFAULT * default


DEFAULT = " (default)"
HEAD = (
    "How often intervals hold the truth, in %. Made by `python bench/coverage.py`: so many runs as",
    f"stated, {RESAMPLES} resamples per bootstrap. Chance alone moves a share by 1.4 points with",
    "1,000 runs, 0.7 with 4,000. Widths are means. `False alarms` are the share of tests that",
    "tell two equally good metrics apart; `note` rows say on which share of samples the estimate",
    "warns of heavy tails.",
)
TABLE = (
    "| interval | promised | held | missed below / above | mean width | runs |",
    "|---|---|---|---|---|---|",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    lines: list[str] = []
    start = time.process_time()
    tables = (
        correlation_rows, clustered_rows, partial_rows, mean_rows, difference_rows,
        agreement_rows, judge_rows, pair_rows, inference_rows,
    )  # fmt: skip
    for name, truth, draw in (row for rows in tables for row in rows()):
        if not all(word in name for word in arguments.only.split("&")):
            continue
        if callable(truth):
            truth = truth()
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        bounds, warned = [], []
        for _ in range(arguments.runs * (1 if name.endswith(BOOTSTRAPS) else 4)):
            try:
                found = draw(rng)
            except InputError:  # a sample may be constant
                continue
            bounds.append((found.low, found.high))
            warned.append("heavy tails" in (found.note or ""))
        bounds = [bound for bound in bounds if bound[0] is not None]
        low, high = np.array(bounds, np.float64).T
        below, above = np.mean(truth > high + 1e-12), np.mean(truth < low - 1e-12)
        lines.append(
            f"| {marked(name)} | 95.0 | {100 * (1 - below - above):.1f} | "
            f"{100 * above:.1f} / {100 * below:.1f} | {np.mean(high - low):.3f} | {len(bounds):,} |"
        )
        print(lines[-1], flush=True)
        if name.startswith("pearson") and name.endswith("jackknife") and "clustered" not in name:
            lines.append(
                f"| note of heavy tails, {name} | | {100 * np.mean(warned):.1f} | | | "
                f"{len(warned):,} |"
            )
            print(lines[-1], flush=True)
    bands = band_rows(arguments.runs) if arguments.only in "band" else iter(())
    alarms = alarm_rows(arguments.runs, arguments.only)
    for name, promise, held in itertools.chain(bands, alarms):
        lines.append(
            f"| {marked(name)} | {100 * promise:.1f} | {100 * held:.1f} | | | {arguments.runs:,} |"
        )
        print(lines[-1], flush=True)
    print(f"{time.process_time() - start:.0f} CPU seconds")
    if arguments.runs >= LEAST:
        (HERE / "coverage.md").write_text(merged(lines), "utf-8")


if __name__ == "__main__":
    main()
