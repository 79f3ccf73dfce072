"""How often the intervals of grice.stats hold the truth, by simulation.

    python bench/coverage.py                    everything, about an hour on one core
    python bench/coverage.py --runs 400         a quick look
    python bench/coverage.py --only "alpha&missing"    the rows whose name holds these words

Each row draws data of a known truth many times and counts the intervals that hold it. With the
full number of runs the rows go to the table in bench/coverage.md.
"""

from __future__ import annotations

import argparse
import itertools
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from grice import stats
from grice.data import Triple
from grice.errors import InputError
from grice.stats import Comparison, Estimate
from grice.stats.comparison import proportion
from grice.stats.correlations import Kind, correlation_value
from grice.stats.inputs import Floats, Integers
from grice_research.benches.cskb_population import AREAS, TripleRows, area

Generator = np.random.Generator
PAGE = Path(__file__).parent / "coverage.md"
LEAST = 250  # with fewer runs the table is left as it is


class Row(NamedTuple):
    """One line of the table: the interval of a draw, and the truth that it should hold."""

    name: str
    truth: float | Callable[[], float]
    draw: Callable[[Generator], Estimate]


# Correlations.


def normal_pair(rng: Generator, n: int, rho: float) -> tuple[Floats, Floats]:
    x = rng.normal(size=n)
    return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)


def shaped_pair(rng: Generator, shape: str, n: int, rho: float) -> tuple[Floats, Floats]:
    x, y = normal_pair(rng, n, rho)
    if "skewed" in shape:
        return np.exp(x), y if shape == "one column skewed" else np.exp(y)
    if shape == "heavy":  # Student's t with five degrees of freedom
        scale = np.sqrt(rng.chisquare(5, n) / 5)
        return x / scale, y / scale
    if shape == "rated 1-5":  # most ratings are at the top, as people give them
        return x, np.searchsorted([-1.6, -0.9, -0.2, 0.7], y) + 1.0
    return x, y


def clustered_pair(rng: Generator, groups: int, each: int) -> tuple[Floats, Floats, Integers]:
    """Items of one conversation share half of the variance of both columns."""
    code = np.repeat(np.arange(groups), each)
    shared = rng.normal(size=(groups, 2)) @ np.linalg.cholesky([[1, 0.5], [0.5, 1]]).T
    own = rng.normal(size=(groups * each, 2)) @ np.linalg.cholesky([[1, 0.3], [0.3, 1]]).T
    both = (shared[code] + own) / np.sqrt(2)
    return both[:, 0], both[:, 1], code


def exact(rho: float, kind: str) -> float:
    """Return the coefficient of a normal population."""
    ranked = 6 * np.arcsin(rho / 2) if kind == "spearman" else 2 * np.arcsin(rho)
    return rho if kind == "pearson" else float(ranked / np.pi)


@cache
def truth_of(shape: str, rho: float, kind: Kind) -> float:
    """Return the coefficient of the population, from a formula where there is one."""
    if shape == "normal" or ("skewed" in shape and kind != "pearson"):
        return exact(rho, kind)
    skewed = (np.exp(rho) - 1) / (np.e - 1), rho / np.sqrt(np.e - 1)
    known = {"skewed": skewed[0], "one column skewed": skewed[1], "heavy": rho}
    if kind == "pearson" and shape in known:
        return float(known[shape])
    rng = np.random.default_rng(99)
    pairs = (shaped_pair(rng, shape, 50_000, rho) for _ in range(40))
    return float(np.mean([correlation_value(x, y, kind) for x, y in pairs]))


def shaped(rng: Generator, shape: str, rho: float, kind: Kind, n: int) -> Estimate:
    return stats.correlation(*shaped_pair(rng, shape, n, rho), kind=kind)


def clustered(rng: Generator, kind: Kind, groups: int, each: int, way: str) -> Estimate:
    x, y, code = clustered_pair(rng, groups, each)
    return stats.correlation(x, y, kind=kind, groups=code if way == "jackknife" else None)


def within(rng: Generator, contexts: int) -> Estimate:
    x, y = normal_pair(rng, contexts * 8, 0.5)
    return stats.correlation_within(x, y, np.repeat(np.arange(contexts), 8))


