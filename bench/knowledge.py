"""What a large file of your own knowledge costs, and how much of a score is computed again.

    python bench/knowledge.py [--rows 1000000]

Prints one JSON object per figure: processor time and peak memory of building, opening, adding to
and searching a file of so many triples; then of scoring the examples again after one triple was
added, against scoring them the first time, and how many texts the encoder read in each run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
RELATIONS = ("xWant", "xNeed", "xReact", "xEffect", "xAttr", "xIntent", "oReact", "oWant")
COUNTED = """
import sys
from grice.cli import main
from grice.models.embedded import EmbeddedEncoder
read = set()
for name in ("encode", "hidden"):
    def counting(self, texts, real=getattr(EmbeddedEncoder, name)):
        read.update(texts)
        return real(self, texts)
    setattr(EmbeddedEncoder, name, counting)
status = main(sys.argv[1:])
print("read", len(read), file=sys.stderr)
sys.exit(status)
"""


def write_rows(path: Path, rows: int) -> None:
    """Write triples out of 20,000 made words; a head has four of them on average."""
    draw = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(rows):
            head = f"PersonX w{draw.randrange(20_000)} w{draw.randrange(13)}"
            tail = f"to w{draw.randrange(20_000)} w{draw.randrange(20_000)}"
            file.write(f"{head}\t{draw.choice(RELATIONS)}\t{tail}\n")


def run(words: list[str], folder: Path) -> tuple[float, int, str]:
    """Return processor seconds, MiB at the peak so far, and standard error of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "GRICE_CACHE": str(folder / "cache")},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, after.ru_maxrss // 1024, done.stderr


def show(name: str, value: float, unit: str) -> None:
    print(json.dumps({"name": name, "value": round(value, 2), "unit": unit}), flush=True)


def measure_file(folder: Path, rows: int) -> None:
    write_rows(folder / "many.tsv", rows)
    show("text of the triples", (folder / "many.tsv").stat().st_size / 1e6, "MB")
    big = ["--kb", "many.kb"]
    for name, words in (
        ("build", ["kb", "build", "many.tsv", "-o", "many.kb"]),
        ("open and find", ["kb", "find", "w17", "w3", *big]),
        ("add one triple", ["kb", "add", "PersonX runs", "xWant", "to rest", "--to", "many.kb"]),
    ):
        seconds, peak, _ = run(words, folder)
        show(f"{name}, {rows:,} triples", seconds, "s of processor time")
        show(f"{name}, {rows:,} triples, peak so far", peak, "MiB")
    show("size of the file", (folder / "many.kb").stat().st_size / 1e6, "MB")


def measure_scores(folder: Path) -> None:
    run(["kb", "add", "PersonX sings", "xWant", "to dance", "--to", "my.kb"], folder)
    files = [str(ROOT / "examples" / name) for name in ("chatbots.jsonl", "charity.txt")]
    words = ["score", *files, "-m", "commonsense", "--workers", "1",
             "--commonsense-knowledge", "file:my.kb", "-o"]  # fmt: skip
    for name in ("the first time", "again", "after one triple was added"):
        if name.startswith("after"):
            run(["kb", "add", "PersonX eats", "xWant", "to sleep", "--to", "my.kb"], folder)
        seconds, _, output = run([*words, f"{name.split()[0]}.jsonl"], folder)
        show(f"score the examples {name}", seconds, "s of processor time")
        show(f"score the examples {name}", int(output.split()[-1]), "texts read by the encoder")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        measure_file(Path(folder), rows)
        measure_scores(Path(folder))


if __name__ == "__main__":
    main()
