"""What a billion turns cost: processor time and bytes per turn, and how long workers would take.

    python bench/scale.py [--copies 4] [--models small,medium] [--write docs/scale.md]

``examples/convai.jsonl`` is laid into files, each of other texts (numbered, so that nothing is
remembered), and scored by ``grice.integrations.score_shard``: by one process a file after the
other, then by two processes. Processor time and bytes per turn are those of the first run; the time
that two workers take is predicted from the times of its files, each to whoever is free first, and
stands beside the measured one. The same rule says how long many workers take for a billion turns
where tasks fail and are repeated, by drawing from the measured times. A preset whose models are not
here is left out.
"""

from __future__ import annotations

import argparse
import heapq
import json
import multiprocessing
import os
import random
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from serving import written_between

from grice.integrations import Grading
from grice.integrations.shards import Shard, Task, planned, score_shard
from grice.runtime.store.places import find_stored
from grice.scoring.presets import named_preset

ROOT = Path(__file__).parents[1]
CHATS = ROOT / "examples" / "convai.jsonl"
MARKS = "<!-- what follows is written by bench/scale.py -->", "<!-- end of what it writes -->"
BILLION = 1_000_000_000
TURNS_A_FILE = 100_000
WORKERS = (16, 64, 256, 1024)
FAILING = 0.01
DRAWS = 20


class Timed(NamedTuple):
    """A file that was scored: its shard, and the seconds it took by clock and by processor."""

    shard: Shard
    wall: float
    cpu: float


def timed(task: Task) -> Timed:
    began, before = time.perf_counter(), time.process_time()
    shard = score_shard(task)
    return Timed(shard, time.perf_counter() - began, time.process_time() - before)


def files_of(folder: Path, copies: int) -> int:
    """Write the chats into files, each of other texts, and return how many turns they have."""
    records = [json.loads(line) for line in CHATS.read_text("utf-8").splitlines()]
    turns = 0
    for copy in range(copies):
        lines = []
        for record in records:
            messages = [
                {**turn, "content": f"{turn['content']} {copy}"} for turn in record["messages"]
            ]
            turns += len(messages)
            lines.append(json.dumps({**record, "messages": messages}))
        (folder / f"{copy:03}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return turns


def run(folder: Path, name: str, grading: Grading, workers: int) -> tuple[list[Timed], float]:
    """Score the files in a folder by so many processes, whose models are loaded before."""
    tasks, _ = planned([folder / "in"], folder / name, grading)
    warm, _ = planned([folder / "warm"], folder / f"warm-{name}", grading)
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(slow_start, warm * workers))
        began = time.perf_counter()
        return list(pool.map(timed, tasks)), time.perf_counter() - began


def slow_start(task: Task) -> None:
    """Load the models of a worker; it stays busy long enough for the others to get theirs."""
    score_shard(task)
    time.sleep(1)


def schedule(durations: list[float], workers: int) -> float:
    """Return when the last of some tasks ends, each taken by whoever is free first."""
    free = [0.0] * workers
    for duration in durations:
        heapq.heappush(free, heapq.heappop(free) + duration)
    return max(free)


def simulated(per_turn: float, spread: list[float], workers: int) -> float:
    """Return hours for a billion turns where some tasks fail at a random point and are repeated."""
    draw = random.Random(workers)
    ends = []
    for _ in range(DRAWS):
        tasks = []
        for _ in range(BILLION // TURNS_A_FILE):
            whole = per_turn * TURNS_A_FILE * draw.choice(spread)
            lost = whole * draw.random() if draw.random() < FAILING else 0.0
            tasks.append(whole + lost)
        ends.append(schedule(tasks, workers))
    return sorted(ends)[DRAWS // 2] / 3600


def measured(models: str, copies: int) -> list[str]:
    """Return the rows of a preset."""
    grading = Grading(models=models)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        (folder / "warm").mkdir()
        turns = files_of(folder / "in", copies)
        (folder / "warm" / "warm.jsonl").write_text('{"turns": ["Is it far?", "No."]}\n')
        alone, alone_wall = run(folder, "one", grading, 1)
        _, both_wall = run(folder, "two", grading, 2)
        read = sum(file.stat().st_size for file in (folder / "in").iterdir()) / turns
        written = sum(Path(worker.shard.shard).stat().st_size for worker in alone) / turns
    cpu = sum(worker.cpu for worker in alone) / turns
    mean = sum(worker.wall for worker in alone) / len(alone)
    spread = [worker.wall / mean for worker in alone]
    predicted = schedule([worker.wall for worker in alone], 2)
    hours = ", ".join(
        f"{workers:,}: {simulated(cpu, spread, workers):,.0f} h" for workers in WORKERS
    )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return [
        f"| {models}: processor time | {1000 * cpu:.2f} ms a turn; a billion turns: "
        f"{cpu * BILLION / 3600:,.0f} core hours |",
        f"| {models}: read and written | {read:.0f} and {written:.0f} bytes a turn; a billion: "
        f"{read * BILLION / 1e9:,.0f} and {written * BILLION / 1e9:,.0f} GB |",
        f"| {models}: memory of a worker | {peak:,.0f} MiB at most |",
        f"| {models}: {len(alone)} files by one worker | {alone_wall:.1f} s |",
        f"| {models}: by two workers | {both_wall:.1f} s, predicted {predicted:.1f} s |",
        f"| {models}: a billion turns, {FAILING:.0%} of tasks fail once, by workers | {hours} |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--models", default="small,medium")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    rows = ["| what | measured |", "|---|---|"]
    for models in arguments.models.split(","):
        if all(find_stored(model) is not None for model in named_preset(models).models):
            rows += measured(models, arguments.copies)
    load = os.getloadavg()[0]
    rows.append(
        f"| cores of this machine, and its load at the end | {os.cpu_count()}, {load:.1f} |"
    )
    section = "\n".join(rows) + "\n"
    print(section)
    if arguments.write:
        page = arguments.write.read_text("utf-8")
        arguments.write.write_text(written_between(page, MARKS, section), "utf-8")


if __name__ == "__main__":
    main()