def mixed(xy: float, xz: float, yz: float) -> Floats:
    """Return the matrix that gives normal numbers these correlations."""
    return np.linalg.cholesky([[1, xy, xz], [xy, 1, yz], [xz, yz, 1]]).T


def part(rng: Generator, n: int) -> Estimate:
    x, y, z = (rng.normal(size=(n, 3)) @ mixed(0.5, 0.4, 0.6)).T
    return stats.partial_correlation(x, y, [z])


def compared(columns: Floats, kind: str, swaps: int, groups: Integers | None = None) -> Comparison:
    """Compare the correlations of two metrics with ratings, the first column."""
    pair, how = dict(zip("ab", columns.T[1:], strict=True)), {"kind": kind, "permutations": swaps}
    return stats.compare_correlations(pair, columns[:, 0], groups=groups, **how).comparisons[0]


def difference(rng: Generator, kind: str, n: int) -> Estimate:
    return compared(rng.normal(size=(n, 3)) @ mixed(0.5, 0.3, 0.6), kind, 100).difference


def clustered_difference(rng: Generator, groups: int) -> Estimate:
    code, mix = np.repeat(np.arange(groups), 6), mixed(0.5, 0.3, 0.6)
    shared, own = rng.normal(size=(groups, 3)) @ mix, rng.normal(size=(6 * groups, 3))
    return compared((shared[code] + own @ mix) / np.sqrt(2), "pearson", 100, code).difference


# Means, shares and areas.


def mean(rng: Generator, n: int, shape: str) -> Estimate:
    return stats.mean(rng.exponential(size=n) if shape == "skewed" else rng.normal(size=n))


def clustered_mean(rng: Generator, groups: int, shape: str) -> Estimate:
    code = np.repeat(np.arange(groups), rng.integers(1, 8, groups))
    drawn = rng.exponential if shape.startswith("skewed") else rng.normal
    return stats.mean(drawn(size=groups)[code] + drawn(size=len(code)), groups=code)


def bounded_mean(rng: Generator, n: int, shape: str) -> Estimate:
    low = shape == "low scores"
    values = rng.beta(0.5, 4, n) if low else (rng.random(n) < SHARES[shape]).astype(float)
    return stats.mean(values, bounds=(0, 1))


SHARES = {"share 0.5": 0.5, "share 0.8": 0.8, "share 0.95": 0.95, "low scores": 0.5 / 4.5}


def changed(rng: Generator, groups: int, often: float, what: str, how: str) -> Estimate:
    """Return the difference of two versions with rare bad replies."""
    code = np.repeat(np.arange(groups), rng.integers(1, 12, groups))
    alike = rng.beta(often * 7 / 3, (1 - often) * 7 / 3, groups)[code]  # correlation 0.3
    bad = rng.random((2, len(code))) < (alike if how == "correlated" else often)
    a, b = np.where(bad, rng.random(bad.shape) / 5, 0.95)
    a, b = (0.95, b) if what == "fall" else (a, np.where(rng.random(len(code)) < 0.2, b, a))
    ranking = stats.compare_systems({"b": b, "a": b * 0 + a}, groups=code, bounds=(0, 1))
    return ranking.comparisons[0].difference


def fallen(what: str, often: float, **_: object) -> float:
    return -0.85 * often if what == "fall" else 0.0


def share(rng: Generator, groups: int, often: float) -> Estimate | None:
    sizes = rng.integers(1, 8, groups)
    each = rng.beta(2 * often, 2 * (1 - often), groups)
    return proportion(rng.binomial(sizes, each), sizes)


def curve(rng: Generator, heads: int) -> Estimate:
    head = np.repeat(np.arange(heads), 4)
    label = rng.random(4 * heads) < 0.5
    scores = 0.7 * rng.normal(size=heads)[head] + rng.normal(size=4 * heads) + label
    triples = tuple(Triple(str(number), "xWant", "tail") for number in head)
    return area(AREAS[0], scores.tolist(), TripleRows(triples, tuple(map(bool, label))))


# Agreement: four judges whose noise is as large as what they judge, or who toss a coin at times.


def judged(rng: Generator, n: int, of: Callable[[Floats], Estimate], missing: float) -> Estimate:
    seen = rng.normal(size=(n, 1)) + rng.normal(size=(n, 4))
    return of(np.where(rng.random(seen.shape) < missing, np.nan, seen))


