"""Kill workers, schedulers, drivers and the service at random points, and look what is lost.

    python bench/faults.py [--times 20] [--what worker …] [--write docs/scale.md]

Small files are scored by relevance on Dask: a scheduler and two workers, each a process of its own,
and a driver that calls :func:`grice.integrations.score_on`. One of them is killed (SIGKILL) once a
random number of shards is there, and a random moment later; what was killed is started again, and
the driver, too, until it ends well. A shard that a driver was told of must be there in the end,
every shard must have the bytes of a local run, and there must be no other. The service is killed
while clients ask, and started again at its port; they repeat what was not answered. Every answer
must hold the scores of the library, once. Processes are forks of this one, so that a try costs
seconds; a fork loads its models itself.

Ray and Spark run beside their driver, which starts them itself; of theirs a worker is killed, the
process that scores a file.

Needs Dask (``pip install "grice[dask,serve]"``), and ``grice[ray]`` and ``grice[spark]`` for those.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

from distributed import Scheduler, Worker
from serving import bodies, conversation, written_between
from timed_shards import files_of

import grice
from grice.integrations import Grading, score_on
from grice.integrations.shards import planned, score_shard
from grice.serve import Limits
from grice.serve.app import application
from grice.serve.server import serve

if TYPE_CHECKING:
    from collections.abc import Callable

MARKS = "<!-- what follows is written by bench/faults.py -->", "<!-- end of what it writes -->"
GRADING = Grading(("relevance",))
FILES, CONVERSATIONS = 8, 2
SEVERAL = 4
"""So many workers die in each run of an engine that is slow to start, which has more files, too."""
WHAT = ["worker", "scheduler", "driver", "worker-of-ray", "worker-of-spark", "service"]
HEAD = (
    "| killed | times | acknowledged before | of these lost | twice or of nothing | "
    "bytes or values differ in the end | more |\n|---|---|---|---|---|---|---|"
)
PATIENCE = 60
"""Seconds until a driver that lost its scheduler is ended, and started again."""
CLIENTS, REQUESTS = 4, 24


def forked(function: Callable[[], object]) -> int:
    """Run a function in a process of its own, and return its number."""
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    status = 1
    try:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            function()
        status = 0
    finally:
        os._exit(status)


def kill(pid: int) -> int:
    """Kill a process of this one, and return how many that are."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return 1


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def wait_for(port: int) -> None:
    """Return once somebody listens there."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise TimeoutError(port)


class Cluster:
    """A scheduler and two workers."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = forked(lambda: asyncio.run(self._schedule()))
        wait_for(self.port)  # a driver refuses an address at which nobody listens
        self.workers = [forked(self._work) for _ in range(2)]

    async def _schedule(self) -> None:
        async with Scheduler(host="127.0.0.1", port=self.port, dashboard=False) as scheduler:
            await scheduler.finished()

    def _work(self) -> None:
        async def work() -> None:
            async with Worker(self.address, nthreads=1, dashboard=False) as worker:
                await worker.finished()

        asyncio.run(work())

    def kill_worker(self) -> int:
        number = random.randrange(2)
        kill(self.workers[number])
        self.workers[number] = forked(self._work)
        return 1

    def kill_scheduler(self) -> int:
        self.close()
        self.__init__()  # type: ignore[misc] # all of it anew
        return 1

    def close(self) -> None:
        for pid in (self.scheduler, *self.workers):
            kill(pid)


class Beside:
    """An engine that its driver starts beside itself: nothing runs before or after."""

    address = None

    def __init__(self, title: str) -> None:
        self._title = title

    def kill_worker(self) -> int:
        """Kill one of the processes that score: they bear the title, and so does no child.

        Returns:
            1; 0 if the run ended before.
        """
        end = time.monotonic() + PATIENCE / 2
        while time.monotonic() < end:
            below = processes_below(os.getpid())
            titled = {pid for pid in below if self._title in command_of(pid)}
            if scoring := sorted(titled - {below[pid] for pid in titled}):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(random.choice(scoring), signal.SIGKILL)
                    return 1
            time.sleep(0.01)
        return 0

    def close(self) -> None:
        """All of it ended with the driver."""


def processes_below(pid: int) -> dict[int, int]:
    """Return the parent of each process that descends from one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
    below: dict[int, int] = {}
    while new := {p: q for p, q in parents.items() if q in {pid, *below} and p not in below}:
        below |= new
    return below


def command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


BESIDE = {"ray": "ray::MapWorker", "spark": "pyspark.daemon"}
"""How the process is named that scores a file."""


def drive(engine: str, address: str | None, files: Path, folder: Path, told: Path) -> None:
    """Score the files, and write down each shard once it was told of."""
    with told.open("a", buffering=1) as lines:
        for shard in score_on(engine, [files], folder, GRADING, address=address):
            assert shard.problem is None
            lines.write(Path(shard.shard).name + "\n")


def ended(pid: int, patience: float) -> int | None:
    """Return the status of a process; None if it went on and was killed."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    kill(pid)
    return None


def shards_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("[!.]*.parquet")}


