"""Kill ``grice score`` at random moments, repeat the command, compare the bytes.

python bench/kill.py FILE [--times 10]
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="conversations")
    parser.add_argument("--times", type=int, default=10)
    arguments = parser.parse_args()
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        cache = ["--cache", str(Path(folder, "cache"))]
        whole = Path(folder, "whole.jsonl")
        score = [sys.executable, "-m", "grice", "score", arguments.file]
        subprocess.run([*score, *cache, "-o", str(whole)], check=True, capture_output=True)
        start = time.monotonic()
        subprocess.run([*score, "--no-cache", "-o", str(whole)], check=True, capture_output=True)
        seconds = time.monotonic() - start
        for i in range(arguments.times):
            out = Path(folder, f"{i}.jsonl")
            moment = rng.uniform(0, 0.98 * seconds)
            process = subprocess.Popen(
                [*score, "--no-cache", "-o", str(out)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
            process.wait()
            partial = Path(f"{out}.partial")
            kept = partial.stat().st_size if partial.exists() else 0
            subprocess.run([*score, *cache, "-o", str(out)], check=True, capture_output=True)
            same = out.read_bytes() == whole.read_bytes()
            print(
                f"killed at {moment:5.1f} s, {kept:>10,} bytes kept: {'same' if same else 'OTHER'}"
            )


if __name__ == "__main__":
    main()