def cohen(rng: Generator, n: int) -> Estimate:
    true = rng.integers(0, 2, n)
    a, b = (np.where(rng.random(n) < 0.8, true, rng.integers(0, 2, n)) for _ in range(2))
    return stats.cohen_kappa(a, b)


def fleiss(rng: Generator, n: int) -> Estimate:
    true, guess = rng.integers(0, 2, (n, 1)), rng.integers(0, 2, (n, 3))
    return stats.fleiss_kappa(np.where(rng.random((n, 3)) < 0.8, true, guess).tolist())


def powered(rng: Generator, shape: str, n: int, rho: float) -> Estimate:
    """Return a mean of conversations of one to five items, ten times as many without labels."""
    code = np.repeat(np.arange(11 * n), rng.integers(1, 6, 11 * n))
    y = rng.normal(0, 0.6, 11 * n)[code] + rng.normal(0, 0.8, len(code))
    x = rho * y + np.sqrt(1 - rho**2) * rng.normal(size=len(code))
    cuts, first = CUTS.get(shape), code < n
    y = UNBOUNDED[shape](y) if cuts is None else 1.0 + np.digitize(y, cuts)
    bounds = None if cuts is None else (1, 1 + len(cuts))
    groups = {"groups": code[first], "unlabelled_groups": code[~first]}
    return stats.prediction_powered_mean(
        y[first], x[first], x[~first], bounds=bounds, **groups
    ).mean


CUTS = {"1 or 2": (-1.28,), "1 to 5": (-1.5, -0.5, 0.5, 1.5), "mostly 5": (-2.3, -1.8, -1.4, -1.1)}
UNBOUNDED = {"normal": np.positive, "log-normal": np.exp, "exponential": lambda y: -log_ndtr(-y)}


def powered_truth(shape: str, **_: object) -> float:
    if shape in CUTS:
        return 1 + sum(NormalDist().cdf(-cut) for cut in CUTS[shape])
    return {"normal": 0.0, "log-normal": float(np.exp(0.5)), "exponential": 1.0}[shape]


# The rows.


def grid(
    name: str, truth: float | Callable[..., float], draw: Callable[..., Estimate], **values: object
) -> Iterator[Row]:
    """Yield a row for each combination of the values, which name and truth depend on."""
    lists = [value if isinstance(value, tuple) else (value,) for value in values.values()]
    for combination in itertools.product(*lists):
        chosen = dict(zip(values, combination, strict=True))
        true = partial(truth, **chosen) if callable(truth) else truth
        yield Row(name.format(**chosen), true, partial(draw, **chosen))


SIZES: dict[tuple[str, float], tuple[int, ...]] = {
    ("normal", 0.0): (10, 25), ("normal", 0.5): (6, 10, 25, 100), ("normal", 0.9): (25,),
    ("skewed", 0.5): (25, 100, 400), ("one column skewed", 0.5): (25, 100),
    ("heavy", 0.5): (25, 100), ("rated 1-5", 0.0): (25,), ("rated 1-5", 0.5): (10, 25, 100),
    ("rated 1-5", 0.9): (25,),
}  # fmt: skip


