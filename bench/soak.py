"""Ten minutes of a service under 64 clients, with bad clients every other half minute.

    python bench/soak.py [--minutes 10] [--rate 16] [--write docs/scale.md --picture docs/soak.svg]

``grice serve`` runs with a file of keys and one worker. 64 clients ask for a reply each, together
as many a second as ``--rate`` says: it is bounded, so that the run leaves the machine to others.
In every other half minute bad clients come as well, one of each kind: a head that comes a byte a
second, a body of 2 MiB, half an object of JSON, lists nested 10,000 deep, bytes that are no UTF-8,
a key of nobody, and a head of 64 KiB. Measured are the memory of the process once a second, what
each kind was answered, and how long the other clients wait with and without them: halves of one
run, side by side.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

from serving import CLIENTS, METRICS, bodies, written_between

from grice.serve.keys import key_line, new_key

MARKS = "<!-- what follows is written by bench/soak.py -->", "<!-- end of what it writes -->"
HALF = 30.0
"""Seconds with bad clients, and as many without."""
PAUSE = 0.5
"""Seconds between the requests of a bad client."""
WIDTH, HEIGHT, EDGE = 640, 240, 44
GOOD = b'{"turns": ["Is it far?", "Ten minutes."]}'


class Asked(NamedTuple):
    """A request of a good client: when, how long, how it was answered, beside bad ones or not."""

    at: float
    seconds: float
    status: int
    beside: bool


class Run:
    """The clock of a run, and what came together in it."""

    def __init__(self, port: int, key: str, minutes: float) -> None:
        self.port, self.key = port, key
        self.began = time.perf_counter()
        self.seconds = 60 * minutes
        self.asked: list[Asked] = []
        self.bad: dict[str, Counter[str]] = defaultdict(Counter)
        self.memory: list[tuple[float, float]] = []

    def now(self) -> float:
        return time.perf_counter() - self.began

    @property
    def over(self) -> bool:
        return self.now() >= self.seconds

    def beside(self, at: float) -> bool:
        return int(at // HALF) % 2 == 1


def good_client(run: Run, number: int, period: float, work: object) -> None:
    connection = HTTPConnection("127.0.0.1", run.port, timeout=90)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {run.key}"}
    due = number * period / CLIENTS
    while not run.over:
        time.sleep(max(0.0, due - run.now()))
        due = max(due + period, run.now())
        turns = next(work)  # type: ignore[call-overload]
        body = json.dumps({"turns": turns, "targets": [len(turns) - 1]})
        at = run.now()
        connection.request("POST", "/score", body, headers)
        answer = connection.getresponse()
        answer.read()
        run.asked.append(Asked(at, run.now() - at, answer.status, run.beside(at)))


def head(run: Run, length: int, more: str = "", key: str | None = None) -> bytes:
    return (
        f"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {run.key if key is None else key}\r\n{more}"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def whole(run: Run, body: bytes, **options: str) -> list[bytes]:
    return [head(run, len(body), **options) + body]


def kinds(run: Run) -> dict[str, list[bytes]]:
    """Return what each bad client sends, part by part, a second between them."""
    flood = "".join(f"X-{number}: {'x' * 1000}\r\n" for number in range(64))
    deep = b'{"turns": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"
    return {
        "a byte a second": [bytes([byte]) for byte in head(run, len(GOOD))],
        "a body of 2 MiB": whole(run, b'{"turns": ["' + b"x" * (2 << 20) + b'"]}'),
        "half an object": whole(run, b'{"turns": ["Is it'),
        "nested 10,000 deep": whole(run, deep),
        "no UTF-8": whole(run, b'{"turns": ["\xff\xfe"]}'),
        "a key of nobody": whole(run, GOOD, key="nobody"),
        "a head of 64 KiB": whole(run, GOOD, more=flood),
    }


def sent(port: int, parts: list[bytes]) -> str:
    """Return the status that a service answers with, or how the connection ended."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            for part in parts:
                connection.sendall(part)
                if len(parts) > 1:
                    time.sleep(1)
            line = connection.recv(64)
    except TimeoutError:
        return "no answer"
    except OSError:
        return "closed"
    return line.split()[1].decode() if line.startswith(b"HTTP/") else "closed"


def bad_client(run: Run, kind: str, parts: list[bytes]) -> None:
    while not run.over:
        if run.beside(run.now()):
            run.bad[kind][sent(run.port, parts)] += 1
        time.sleep(PAUSE)


def watched(run: Run, pid: int) -> None:
    page = os.sysconf("SC_PAGE_SIZE")
    while not run.over:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        run.memory.append((run.now(), pages * page / 2**20))
        time.sleep(1)


def centile(values: list[float], part: float) -> float:
    return sorted(values)[int(part * (len(values) - 1))]


