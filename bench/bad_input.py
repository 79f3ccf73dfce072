"""Give every command records that are wrong in two ways at once: nothing breaks, nothing is lost.

    python bench/bad_input.py [-m relevance,engagement,coherence,commonsense] [--size 300000]

The pairs are those of ``tests/bad_input.py``, empty and huge, wrong and hostile; each kind with all
others makes a file, with good records between the bad ones, which is given whole, gzipped and cut
off, in another encoding and with other line ends. A fault of grice, a failed score, an exit status
other than 0, 2 or 4, messages longer than a screen, or a command that takes two minutes of the
processor is printed; exit status 1 if there is one.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from bad_input import KINDS, lines  # noqa: E402

DEFAULT = "relevance,engagement,coherence,commonsense"
LONGEST = 20_000
SLOWEST = 120.0
"""Seconds of processor time."""


def files(folder: Path, kind: str, size: int) -> Iterator[Path]:
    """Write the records of a kind in several ways."""
    whole = b"".join(lines(kind, size))
    packed = gzip.compress(whole, 1)
    versions = {
        "whole.jsonl": whole,
        "cut.jsonl.gz": packed[: len(packed) * 2 // 3],
        "marked.jsonl": b"\xef\xbb\xbf" + whole.replace(b"\n", b"\r\n"),
        "old.jsonl": whole.replace(b"\n", b"\r"),
        "utf16.jsonl": whole.decode("utf-8", "replace").encode("utf-16"),
        "bare.jsonl": whole.rstrip(b"\n"),
    }
    for name, data in versions.items():
        path = folder / name
        path.write_bytes(data)
        yield path


def commands(path: Path, metrics: str, folder: Path) -> Iterator[list[str]]:
    given, chosen = [str(path)], ["-m", metrics, "--no-cache", "--mode", "fast"]
    out, report = str(folder / "out.jsonl"), str(folder / "report.html")
    yield ["score", *given, *chosen, "-o", out, "--no-resume", "--report", report]
    cheap = ["-m", "log_length,coherence" if "coherence" in metrics else metrics, "--no-cache"]
    yield ["explain", "--file", *given, *cheap, "--turn", "1"]
    yield ["perturb", *given, "-o", str(folder / "perturbed.jsonl")]
    if path.name == "whole.jsonl":
        yield ["sanity", *given, "-m", "log_length", "--no-cache"]
        yield ["health", *given, "-m", "log_length", "--no-cache"]
        yield ["triplets", "find", *given, "-o", str(folder / "links.jsonl")]


def run(words: list[str]) -> str | None:
    """Return what is wrong with how a command took it; None if nothing is."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "grice", *words], capture_output=True, check=False,
        env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    messages = done.stderr.decode("utf-8", "replace")
    if done.returncode not in (0, 2, 4) or "a fault of grice" in messages:
        return f"exit status {done.returncode}: {messages[-300:]!r}"
    if " failed, the first: " in messages:
        return f"failed scores: {messages[-300:]!r}"
    if len(messages) > LONGEST:
        return f"{len(messages):,} characters of messages"
    return f"{seconds:.0f} s" if seconds > SLOWEST else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--metrics", default=DEFAULT)
    parser.add_argument("--size", type=int, default=300_000, help="of what is huge, in characters")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind with others")
    arguments = parser.parse_args()
    wrong = count = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for kind in arguments.kind or KINDS:
            for path in files(folder, kind, arguments.size):
                for words in commands(path, arguments.metrics, folder):
                    count += 1
                    if problem := run(words):
                        wrong += 1
                        print(f"{kind}: {' '.join(words[:3])}: {problem}", flush=True)
            print(f"{kind}: {count:,} commands so far", file=sys.stderr, flush=True)
    print(f"{count:,} commands on {len(arguments.kind or KINDS)} kinds with all others: "
          f"{wrong} went wrong")  # fmt: skip
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