def rows() -> Iterator[Row]:
    both = ("pearson", "spearman")
    for (shape, rho), sizes in SIZES.items():
        for kind, n in itertools.product((*both, "kendall"), sizes):
            name = f"{kind} {shape} rho {rho:g} n {n}"
            how = "jackknife" if kind == "pearson" else "analytic"
            drawn = partial(shaped, shape=shape, rho=rho, kind=kind, n=n)
            yield Row(f"{name}, {how}", partial(truth_of, shape, rho, kind), drawn)
    for groups, each in ((6, 6), (15, 6), (60, 6), (200, 3)):
        yield from grid(
            "{kind} clustered {groups} x {each}, {way}", lambda kind, **_: exact(0.4, kind),
            clustered, kind=both, groups=groups, each=each,
            way=("jackknife", "items as independent"),
        )  # fmt: skip
    xy, xz, yz = (exact(rho, "spearman") for rho in (0.5, 0.4, 0.6))
    truth = float((xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2)))
    yield from grid("partial spearman n {n}, analytic", truth, part, n=(25, 100))
    yield from grid(
        "difference of {kind} n {n}, jackknife",
        lambda kind, **_: exact(0.5, kind) - exact(0.3, kind), difference, kind=both, n=(30, 100),
    )  # fmt: skip
    name = "difference of pearson clustered {groups} x 6, jackknife"
    yield from grid(name, 0.2, clustered_difference, groups=(8, 15, 60))
    for shape, truth in (("skewed", 1.0), ("normal", 0.0)):
        yield from grid("mean {shape} n {n}, hall", truth, mean, shape=shape, n=(10, 40, 200))
    for shape, truth in (("skewed clustered", 2.0), ("clustered", 0.0)):
        name = "mean {shape} {groups} x 1-7, hall"
        yield from grid(name, truth, clustered_mean, shape=shape, groups=(8, 20, 60))
    yield from grid(
        "mean of 0 to 1, {shape}, n {n}, hall, bounds", lambda shape, **_: SHARES[shape],
        bounded_mean, n=(3, 5, 10, 20, 50), shape=tuple(SHARES),
    )  # fmt: skip
    name = "{what} of the mean, {often:.0%} bad {how} replies, {groups} conversations"
    sizes = {"groups": (20, 50, 100, 300), "often": (0.01, 0.02, 0.05, 0.2)}
    ways = {"what": ("no change", "fall"), "how": ("independent", "correlated")}
    yield from grid(name, fallen, changed, **sizes, **ways)
    # The expectation of Spearman's coefficient of eight normal items.
    truth = float(6 / (np.pi * 9) * (np.arcsin(0.5) + 6 * np.arcsin(0.25)))
    yield from grid(
        "spearman within {contexts} contexts of 8, student", truth, within, contexts=(10, 40)
    )
    yield from grid(
        "share {often:g} in {groups} conversations of 1-7, Wilson",
        lambda often, **_: often, share, groups=(10, 40), often=(0.5, 0.1),
    )  # fmt: skip
    name = "area under the curve, {heads} heads of 4, jackknife"
    yield from grid(name, NormalDist().cdf(1 / np.sqrt(2 * (0.49 + 1))), curve, heads=(15, 60))
    sizes = (15, 30, 150)
    one = exact(float(1 / np.sqrt(2 * (1 + 1 / 3))), "spearman")
    for name, truth, of, missing in (
        ("alpha interval {n} items, 0% missing", 0.5, stats.krippendorff_alpha, 0.0),
        ("alpha interval {n} items, 30% missing", 0.5, stats.krippendorff_alpha, 0.3),
        ("ceiling {n} items", float(np.sqrt(0.8)), stats.ceiling, 0.0),
        ("one judge and the rest {n} items", one, stats.leave_one_annotator_out, 0.0),
    ):
        yield from grid(
            f"{name}, jackknife", truth, partial(judged, of=of, missing=missing), n=sizes
        )
    for name, draw in (("cohen kappa {n} items", cohen), ("fleiss kappa {n} items", fleiss)):
        yield from grid(f"{name}, jackknife", 0.64, draw, n=sizes)
    name = "prediction-powered mean, {shape}, {n} conversations, correlation {rho:g}"
    drawn = {"shape": (*CUTS, *UNBOUNDED), "n": (20, 30, 50, 100)}
    yield from grid(name, powered_truth, powered, **drawn, rho=(0.2, 0.6, 0.9))


