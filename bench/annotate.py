"""``grice annotate`` under load and under ``kill -9``, against the real command::

python bench/annotate.py --write docs/annotate.md
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import numpy as np
from serving import written_between

PACE = 0.5
"""Seconds between two answers of a judge: two a second."""
ASSET = "/assets/studio.css"
KILLED = 20
"""Judges whose server is killed."""
MARKS = ("<!-- load -->", "<!-- end of load -->")


class Answered(NamedTuple):
    """An answer that the server has acknowledged."""

    judge: str
    task: str
    rating: int


class Server:
    """The command in a process of its own."""

    def __init__(self, folder: Path, judges: int, items: int) -> None:
        self.file, self.database = folder / "talks.jsonl", folder / "study.db"
        self.names = [f"judge{number:02}" for number in range(judges)]
        with self.file.open("w", encoding="utf-8") as lines:
            for number in range(items):
                words = ("How are you?", f"Fine, reply {number}.")
                turns = [
                    {"speaker": who, "text": text} for who, text in zip("AB", words, strict=True)
                ]
                record = {"id": f"talk-{number}", "turns": turns, "targets": [1]}
                lines.write(json.dumps(record) + "\n")
        self.links: dict[str, str] = {}

    def start(self) -> None:
        command = [
            *(sys.executable, "-m", "grice", "annotate", "rating", str(self.file), "--json"),
            *("--db", str(self.database), "--port", "0", "--check-every", "0"),
            *(part for name in self.names for part in ("--judge", name)),
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.links = {}
        for line in self.process.stdout:
            row = json.loads(line)
            self.links[row["name"]] = row["link"]
            if len(self.links) == len(self.names) + 1:
                return
        raise SystemExit("the command ended by itself")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)

    def export(self) -> list[dict[str, object]]:
        command = [sys.executable, "-m", "grice", "annotate", "export", "--db", str(self.database)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return [json.loads(line) for line in lines.splitlines()]


class Judge:
    """Somebody who answers at a pace, and keeps what was acknowledged."""

    def __init__(self, name: str, link: str, seed: int) -> None:
        place = urlsplit(link)
        self.name, self.path = name, place.path
        self.connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
        self.draw = random.Random(seed)
        self.acknowledged: list[Answered] = []
        self.pages: list[float] = []
        self.static: list[float] = []

    def ask(self, method: str, path: str, body: str = "") -> bytes:
        self.connection.request(
            method,
            path,
            body or None,
            {"Content-Type": "application/x-www-form-urlencoded"},
        )
        response = self.connection.getresponse()
        content = response.read()
        if response.status not in (200, 303):
            raise AssertionError(f"{response.status}: {content[:200]!r}")
        return content

    def step(self) -> bool:
        """Read a page, answer it; False where no task is left."""
        began = time.perf_counter()
        page = self.ask("GET", self.path).decode()
        middle = time.perf_counter()
        self.ask("GET", ASSET)
        end = time.perf_counter()
        self.pages.append(middle - began)
        self.static.append(end - middle)
        task = re.search(r'name="task" value="(\d+)"', page)
        if task is None:
            return False
        number = re.search(r"Fine, reply (\d+)\.", page)[1]  # type: ignore[index]
        rating = self.draw.randint(1, 5)
        began = time.perf_counter()
        self.ask("POST", self.path, urlencode({"task": task[1], "aspect0": rating}))
        self.pages.append(time.perf_counter() - began)
        self.acknowledged.append(Answered(self.name, f"talk-{number}:1", rating))
        return True

    def run(self, until: float) -> None:
        time.sleep(self.draw.random() * PACE)
        while (now := time.perf_counter()) < until:
            try:
                if not self.step():
                    return
            except (OSError, http.client.HTTPException):
                return  # the server was killed
            time.sleep(max(0.0, PACE - (time.perf_counter() - now)))


def run_judges(server: Server, seconds: float, seed: int) -> list[Judge]:
    judges = [
        Judge(name, server.links[name], seed + place) for place, name in enumerate(server.names)
    ]
    until = time.perf_counter() + seconds
    threads = [threading.Thread(target=judge.run, args=(until,)) for judge in judges]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return judges


def compared(server: Server, acknowledged: list[Answered]) -> tuple[int, int, int]:
    """Return how many answers are kept, how many acknowledged ones are not, how many double."""
    kept = []
    for record in server.export():
        pairs = zip(record["annotators"], record["ratings"], strict=True)  # type: ignore[call-overload]
        kept += [Answered(name, str(record["id"]), rating) for name, rating in pairs]
    places = [(answer.judge, answer.task) for answer in kept]
    return len(kept), len(set(acknowledged) - set(kept)), len(places) - len(set(places))


def load(folder: Path, arguments: argparse.Namespace) -> list[str]:
    labels = int(arguments.judges * arguments.seconds / PACE)
    server = Server(folder, arguments.judges, labels // 3 + 10)
    server.start()
    judges = run_judges(server, arguments.seconds, 0)
    server.stop()
    acknowledged = [answer for judge in judges for answer in judge.acknowledged]
    pages, static = (
        np.array([value for judge in judges for value in getattr(judge, name)]) * 1000
        for name in ("pages", "static")
    )
    kept, lost, double = compared(server, acknowledged)
    rate = len(acknowledged) / arguments.seconds
    times = ", ".join(
        f"{name} {np.percentile(values, 50):.0f} ms (95 %: {np.percentile(values, 95):.0f} ms)"
        for name, values in (("a page", pages), ("beside it a static file", static))
    )
    return [
        f"- {arguments.judges} judges at once for {arguments.seconds:g} s: {rate:.0f} answers a "
        f"second; acknowledged {len(acknowledged):,}, kept {kept:,}, lost {lost}, double {double}.",
        f"- Median time of {times}.",
    ]


def kill(folder: Path, arguments: argparse.Namespace) -> list[str]:
    server = Server(folder, KILLED, 20_000)
    acknowledged: list[Answered] = []
    draw = random.Random(0)
    for time_killed in range(arguments.times):
        server.start()
        timer = threading.Timer(0.3 + draw.random() * 2, server.kill)
        timer.start()
        judges = run_judges(server, 5.0, time_killed * 100)
        timer.join()
        acknowledged += [answer for judge in judges for answer in judge.acknowledged]
    kept, lost, double = compared(server, acknowledged)
    return [
        f"- `kill -9` {arguments.times} times at random points, {KILLED} judges: acknowledged "
        f"{len(acknowledged):,}, kept {kept:,}, lost {lost}, double {double}."
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judges", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    lines = []
    for measure in (load, kill):
        with tempfile.TemporaryDirectory() as folder:
            lines += measure(Path(folder), arguments)
        print("\n".join(lines), flush=True)
    if arguments.write:
        page = arguments.write.read_text("utf-8")
        written = written_between(page, MARKS, "\n".join(lines) + "\n")
        arguments.write.write_text(written, "utf-8")


if __name__ == "__main__":
    main()
