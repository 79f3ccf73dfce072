"""Each engine that is installed beside a local run: the same bytes, and how long it takes.

    python bench/engines.py [--copies 2] [--kill] [--write docs/scale.md]

``examples/convai.jsonl`` is laid into files as by ``scale.py``. A local run writes the shards one
after the other; each engine writes them with two workers. Its time is that of the whole
command, its start included. With ``--kill`` the command is killed at three points, and run again
until it ends: no shard may differ, and none may be lost.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scale import files_of
from serving import written_between

from grice.integrations import ENGINES, Grading
from grice.integrations.shards import planned, score_shard

MARKS = "<!-- what follows is written by bench/engines.py -->", "<!-- end of what it writes -->"
METRICS = ("relevance", "repetition")
POINTS = (0.4, 0.6, 0.8)
"""Parts of the time of a whole run after which one is killed."""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("[!.]*.parquet")}


def command(engine: str, files: Path, folder: Path) -> list[str]:
    words = ["score", str(files), "-m", ",".join(METRICS), "--engine", engine, "-o", str(folder)]
    return [sys.executable, "-m", "grice", *words, "--quiet"]


def killed(engine: str, files: Path, folder: Path, seconds: float) -> None:
    """Kill a run, with the workers that it started, after so many seconds."""
    process = subprocess.Popen(
        command(engine, files, folder),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()


def row(engine: str, files: Path, folder: Path, expected: dict[str, bytes], *, kill: bool) -> str:
    began = time.perf_counter()
    subprocess.run(
        command(engine, files, folder / engine), check=True, capture_output=True, timeout=280
    )
    took = time.perf_counter() - began
    same = "the same bytes" if contents(folder / engine) == expected else "OTHER BYTES"
    if not kill:
        return f"| {engine} | {took:.1f} s | {same} |"
    again = folder / f"{engine}-killed"
    kept = []
    for point in POINTS:
        killed(engine, files, again, point * took)
        kept.append(len(contents(again)))
    subprocess.run(command(engine, files, again), check=True, capture_output=True, timeout=280)
    whole = "the same bytes" if contents(again) == expected else "OTHER BYTES"
    shards = ", ".join(map(str, kept))
    return f"| {engine} | {took:.1f} s | {same}; killed three times ({shards} shards): {whole} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=2)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES))
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        files, folder = Path(name, "in"), Path(name)
        files.mkdir()
        turns = files_of(files, arguments.copies)
        tasks, _ = planned([files], folder / "local", Grading(METRICS))
        began = time.perf_counter()
        scored = [score_shard(task) for task in tasks]
        rows = [
            f"| {turns:,} turns in {len(scored)} files by | took | shards |",
            "|---|---|---|",
            f"| one process | {time.perf_counter() - began:.1f} s | |",
        ]
        expected = contents(folder / "local")
        for engine in arguments.engines:
            if importlib.util.find_spec(ENGINES[engine]) is None:
                rows.append(f"| {engine} | not installed | |")
            else:
                rows.append(row(engine, files, folder, expected, kill=arguments.kill))
    rows.append(f"| load of this machine at the end | {os.getloadavg()[0]:.1f} | |")
    written = "\n".join(rows) + "\n"
    print(written)
    if arguments.write:
        page = arguments.write.read_text("utf-8")
        arguments.write.write_text(written_between(page, MARKS, written), "utf-8")


if __name__ == "__main__":
    main()