def band_rows(runs: int) -> Iterator[tuple[str, float, float]]:
    """Yield name, promise and share of new items inside the band."""
    for n, grouped in ((40, False), (200, False), (40, True), (200, True)):
        rng = np.random.default_rng(5)
        inside = []
        for _ in range(runs):
            code = np.repeat(np.arange(n // 4 + 1), 4) if grouped else np.arange(n + 1)
            shift = rng.normal(size=n // 4 + 1)[code] if grouped else 0.0
            x = rng.normal(size=len(code))
            y = np.clip(np.round(3 + x + 0.5 * shift + 0.7 * rng.normal(size=len(code))), 1, 5)
            new = code == code[-1]
            groups, seed = code[~new] if grouped else None, int(rng.integers(1 << 31))
            fit = stats.fit_human_scale(x[~new], y[~new], scale=(1, 5), groups=groups, seed=seed)
            band = fit.at(float(x[-1]))
            inside.append(band.low <= y[-1] <= band.high)
        units = f"{n // 4} conversations" if grouped else f"{n} items"
        yield f"band of the human scale, {units}", 0.9, float(np.mean(inside))


def alarm_rows(runs: int) -> Iterator[tuple[str, float, float]]:
    """Yield name, promise and share of tests that tell two equally good metrics apart."""
    for shape, n in itertools.product(("normal", "log-normal"), (20, 60)):
        name = f"false alarms of permutation, Pearson, {shape}, n {n}"
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        drawn = (rng.normal(size=(n, 3)) @ mixed(0.5, 0.5, 0.6) for _ in range(runs))
        each = (np.exp(columns) if shape == "log-normal" else columns for columns in drawn)
        alarms = [compared(columns, "pearson", 400).p_value <= 0.05 for columns in each]
        yield name, 0.05, float(np.mean(alarms))


# The table.

DEFAULT = " (default)"
HEAD = """\
How often intervals hold the truth, in %. Made by `python bench/coverage.py`: so many runs as
stated. Chance alone moves a share by 1.4 points with 1,000 runs, 0.7 with 4,000. Widths are
means. `False alarms` are the share of tests that tell two equally good metrics apart; `note`
rows say on which share of samples the estimate warns of heavy tails.

## Defaults
"""
OTHERS = """\
## Others

Methods that did worse, most of them recorded at commit a7921dde.
"""
TABLE = """\
| interval | promised | held | missed below / above | mean width | runs |
|---|---|---|---|---|---|"""


def merged(lines: list[str]) -> str:
    """Return the table in bench/coverage.md with these rows in the place of those before."""
    rows = {}
    for line in [*(PAGE.read_text("utf-8").splitlines() if PAGE.is_file() else ()), *lines]:
        if line.startswith("| ") and not line.startswith("| interval"):
            rows[line.split(" | ")[0].removesuffix(DEFAULT)] = line
    tables: tuple[list[str], list[str]] = ([], [])
    for name, line in rows.items():
        tables[not line.startswith(name + DEFAULT)].append(line)
    return "\n".join([HEAD, TABLE, *tables[0], "", OTHERS, TABLE, *tables[1], ""])


def lines_of(row: Row, runs: int) -> Iterator[str]:
    """Draw samples, and yield the line of their intervals; for Pearson also that of warnings."""
    truth = row.truth() if callable(row.truth) else row.truth  # a simulation of its own
    rng, estimates = np.random.default_rng(zlib.crc32(row.name.encode())), []
    for _ in range(4 * runs):
        with suppress(InputError):  # a sample may be constant
            estimates.append(row.draw(rng))
    bounds = [(estimate.low, estimate.high) for estimate in estimates if estimate.low is not None]
    low, high = np.array(bounds, np.float64).T
    over, under = 100 * np.mean([truth < low - 1e-12, truth > high + 1e-12], axis=1)
    name = row.name
    mark = "" if name.endswith("items as independent") else DEFAULT
    yield (
        f"| {name}{mark} | 95.0 | {100 - over - under:.1f} | {over:.1f} / {under:.1f} | "
        f"{np.mean(high - low):.3f} | {len(bounds):,} |"
    )
    if name.startswith("pearson") and name.endswith("jackknife") and "clustered" not in name:
        warned = np.mean(["heavy tails" in (estimate.note or "") for estimate in estimates])
        yield f"| note of heavy tails, {name} | | {100 * warned:.1f} | | | {4 * runs:,} |"


def table_lines(runs: int, only: str) -> Iterator[str]:
    """Yield the lines of the rows whose name holds all the words."""
    words = only.split("&")
    for row in rows():
        if all(word in row.name for word in words):
            yield from lines_of(row, runs)
    for kind, shares in (("band of the human scale", band_rows), ("false alarms", alarm_rows)):
        if all(word in kind for word in words):
            for name, promise, held in shares(runs):
                yield f"| {name}{DEFAULT} | {100 * promise:.1f} | {100 * held:.1f} | | | {runs:,} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    lines, start = [], time.process_time()
    for line in table_lines(arguments.runs, arguments.only):
        lines.append(line)
        print(line, flush=True)
    print(f"{time.process_time() - start:.0f} CPU seconds")
    if arguments.runs >= LEAST:
        PAGE.write_text(merged(lines), "utf-8")


if __name__ == "__main__":
    main()