def engine_try(
    engine: str, what: str, kills: int, files: Path, folder: Path, expected: dict[str, bytes]
) -> Counter[str]:
    """Kill something during a run, finish the run, and count what came of it."""
    cluster: Cluster | Beside = Beside(BESIDE[engine]) if engine in BESIDE else Cluster()
    told = folder.with_suffix(".told")
    folder.mkdir()
    told.touch()
    counts: Counter[str] = Counter()
    try:
        driver = forked(lambda: drive(engine, cluster.address, files, folder, told))
        for wanted in sorted(random.sample(range(len(expected)), kills)):
            end = time.monotonic() + 4 * PATIENCE
            while len(shards_in(folder)) < wanted and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(random.uniform(0, 0.2))
            counts["kills"] += (
                kill(driver) if what == "driver" else getattr(cluster, f"kill_{what}")()
            )
        if what != "driver":
            status = ended(driver, kills * PATIENCE)
            counts["runs finished by themselves"] += status == 0
            counts["driver ended for it"] += status is None
        acknowledged = set(told.read_text().split())
        for _ in range(5):
            if ended(forked(lambda: drive(engine, cluster.address, files, folder, told)), 300) == 0:
                break
        final = shards_in(folder)
        counts["acknowledged"] = len(acknowledged)
        counts["lost"] = len(acknowledged - final.keys())
        counts["twice or other"] = len(final.keys() - expected.keys())
        counts["bytes differ"] = sum(final.get(name) != expected[name] for name in expected)
    finally:
        cluster.close()
    return counts


def engines(times: int, what: str) -> Counter[str]:
    kind, _, engine = what.partition("-of-")
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        files = Path(name, "in")
        files_of(files, FILES * (SEVERAL if engine else 1), CONVERSATIONS)

        def locally() -> None:
            tasks, _ = planned([files], Path(name, "local"), GRADING)
            assert not any(score_shard(task).problem for task in tasks)

        assert ended(forked(locally), 600) == 0
        expected = shards_in(Path(name, "local"))
        while counts["kills"] < times:
            shards = Path(name, str(counts["runs"]))
            kills = min(SEVERAL, times - counts["kills"]) if engine else 1
            counts += engine_try(engine or "dask", kind, kills, files, shards, expected)
            counts["runs"] += 1
            print(what, dict(counts), flush=True)
    return counts


def serving(port: int) -> None:
    with grice.load("relevance", workers=1) as grader:
        app = application(grader, limits=Limits())
        serve(app, host="127.0.0.1", port=port, limits=Limits(), begun=lambda _: None)


def values(answer: object) -> list[object]:
    return [(score["turn"], score["metric"], score["value"]) for score in answer]  # type: ignore


def service(times: int) -> Counter[str]:
    """Kill the service while clients ask, so many times, and count what they were answered."""
    talks = bodies(REQUESTS, "fault")
    with tempfile.TemporaryDirectory() as name:
        known = Path(name, "known.json")

        def locally() -> None:
            with grice.load("relevance", workers=1) as grader:
                scored = grader.score([conversation(talk) for talk in talks])
                known.write_text(json.dumps(scored.to_json()), "utf-8")

        assert ended(forked(locally), 600) == 0
        expected = [values([score]) for score in json.loads(known.read_text("utf-8"))]
    counts: Counter[str] = Counter()
    for _ in range(times):
        port = free_port()
        server, left = forked(lambda: serving(port)), list(range(REQUESTS))  # noqa: B023
        answered: list[tuple[int, bool]] = []
        repeated = Counter[str]()

        def client() -> None:
            while left:  # noqa: B023
                try:
                    number = left.pop()  # noqa: B023
                except IndexError:
                    return
                while True:
                    try:
                        scores = asked(port, talks[number])  # noqa: B023
                    except (OSError, HTTPException):
                        repeated["requests repeated"] += 1  # noqa: B023
                        time.sleep(0.2)
                        continue
                    answered.append((number, values(scores) == expected[number]))  # noqa: B023
                    break

        threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        wanted = random.randrange(1, REQUESTS - CLIENTS)
        while len(answered) < wanted:
            time.sleep(0.002)
        kill(server)
        counts["kills"] += 1
        counts["acknowledged"] += len(answered)
        server = forked(lambda: serving(port))  # noqa: B023
        for thread in threads:
            thread.join()
        kill(server)
        counts["answered in the end"] += len(answered)
        counts["lost"] += REQUESTS - len({number for number, _ in answered})
        counts["twice or other"] += len(answered) - len({number for number, _ in answered})
        counts["values differ"] += sum(not same for _, same in answered)
        print("service", dict(counts), flush=True)
    return counts


def asked(port: int, turns: list[dict[str, str]]) -> object:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({"turns": turns, "targets": [len(turns) - 1]})
    try:
        connection.request("POST", "/score", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise HTTPException(answer.status)
        return json.loads(answer.read())["scores"]
    finally:
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--what", nargs="+", choices=WHAT, default=WHAT)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    rows = rows_of(arguments.write.read_text("utf-8")) if arguments.write else {}
    for what in arguments.what:
        counts = service(arguments.times) if what == "service" else engines(arguments.times, what)
        differ = counts.pop("bytes differ", 0) + counts.pop("values differ", 0)
        shown = [counts.pop(n, 0) for n in ("kills", "acknowledged", "lost", "twice or other")]
        more = ", ".join(f"{name}: {count}" for name, count in counts.items() if count)
        rows[what] = f"| {what} | {' | '.join(f'{n:,}' for n in (*shown, differ))} | {more} |"
        print(rows[what], flush=True)
        if arguments.write:
            lines = [HEAD, *(rows[what] for what in WHAT if what in rows)]
            page = written_between(
                arguments.write.read_text("utf-8"), MARKS, "\n".join(lines) + "\n"
            )
            arguments.write.write_text(page, "utf-8")


def rows_of(page: str) -> dict[str, str]:
    """Return the rows that a page has, by what was killed: some may be run again alone."""
    lines = (line for line in page.splitlines() if line.startswith("| "))
    return {what: line for line in lines if (what := line.split(" | ")[0][2:]) in WHAT}


if __name__ == "__main__":
    main()
