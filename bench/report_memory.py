"""Memory of ``grice report`` over a folder of shards, and over one ten times as large.

    python bench/report_memory.py [--files 9] [--write docs/scale.md]

Files of 2,500 conversations of two turns, scored by ``log_length`` into a shard each; the smaller
corpus has more conversations than a page holds, so that both pages hold equally many.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from serving import written_between

from grice.integrations import Grading
from grice.integrations.shards import planned, score_shard

MARKS = (
    "<!-- what follows is written by bench/report_memory.py -->",
    "<!-- end of what it writes -->",
)
CONVERSATIONS = 2500


def corpus(folder: Path, files: int) -> None:
    folder.mkdir()
    for number in range(files):
        talks = [
            {
                "id": f"talk-{talk}",
                "turns": [f"Is it far from {talk}?", "On foot " * (talk % 7) + f"{number}."],
            }
            for talk in range(CONVERSATIONS)
        ]
        text = "".join(json.dumps(talk) + "\n" for talk in talks)
        (folder / f"{number:04}.jsonl").write_text(text, "utf-8")


def reported(folder: Path, files: int) -> str:
    """Return the row of a corpus: its size, and what writing its page took."""
    source, shards = folder / f"in-{files}", folder / f"out-{files}"
    corpus(source, files)
    tasks, _ = planned([source], shards, Grading(("log_length",)))
    assert not any(score_shard(task).problem for task in tasks)
    page = folder / f"{files}.html"
    command = ["-m", "grice", "report", shards, source, "-o", page, "--quiet"]
    began = time.perf_counter()
    process = subprocess.Popen(list(map(str, [sys.executable, *command])), stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    took = time.perf_counter() - began
    conversations = files * CONVERSATIONS
    size = sum(file.stat().st_size for file in (*shards.iterdir(), *source.iterdir())) / 1e6
    return (
        f"| {files} | {conversations:,} | {size:.1f} MB | {used.ru_maxrss / 1024:.0f} MiB | "
        f"{page.stat().st_size / 1e6:.2f} MB | {took:.0f} s |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=9)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    rows = [
        "| shards | conversations | they and their texts | memory at most | the page | took |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        rows += [reported(Path(name), times * arguments.files) for times in (1, 10)]
    written = "\n".join(rows) + "\n"
    print(written)
    if arguments.write:
        page = arguments.write.read_text("utf-8")
        arguments.write.write_text(written_between(page, MARKS, written), "utf-8")


if __name__ == "__main__":
    main()
