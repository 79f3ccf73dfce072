"""Workers that score files, killed on a plan, and the model of how long they take."""

from __future__ import annotations

import multiprocessing
import time
from queue import Empty
from typing import TYPE_CHECKING, NamedTuple

from grice.integrations.shards import Task, score_shard

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from multiprocessing.queues import Queue


class Kill(NamedTuple):
    """A worker that dies: so many seconds after the first file was begun, and which."""

    at: float
    worker: int


class Model(NamedTuple):
    """What decides how long workers take.

    Attributes:
        slower: How much longer a file takes than alone, by the workers that are busy.
        start: Seconds until a worker that was started again takes a file, alone on the machine.
    """

    slower: Mapping[int, float]
    start: float

    def factor(self, busy: int) -> float:
        """Return how much longer a file takes beside others, between what was measured."""
        known = sorted(self.slower)
        low = max(n for n in known if n <= busy)
        high = min((n for n in known if n >= busy), default=low)
        part = (busy - low) / (high - low) if high > low else 0.0
        return self.slower[low] + part * (self.slower[high] - self.slower[low])


def predicted(files: Sequence[float], workers: int, kills: Sequence[Kill], model: Model) -> float:
    """Return when the last of some files ends, each taken by whoever is free first.

    A worker that dies loses what it has of its file, which is taken again behind the others.

    Args:
        files: Seconds that each file takes a worker alone.
        workers: How many there are.
        kills: Which of them die, and when.
        model: How much they are in each other's way.
    """
    waiting, now = list(files), 0.0
    whole: list[float | None] = [None] * workers  # what the file in hand takes, and is left of it
    left = [0.0] * workers
    ready = [0.0] * workers
    coming = sorted(kills)
    while True:
        for worker in range(workers):
            if whole[worker] is None and ready[worker] <= now and waiting:
                whole[worker] = left[worker] = waiting.pop(0)
        busy = [worker for worker in range(workers) if whole[worker] is not None]
        if not busy and not waiting:
            return now
        pace = model.factor(len(busy)) if busy else 1.0
        events = [now + left[worker] * pace for worker in busy]
        events += [moment for moment in ready if moment > now]
        events += [kill.at for kill in coming[:1]]
        then = max(now, min(events))
        for worker in busy:
            left[worker] -= (then - now) / pace
            if left[worker] <= 1e-9:
                whole[worker] = None
        now = then
        if coming and coming[0].at <= now:
            worker = coming.pop(0).worker
            if (lost := whole[worker]) is not None:
                waiting.append(lost)
            whole[worker], ready[worker] = None, now + model.start * model.factor(workers)


def measured(tasks: Sequence[Task], warm: Task, workers: int, kills: Sequence[Kill]) -> float:
    """Return the seconds from when all workers are ready until the last file is scored."""
    crew = _Crew(warm, workers)
    began = time.perf_counter()
    waiting, finished, coming = list(tasks), 0, sorted(kills)
    while finished < len(tasks):
        for hand in crew.free():
            if waiting:
                crew.give(hand, waiting.pop(0))
        if coming and time.perf_counter() - began >= coming[0].at:
            lost = crew.kill(coming.pop(0).worker)
            waiting += [] if lost is None else [lost]
        finished += crew.finished()
    took = time.perf_counter() - began
    crew.close()
    return took


def started(warm: Task) -> float:
    """Return the seconds until a worker that is started takes a file: its models are loaded."""
    began = time.perf_counter()
    _Crew(warm, 1).close()
    return time.perf_counter() - began


class _Crew:
    """Processes that score a file at a time; one that dies is started again."""

    def __init__(self, warm: Task, workers: int) -> None:
        self._spawn = multiprocessing.get_context("spawn")
        self._warm = warm
        self._done: Queue[int] = self._spawn.Queue()
        self._held: list[Task | None] = [warm] * workers
        self._hands = [self._started(number) for number in range(workers)]
        while any(held is not None for held in self._held):  # until all have their models
            self.finished()

    def _started(self, number: int) -> tuple[multiprocessing.Process, Queue[Task | None]]:
        tasks: Queue[Task | None] = self._spawn.Queue()
        tasks.put(self._warm)
        process = self._spawn.Process(target=_work, args=(number, tasks, self._done), daemon=True)
        process.start()
        return process, tasks  # type: ignore[return-value] # of the context

    def free(self) -> list[int]:
        return [number for number, held in enumerate(self._held) if held is None]

    def give(self, number: int, task: Task) -> None:
        self._held[number] = task
        self._hands[number][1].put(task)

    def finished(self) -> int:
        """Return how many files were finished in the next moment; a first one is none."""
        try:
            number = self._done.get(timeout=0.01)
        except Empty:
            return 0
        real = self._held[number] is not self._warm
        self._held[number] = None
        return int(real)

    def kill(self, number: int) -> Task | None:
        """Kill a worker, start it again, and return the file that it had."""
        process, _ = self._hands[number]
        process.kill()
        process.join()
        lost = self._held[number]
        self._held[number] = self._warm
        self._hands[number] = self._started(number)
        return None if lost is self._warm else lost

    def close(self) -> None:
        for process, _ in self._hands:
            process.kill()
            process.join()


def _work(number: int, tasks: Queue[Task | None], done: Queue[int]) -> None:
    while (task := tasks.get()) is not None:
        assert score_shard(task).problem is None
        done.put(number)
