"""Speed and memory of grice, as ratios measured in one run on one machine.

    make bench
    python bench/run.py --turns 20000       a shorter test of memory

Absolute figures depend on the machine and on what else it does; a ratio compares two things
that ran alternately, minutes apart at most. The result goes to bench/results.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
ROOT = HERE.parent
ROUNDS = 3


class Figure(msgspec.Struct):
    """One measured figure; ``ratio`` is ``value / baseline``."""

    name: str
    value: float
    unit: str
    baseline: float | None
    ratio: float | None
    machine: str
    command: str


def figure(name: str, value: float, unit: str, baseline: float | None = None) -> Figure:
    ratio = value / baseline if baseline else None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = f"{platform.machine()}, {cores} cores, Python {platform.python_version()}"
    return Figure(name, round(value, 4), unit, baseline, ratio, machine, "python bench/run.py")


def texts(count: int, seed: int = 0) -> list[str]:
    """Return distinct everyday sentences of 4 to 30 words from the words of the examples."""
    rng = random.Random(seed)
    words = (ROOT / "examples" / "charity.txt").read_text("utf-8").split()
    made: dict[str, None] = {}
    while len(made) < count:
        made[" ".join(rng.choices(words, k=min(30, 3 + int(rng.expovariate(0.12)))))] = None
    return list(made)


def conversations(turns: int, distinct: int, seed: int = 0) -> Iterator[str]:
    """Yield JSON lines of 20-turn conversations out of so many distinct texts."""
    pool = texts(distinct, seed)
    rng = random.Random(seed)
    for i in range(turns // 20):
        drawn = [{"speaker": "AB"[j % 2], "text": rng.choice(pool)} for j in range(20)]
        yield json.dumps({"id": str(i), "turns": drawn})


def best(*runs: Callable[[], float]) -> list[float]:
    """Return the least time of each run; they take turns so that all see the same weather."""
    times = [[run() for run in runs] for _ in range(ROUNDS)]
    return [min(column) for column in zip(*times, strict=True)]


def timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def encoding() -> Iterator[Figure]:
    """Encode the same texts with the bare engine and through grice, on one core each."""
    import ctranslate2
    from tokenizers import Tokenizer

    from grice.models.embedded import EmbeddedEncoder
    from grice.models.folder import open_folder
    from grice.models.loader import ModelLoader

    folder = open_folder("encoder")
    sample = texts(600)
    tokenizer = Tokenizer.from_file(str(folder.file("tokenizer.json")))
    tokenizer.no_padding()
    ids = sorted((encoding.ids for encoding in tokenizer.encode_batch(sample)), key=len)
    batches = [ids[i : i + 32] for i in range(0, len(ids), 32)]
    for mode, compute in (("exact", "float32"), ("fast", "int8")):
        raw = ctranslate2.Encoder(
            str(folder.path), compute_type=compute, inter_threads=1, intra_threads=1
        )
        ours = ModelLoader(mode=mode).load("builtin:encoder", EmbeddedEncoder)  # type: ignore[arg-type]
        raw_time, our_time = best(
            lambda raw=raw: timed(lambda: [raw.forward_batch(batch) for batch in batches]),
            lambda ours=ours: timed(lambda: ours.encode(sample)),
        )
        rate, raw_rate = len(sample) / our_time, len(sample) / raw_time
        yield figure(f"encoding, {mode}, against the bare engine", rate, "texts/cpu-s", raw_rate)


def start_up() -> Iterator[Figure]:
    """Start processes; the figure is the least CPU time of several."""
    chat = "\n".join(conversations(20, 20))
    bare = min(child([sys.executable, "-c", "pass"])[0] for _ in range(7))
    commands = {
        "import grice": [sys.executable, "-c", "import grice"],
        "grice --help": [sys.executable, "-m", "grice", "--help"],
        "grice score, 20 turns, cold": [
            sys.executable, "-m", "grice", "score", "-", "--no-cache", "-o", os.devnull + ".none",
        ],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        commands["grice score, 20 turns, cold"][-1] = f"{folder}/out.jsonl"
        for name, command in commands.items():
            seconds = min(child(command, chat)[0] for _ in range(7))
            yield figure(name, seconds, "cpu-s (bare Python: baseline)", bare)


def memory(turns: int) -> Iterator[Figure]:
    """Score a short and a long stream and compare the most memory they took."""
    peaks = {}
    with tempfile.TemporaryDirectory() as folder:
        for count in (2_000, turns):
            path = Path(folder, f"{count}.jsonl")
            path.write_text("\n".join(conversations(count, 2_000)), "utf-8")
            command = [
                sys.executable, "-m", "grice", "score", str(path), "--no-cache",
                "-o", f"{folder}/out.jsonl",
            ]  # fmt: skip
            peaks[count] = child(command)[1]
    name = f"peak memory at {turns:,} turns against 2,000"
    yield figure(name, peaks[turns] / 2**20, "MiB", peaks[2_000] / 2**20)


def child(command: list[str], stdin: str = "") -> tuple[float, int]:
    """Run a process and return its CPU seconds and its peak memory in bytes."""
    code = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)\n"
        "sys.stderr.buffer.write(done.stderr)\n"
        "use = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps([done.returncode, use.ru_utime + use.ru_stime, use.ru_maxrss]))\n"
    )
    # Compiled modules are kept, as an installed package has them.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code, *command], input=stdin, capture_output=True, text=True,
        cwd=ROOT, env={**kept, "PYTHONPYCACHEPREFIX": _compiled().name}, check=False,
    )  # fmt: skip
    status, seconds, peak = json.loads(done.stdout)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {status}: {done.stderr[-500:]}")
    return seconds, peak * (1 if sys.platform == "darwin" else 1024)


@cache
def _compiled() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=200_000, help="length of the memory test")
    arguments = parser.parse_args()
    figures = [*encoding(), *start_up(), *memory(arguments.turns)]
    for figure in figures:
        ratio = f"  ratio {figure.ratio:.2f}" if figure.ratio else ""
        print(f"{figure.name:55} {figure.value:10.3f} {figure.unit}{ratio}")
    (HERE / "results.json").write_bytes(msgspec.json.format(msgspec.json.encode(figures)) + b"\n")


if __name__ == "__main__":
    main()
