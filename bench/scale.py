"""What a billion turns cost, and a model of stragglers and failures beside measured runs.

    python bench/scale.py [--files 8] [--conversations 60] [--models small] [--write docs/scale.md]

``examples/convai.jsonl`` is laid into files, each of other texts (numbered, so that nothing is
remembered), and scored by 1, 2 and 4 processes (``workers.py``). Processor time and bytes a turn
are those of one process. Half of the files calibrate the model: how long each takes one worker
alone, how much longer it takes beside 1 and 3 others, and how long a worker takes to start again.
The model then says how long the other half takes, undisturbed and with a worker that dies
half-way, and stands beside the measurement. It leaves out other work on the machine, which moves
between the halves; that 4 workers share fewer processors is in the factor as it was measured.

For a billion turns workers have a processor each, a hundredth of the tasks fails at a random point
and is repeated, and a fiftieth of the workers is half as fast. A preset whose models are not here
is left out.
"""

from __future__ import annotations

import argparse
import heapq
import os
import random
import resource
import tempfile
import time
from pathlib import Path

from serving import written_between
from timed_shards import files_of
from workers import Kill, Model, measured, predicted, started

from grice.integrations import Grading
from grice.integrations.shards import Task, planned, score_shard
from grice.models.store.places import find_stored
from grice.scoring.presets import named_preset

MARKS = "<!-- what follows is written by bench/scale.py -->", "<!-- end of what it writes -->"
BILLION = 1_000_000_000
TURNS_A_FILE = 100_000
WORKERS = (16, 64, 256, 1024)
FAILING, SLOW = 0.01, 0.02
"""Parts of the tasks that fail once, and of the workers that are half as fast."""
DRAWS = 20
CREWS = (1, 2, 4)


def simulated(per_turn: float, spread: list[float], workers: int) -> float:
    """Return hours for a billion turns, the median of some draws."""
    draw = random.Random(workers)
    ends = []
    for _ in range(DRAWS):
        pace = [2.0 if draw.random() < SLOW else 1.0 for _ in range(workers)]
        free = [(0.0, worker) for worker in range(workers)]
        for _ in range(BILLION // TURNS_A_FILE):
            whole = per_turn * TURNS_A_FILE * draw.choice(spread)
            lost = whole * draw.random() if draw.random() < FAILING else 0.0
            now, worker = heapq.heappop(free)
            heapq.heappush(free, (now + (whole + lost) * pace[worker], worker))
        ends.append(max(free)[0])
    return sorted(ends)[DRAWS // 2] / 3600


def alone(tasks: list[Task]) -> tuple[list[float], list[float]]:
    """Return the seconds of each file by the clock and by the processor, in this process."""
    walls, cpus = [], []
    for task in tasks:
        began, before = time.perf_counter(), time.process_time()
        assert score_shard(task).problem is None
        walls.append(time.perf_counter() - began)
        cpus.append(time.process_time() - before)
    return walls, cpus


def of_preset(models: str, files: int, conversations: int) -> list[str]:
    """Return the rows of a preset."""
    grading = Grading(models=models)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turns = files_of(folder / "in", files, conversations)
        (folder / "warm").mkdir()
        (folder / "warm" / "warm.jsonl").write_text('{"turns": ["Is it far?", "No."]}\n')
        tasks, [warm] = (
            planned([folder / place], folder / f"out-{place}", grading)[0]
            for place in ("in", "warm")
        )
        start = started(warm)
        assert score_shard(warm).problem is None  # models are loaded here, too
        first, second = tasks[: files // 2], tasks[files // 2 :]
        walls, cpus = alone(first)
        others, more = alone(second)
        cpu = sum(cpus + more) / turns
        read = sum(file.stat().st_size for file in (folder / "in").iterdir()) / turns
        written = sum(Path(task.shard).stat().st_size for task in tasks) / turns
        slower = {crew: crew * measured(first, warm, crew, []) / sum(walls) for crew in CREWS}
        model = Model(slower, start)
        rows = [_compared(models, second, others, warm, crew, model) for crew in CREWS]
    mean = sum(walls + others) / files
    hours = ", ".join(
        f"{workers:,}: {simulated(cpu, [w / mean for w in walls + others], workers):,.0f} h"
        for workers in WORKERS
    )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    factors = ", ".join(f"{crew}: {factor:.2f}" for crew, factor in slower.items())
    return [
        f"| {models}: processor time | {1000 * cpu:.2f} ms a turn; a billion turns: "
        f"{cpu * BILLION / 3600:,.0f} core hours |",
        f"| {models}: read and written | {read:.0f} and {written:.0f} bytes a turn; a billion: "
        f"{read * BILLION / 1e9:,.0f} and {written * BILLION / 1e9:,.0f} GB |",
        f"| {models}: memory of a worker | {peak:,.0f} MiB at most |",
        f"| {models}: a file takes so many times longer, by busy workers | {factors} |",
        *rows,
        f"| {models}: a billion turns, {FAILING:.0%} of tasks fail once, {SLOW:.0%} of workers "
        f"are half as fast, by workers | {hours} |",
    ]


def _compared(
    models: str, tasks: list[Task], walls: list[float], warm: Task, crew: int, model: Model
) -> str:
    whole = predicted(walls, crew, [], model)
    kills = [Kill(whole / 2, 0)]
    pairs = [
        f"measured {measured(tasks, warm, crew, deaths):.1f} s, predicted "
        f"{predicted(walls, crew, deaths, model):.1f} s"
        for deaths in ([], kills)
    ]
    return (
        f"| {models}: {len(tasks)} files by {crew} of them | {pairs[0]}; "
        f"one dies half-way: {pairs[1]} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--conversations", type=int, default=60)
    parser.add_argument("--models", default="small,medium")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    rows = ["| what | measured |", "|---|---|"]
    for models in arguments.models.split(","):
        if all(find_stored(model) is not None for model in named_preset(models).models):
            rows += of_preset(models, arguments.files, arguments.conversations)
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
