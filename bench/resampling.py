"""Time and memory of the resampling engine.

    python bench/resampling.py

Each figure is taken in a process of its own: CPU seconds, and how far the peak of resident
memory rose over that of the same process with its data loaded and 100 items resampled.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from grice import stats
from grice.stats import weighted
from grice.stats.resample import ResamplingKind, bootstrap


def columns(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    human = np.round(rng.normal(3, 1, n) * 3) / 3
    return human[:, None] + rng.normal(size=(n, k)), human


def of_correlations(kind: weighted.Kind, n: int, k: int, resamples: int) -> Callable[[int], object]:
    metrics, human = columns(n, k)

    def run(items: int) -> object:
        statistic = weighted.correlations(metrics[:items], human[:items], kind)
        return bootstrap(statistic, items, groups=None, resamples=resamples, seed=0)

    return run


def of_means(n: int, resamples: int) -> Callable[[int], object]:
    metrics, _ = columns(n, 1)
    codes = np.arange(n) // 10

    def run(items: int) -> object:
        statistic = weighted.means(metrics[:items])
        return bootstrap(statistic, items, groups=codes[:items], resamples=resamples, seed=0)

    return run


def of_comparison(n: int, k: int, interval: ResamplingKind) -> Callable[[int], object]:
    metrics, human = columns(n, k)

    def run(items: int) -> object:
        named = {str(i): metrics[:items, i] for i in range(k)}
        return stats.compare_correlations(named, human[:items], interval=interval, resamples=1000)

    return run


RUNS: dict[str, tuple[int, Callable[[], Callable[[int], object]]]] = {
    "Pearson, 2,200 items x 20 metrics, 1,000 resamples": (
        2_200, lambda: of_correlations("pearson", 2_200, 20, 1_000)),
    "Spearman, 2,200 items x 20 metrics, 1,000 resamples": (
        2_200, lambda: of_correlations("spearman", 2_200, 20, 1_000)),
    "Kendall, 2,200 items x 20 metrics, 1,000 resamples": (
        2_200, lambda: of_correlations("kendall", 2_200, 20, 1_000)),
    "compare_correlations (BCa, 190 pairs, Holm), 2,200 items x 20 metrics": (
        2_200, lambda: of_comparison(2_200, 20, "bca")),
    "compare_correlations (jackknife, 190 pairs, Holm), 2,200 items x 20 metrics": (
        2_200, lambda: of_comparison(2_200, 20, "jackknife")),
    "mean by conversation, 1,000,000 items, 1,000 resamples": (
        1_000_000, lambda: of_means(1_000_000, 1_000)),
    "Pearson, 1,000,000 items, 1,000 resamples": (
        1_000_000, lambda: of_correlations("pearson", 1_000_000, 1, 1_000)),
    "Spearman, 1,000,000 items, 1,000 resamples": (
        1_000_000, lambda: of_correlations("spearman", 1_000_000, 1, 1_000)),
}  # fmt: skip


def peak() -> float:
    """Return the peak of resident memory in MiB."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 2**20 if sys.platform == "darwin" else used / 2**10


def measure(name: str) -> None:
    items, prepare = RUNS[name]
    run = prepare()
    run(100)
    before, start = peak(), time.process_time()
    run(items)
    print(json.dumps([time.process_time() - start, peak() - before, peak()]))


def main() -> None:
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    print("| what | CPU s | peak rose by MiB | peak of the process MiB |\n|---|---|---|---|")
    for name in RUNS:
        done = subprocess.run(
            [sys.executable, __file__, name], check=True, capture_output=True, text=True
        )
        seconds, rose, whole = json.loads(done.stdout)
        print(f"| {name} | {seconds:.2f} | {rose:.0f} | {whole:.0f} |", flush=True)


if __name__ == "__main__":
    main()
