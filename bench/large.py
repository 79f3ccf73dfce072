"""Time and memory of compare and gate on many items, of the report on many conversations, and of
one conversation of many turns.

    python bench/large.py     200,000 items; 10,000 conversations; a conversation of 60,000 turns
    python bench/large.py --items 20000 --conversations 1000 --turns 6000

Each figure is that of a process of its own: CPU seconds and peak of resident memory, start of
Python included.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

TURNS = 20


def scores(path: Path, items: int, shift: float, seed: int) -> None:
    """Write scores of one metric as ``grice score`` does, twenty per conversation."""
    rng = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for number in range(items):
            row = {
                "conversation": f"chat-{number // TURNS}", "turn": number % TURNS,
                "metric": "relevance", "value": min(1.0, rng.betavariate(4, 3) + shift),
                "status": "ok", "reason": None, "flags": [], "evidence": [],
                "signature": "relevance:1",
            }  # fmt: skip
            file.write(json.dumps(row) + "\n")


def chats(path: Path, conversations: int) -> None:
    """Write conversations of six short turns."""
    rng = random.Random(1)
    words = "tea rain train garden sister music book river bread winter horse letter".split()  # noqa: SIM905
    with path.open("w", encoding="utf-8") as file:
        for number in range(conversations):
            turns = [
                {"speaker": "AB"[i % 2], "text": " ".join(rng.choices(words, k=rng.randint(3, 15)))}
                for i in range(6)
            ]
            file.write(json.dumps({"id": f"chat-{number}", "turns": turns}) + "\n")


def long_chat(path: Path, turns: int, *, targets: bool) -> None:
    """Write one conversation, with each of its turns named as a target or without targets."""
    turns_made = [{"speaker": "AB"[i % 2], "text": "word " * (i % 7 + 1)} for i in range(turns)]
    named = {"targets": list(range(turns))} if targets else {}
    path.write_text(json.dumps({"id": "long", "turns": turns_made, **named}) + "\n", "utf-8")


def run(name: str, words: list[str], allowed: tuple[int, ...] = (0,)) -> None:
    """Run a grice command and print what it took.

    Raises:
        SystemExit: If its exit status is none of those allowed.
    """
    child = subprocess.Popen(
        [sys.executable, "-m", "grice", *words], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in allowed:
        raise SystemExit(f"{name}: exit status {child.returncode}")
    memory = used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    print(f"| {name} | {used.ru_utime + used.ru_stime:.1f} | {memory:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=60_000)
    arguments = parser.parse_args()
    print("| what | CPU s | peak MiB |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        before, after, talk, page = (
            folder / name for name in ("a.jsonl", "b.jsonl", "chats.jsonl", "page.html")
        )
        scores(before, arguments.items, 0.0, 1)
        scores(after, arguments.items, 0.01, 2)
        chats(talk, arguments.conversations)
        size = f"{arguments.items:,} items"
        run(f"compare, {size} a side, with its page",
            ["compare", str(before), str(after), "--report", str(page)])  # fmt: skip
        run(f"gate, {size}", ["gate", str(before), "--min", "relevance=0.3"], (0, 1))
        run(f"score, three metrics without a model, {arguments.conversations:,} conversations",
            ["score", str(talk), "--metrics", "log_length,turn_count,overlap_last_turn",
             "-o", str(folder / "s.jsonl"), "--no-cache"])  # fmt: skip
        run(f"the same with its report, {arguments.conversations:,} conversations",
            ["score", str(talk), "--metrics", "log_length,turn_count,overlap_last_turn",
             "-o", str(folder / "r.jsonl"), "--no-cache", "--report", str(page)])  # fmt: skip
        for targets, note in ((False, "no targets"), (True, "each turn a target")):
            long_chat(talk, arguments.turns, targets=targets)
            run(f"score, two metrics, one conversation of {arguments.turns:,} turns, {note}",
                ["score", str(talk), "--metrics", "log_length,overlap_last_turn",
                 "-o", str(folder / "l.jsonl"), "--no-cache"])  # fmt: skip
        print(f"\nThe report has {page.stat().st_size / 2**20:.1f} MiB.")


if __name__ == "__main__":
    main()