def soaked(minutes: float, rate: float) -> tuple[Run, str]:
    """Return what came together in a run, and how the service ended."""
    with tempfile.TemporaryDirectory() as name:
        key, keys = new_key(), Path(name, "keys")
        keys.write_text(key_line("soak", key) + "\n", "utf-8")
        command = ["serve", "--port", "0", "-m", METRICS, "--workers", "1", "--no-cache", "--keys"]
        service = subprocess.Popen(
            [sys.executable, "-m", "grice", *command, str(keys)], stderr=subprocess.PIPE, text=True
        )
        try:
            assert service.stderr is not None
            address = re.search(r":(\d+) ", service.stderr.readline())
            assert address is not None
            texts = itertools.chain.from_iterable(bodies(500, f"n{i}-") for i in itertools.count())
            run = Run(int(address[1]), key, minutes)
            work = Shared(texts)
            threads = [
                threading.Thread(target=good_client, args=(run, number, CLIENTS / rate, work))
                for number in range(CLIENTS)
            ]
            threads += [
                threading.Thread(target=bad_client, args=(run, kind, parts))
                for kind, parts in kinds(run).items()
            ]
            threads.append(threading.Thread(target=watched, args=(run, service.pid)))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            told = time.perf_counter()
            service.terminate()
            status = service.wait(300)
        ended = f"exit status {status} after {time.perf_counter() - told:.1f} s"
    return run, ended


class Shared:
    """An iterator that several threads may ask."""

    def __init__(self, items: object) -> None:
        self._items, self._lock = iter(items), threading.Lock()  # type: ignore[call-overload]

    def __next__(self) -> object:
        with self._lock:
            return next(self._items)


def table(run: Run, ended: str) -> str:
    scored = [asked for asked in run.asked if asked.status == 200]  # who is put off waits for none
    waits = {
        beside: [1000 * asked.seconds for asked in scored if asked.beside == beside]
        for beside in (False, True)
    }
    statuses = Counter(asked.status for asked in run.asked)
    minutes = run.seconds / 60
    parts = [
        statistics.median(held for at, held in run.memory if low <= at / run.seconds < low + 0.1)
        for low in (0.1, 0.5, 0.9)
    ]
    slow = [centile(waits[beside], 0.95) for beside in (False, True)]
    rows = [
        ("clients", f"{CLIENTS}, {len(run.asked) / run.seconds:.1f} requests a second together"),
        ("answered", ", ".join(f"{count:,} × {status}" for status, count in statuses.items())),
        (
            "memory after "
            + ", ".join(f"{part * minutes:.1f}" for part in (0.15, 0.55, 0.95))
            + " minutes",
            ", ".join(f"{part:.0f} MiB" for part in parts),
        ),
        ("half of them wait, without and with bad clients", _both(waits, 0.5)),
        (
            "95 % wait at most, without and with bad clients",
            f"{_both(waits, 0.95)}: {slow[1] / slow[0]:.2f} ×",
        ),
        *(
            (f"bad: {kind}", ", ".join(f"{count:,} × {answer}" for answer, count in got.items()))
            for kind, got in run.bad.items()
        ),
        ("end of the service by SIGTERM", ended),
        ("load of this machine at the end", f"{os.getloadavg()[0]:.1f}"),
    ]
    lines = [f"| {name} | {value} |" for name, value in rows]
    return "\n".join(["| what | measured |", "|---|---|", *lines]) + "\n"


def _both(waits: dict[bool, list[float]], part: float) -> str:
    return " and ".join(f"{centile(waits[beside], part):.0f} ms" for beside in (False, True))


def picture(run: Run) -> str:
    """Return memory over time, with the half minutes of bad clients shaded."""
    top = 1.25 * max(held for _, held in run.memory)

    def x(at: float) -> float:
        return EDGE + (WIDTH - EDGE - 10) * at / run.seconds

    def y(held: float) -> float:
        return HEIGHT - 30 - (HEIGHT - 50) * held / top

    bands = [
        f'<rect x="{x(at):.1f}" y="20" width="{x(HALF) - x(0):.1f}" height="{HEIGHT - 50}" '
        'fill="#8883"/>'
        for at in range(int(HALF), int(run.seconds), int(2 * HALF))
    ]
    step = 50 if top < 500 else 200
    ticks = [
        f'<path d="M{EDGE} {y(held):.1f}H{WIDTH - 10}" stroke="#8886"/>'
        f'<text x="{EDGE - 6}" y="{y(held) + 4:.1f}" text-anchor="end">{held}</text>'
        for held in range(0, int(top), step)
    ]
    minutes = [
        f'<text x="{x(60 * minute):.1f}" y="{HEIGHT - 12}" text-anchor="middle">{minute}</text>'
        for minute in range(0, int(run.seconds / 60) + 1, 2)
    ]
    line = " ".join(f"{x(at):.1f},{y(held):.1f}" for at, held in run.memory)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="11" fill="#777">',
            "<title>Memory of grice serve in MiB over minutes, bad clients shaded</title>",
            *bands,
            *ticks,
            *minutes,
            f'<polyline points="{line}" fill="none" stroke="#27c" stroke-width="1.5"/>',
            f'<text x="{EDGE}" y="13">MiB held, by minutes; shaded: bad clients</text>',
            "</svg>\n",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=float, default=16)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    run, ended = soaked(arguments.minutes, arguments.rate)
    written = table(run, ended)
    print(written)
    if arguments.picture:
        arguments.picture.write_text(picture(run), "utf-8")
    if arguments.write:
        page = arguments.write.read_text("utf-8")
        arguments.write.write_text(written_between(page, MARKS, written), "utf-8")


if __name__ == "__main__":
    main()
