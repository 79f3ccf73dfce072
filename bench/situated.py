"""How long mining takes, and what neighbouring cells miss of all pairs.

    python bench/situated.py --data ../shared/data --statements 100000

The vectors are those of real sentences of five question sets (``--real`` of them, encoded first,
outside of the clock); beyond that number each further vector is a real one moved a little, by as
much as sentences of one template differ.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice_tasks.situatedgen.mining import alike, alike_nearby

FILES = {
    "creak/train.jsonl.gz": "sentence", "commonsenseqa/train.jsonl.gz": "stem",
    "strategyqa/train.jsonl.gz": "question", "arc/easy_train.jsonl.gz": "stem",
    "openbookqa/crowdsourced-facts.txt.gz": "",
}  # fmt: skip
MOVED = 0.5
"""Length of the step from a real vector."""


def texts(folder: Path) -> Iterator[str]:
    for name, field in FILES.items():
        with gzip.open(folder / name, "rt", encoding="utf-8") as lines:
            for line in lines:
                if line.strip():
                    yield json.loads(line)[field] if field else line.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--statements", type=int, default=100_000)
    parser.add_argument("--real", type=int, default=5000)
    parser.add_argument("--checked", type=int, default=4000, help="rows searched exhaustively")
    parser.add_argument("--probes", type=int, nargs="+", default=[4, 8, 16])
    arguments = parser.parse_args()
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=2)
    real = np.stack(encoder.encode(list(islice(texts(arguments.data), arguments.real))))
    rng = np.random.default_rng(0)
    rows = real[rng.integers(0, len(real), arguments.statements)]
    steps = rng.normal(size=rows.shape).astype(np.float32)
    steps *= MOVED / np.linalg.norm(steps, axis=1, keepdims=True)
    rows = rows + steps
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows.astype(np.float32)
    some = np.sort(rng.permutation(len(rows))[: arguments.checked])
    cpu = time.process_time()
    part = rows[some]
    cosines = [part[b : b + 500] @ rows.T for b in range(0, len(part), 500)]
    truth = {
        (min(int(some[i + 500 * k]), int(j)), max(int(some[i + 500 * k]), int(j)))
        for k, block in enumerate(cosines)
        for i, j in np.argwhere(block >= 0.8)
        if int(some[i + 500 * k]) != int(j)
    }
    every = (time.process_time() - cpu) * len(rows) / len(part) / 2
    print(
        f"{len(rows):,} statements, {len(truth):,} pairs of {len(part):,} rows with all; "
        f"all pairs would take about {every:.0f} s of processor time",
        flush=True,
    )
    chosen = set(map(int, some))
    for probes in arguments.probes:
        start, cpu = time.perf_counter(), time.process_time()
        near = {(i, j) for i, j, _ in alike_nearby(rows, probes=probes)}
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        mine = {pair for pair in near if pair[0] in chosen or pair[1] in chosen}
        recall = len(mine & truth) / max(1, len(truth))
        print(f"probes {probes}: {seconds:.1f} s ({cpu:.1f} s of processor time, {every / cpu:.1f} "
              f"times less than all pairs), {len(near):,} pairs, recall {recall:.4f}, peak memory "
              f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB",
              flush=True)  # fmt: skip
    small = rows[:10_000]
    start = time.perf_counter()
    exact = {(i, j) for i, j, _ in alike(small)}
    print(f"10,000 statements, all pairs: {time.perf_counter() - start:.1f} s, {len(exact):,}")


if __name__ == "__main__":
    main()
