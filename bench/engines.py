"""Each engine that is installed beside a local run: the same bytes, and how fast after its start.

    python bench/engines.py [--copies 22] [--metrics relevance] [--engines ray dask spark]
        [--write docs/scale.md]

``examples/convai.jsonl`` is laid into files of other texts each (numbered, so that nothing is
remembered), and scored, by relevance where no other metric is named: by one process a file after
the other, by as many processes as there are cores, and by each engine with as many workers. Every
worker notes when it began and ended a file, and the processor time that it took. A run takes from
the first beginning to the last end: models are loaded within, the start of an engine is not, and
stands beside it. Processor time a turn says what a run costs also where other work takes its part
of the machine.

What kills do to a run is tried by ``bench/faults.py``.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from serving import written_between
from timed_shards import files_of, noted_in, score_and_note

from grice.integrations import ENGINES, Grading
from grice.integrations.shards import planned, shard_of
from grice.records import json_line

if TYPE_CHECKING:
    from grice.integrations.shards import Task

MARKS = "<!-- what follows is written by bench/engines.py -->", "<!-- end of what it writes -->"
CORES = os.cpu_count() or 1
LONGEST = 1200
"""Seconds that an engine may take."""


class Ran(NamedTuple):
    """A run: seconds until the first file was begun, from then to the end, and of processors."""

    start: float
    after: float
    cpu: float
    same: bool


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("[!.]*.parquet")}


def locally(tasks: list[Task], workers: int) -> None:
    """Score the files by so many processes, each whoever is free first."""
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        answers = pool.map(score_and_note, map(json_line, tasks))
        assert not any(shard_of(answer).problem for answer in answers)


def on_engine(tasks: list[Task], engine: str) -> None:
    """Score the files on an engine; this is a process of its own."""
    module = import_module(f"grice.integrations.{engine}_engine")
    answers = module.shards_of([json_line(task) for task in tasks], score_and_note, None)
    problems = [shard_of(answer).problem for answer in answers]
    assert not any(problems), problems


def ran(by: str, metrics: list[str], folder: Path, expected: dict[str, bytes]) -> Ran:
    """Score the files that lie beside a folder, in a process of its own."""
    began = time.time()
    here = str(Path(__file__).parent)
    paths = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, __file__, "--by", by, "--folder", folder, "--metrics", *metrics]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    done = subprocess.run(
        list(map(str, command)), timeout=LONGEST, env={**os.environ, "PYTHONPATH": paths}, **quiet
    )
    assert not done.returncode, done.stderr.decode()[-4000:]
    notes = noted_in(folder)
    first, last = notes[0].began, max(note.ended for note in notes)
    found = contents(folder)
    same = not expected or found == expected
    expected.update(found)
    return Ran(first - began, last - first, sum(note.cpu for note in notes), same)


def row(by: str, run: Ran, one: Ran, turns: int) -> str:
    times = f"{run.start:.1f} s | {run.after:.1f} s | {turns / run.after:,.0f}"
    cpu = f"{1000 * run.cpu / turns:.3f} ms, {run.cpu / one.cpu:.2f}"
    same = "the same bytes" if run.same else "OTHER BYTES"
    return f"| {by} | {times} | {one.after / run.after:.2f} | {cpu} | {same} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=22)
    parser.add_argument("--metrics", nargs="+", default=["relevance"])
    parser.add_argument("--engines", nargs="+", default=list(ENGINES))
    parser.add_argument("--write", type=Path)
    parser.add_argument("--by", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.by is None:
        rows = compare(arguments.copies, arguments.metrics, arguments.engines)
        written = "\n".join(rows) + "\n"
        print(written)
        if arguments.write:
            text = arguments.write.read_text("utf-8")
            arguments.write.write_text(written_between(text, MARKS, written), "utf-8")
        return
    folder = arguments.folder
    tasks, _ = planned([folder.parent / "in"], folder, Grading(tuple(arguments.metrics)))
    if arguments.by in ENGINES:
        on_engine(tasks, arguments.by)
    else:
        locally(tasks, int(arguments.by))


def compare(copies: int, metrics: list[str], engines: list[str]) -> list[str]:
    """Return the rows of the table, which are printed as they come."""
    expected: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as name:
        turns = files_of(Path(name, "in"), copies)
        one = ran("1", metrics, Path(name, "1"), expected)
        rows = [
            f"| {', '.join(metrics)}: {turns:,} turns in {copies} files by | start | after it | "
            "turns a second | × one process | processor time a turn, × one process | shards |",
            "|---|---|---|---|---|---|---|",
            row("one process", one, one, turns),
        ]
        print(rows[-1], flush=True)
        for by in [str(CORES), *engines]:
            said = f"{by} processes" if by.isdigit() else f"{by}, {CORES} workers"
            if by in ENGINES and importlib.util.find_spec(ENGINES[by]) is None:
                rows.append(f"| {said} | not installed | | | | | |")
            else:
                rows.append(row(said, ran(by, metrics, Path(name, by), expected), one, turns))
            print(rows[-1], flush=True)
    rows.append(f"| load of this machine at the end | {os.getloadavg()[0]:.1f} | | | | | |")
    return rows


if __name__ == "__main__":
    main()
