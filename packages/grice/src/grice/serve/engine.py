"""Requests take turns in computing, and those that wait are scored together in one batch.

Short requests and long ones each have a line, whose first request computes, with as many workers as
the models have. A long one goes to the end of its line at each step of a tracked loop
(:mod:`grice.progress`): a part of its replies, or a batch of a model. A request is short up to
:data:`SHORT` characters and :data:`FIRST` seconds. Batches and parts do not change scores.
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import perf_counter
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec.structs import replace
from prometheus_client import CollectorRegistry, Counter, Gauge

from grice.data import Conversation, Finding, Score, json_line
from grice.detectors import ALL, find_flaws
from grice.detectors.rules import selected
from grice.errors import StoppedError
from grice.progress import Advance, watched
from grice.scoring.api import Scorer
from grice.scoring.loaded import judged_turns
from grice.serve.bodies import RETRY, Refused

if TYPE_CHECKING:
    from grice.serve import Limits

SHORT = 8_000
"""Characters of a short request, and of a batch of them."""
FIRST = 0.5
"""Seconds of computing after which a request is no longer short."""
PART = 1_000
"""Characters of replies that a metric judges in one step."""

Result = TypeVar("Result")
Judged: TypeAlias = "tuple[list[Score], list[Finding]]"
"""Scores and findings of a conversation."""


class _Job:
    """A request for scores of conversations, or for the result of a call."""

    def __init__(
        self, conversations: Sequence[Conversation], call: Callable[[], object] | None = None
    ) -> None:
        self.conversations, self.call = conversations, call
        self.turns = sum(len(conversation.turns) for conversation in conversations)
        self.size = len(json_line(conversations))
        self.done: asyncio.Future[Any] = asyncio.Future()


class _Line:
    """Threads in the order in which they came; the first one computes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: deque[threading.Event] = deque()

    def enter(self) -> None:
        """Wait until all who came earlier have left."""
        mine = threading.Event()
        with self._lock:
            self._threads.append(mine)
            self._threads[0].set()
        mine.wait()

    def leave(self) -> None:
        """Let the next one compute."""
        with self._lock:
            self._threads.popleft()
            if self._threads:
                self._threads[0].set()


class _Scorer(Scorer):
    """A scorer whose scores do not each repeat the fields of their record."""

    def score(self, conversations: Sequence[Conversation]) -> list[list[Score]]:
        groups = super().score(conversations)
        return [[replace(score, meta={}) for score in group] for group in groups]

    def judge(self, conversations: Sequence[Conversation]) -> list[Judged]:
        """Return the scores of each conversation, and the findings of the default rules."""
        rules = selected(ALL)
        return [
            (scores, find_flaws(talk, rules, judged_turns(talk, self.speakers)))
            for talk, scores in zip(conversations, self.score(conversations), strict=True)
        ]


class Engine:
    """Scores requests while its context is open."""

    def __init__(self, scorer: Scorer, limits: Limits, counts: CollectorRegistry) -> None:
        self.scorer = _Scorer(*scorer)._replace(part=PART)
        self.ready = False
        self._limits = limits
        self._short, self._long = _Line(), _Line()
        self._queues: dict[tuple[str, ...], deque[_Job]] = defaultdict(deque)
        self._waiting = 0
        self._batches = Counter("grice_batches", "Batches scored.", registry=counts)
        self._batched = Counter("grice_batched_requests", "Requests in them.", registry=counts)
        self._turns = Counter("grice_turns", "Turns in them.", registry=counts)
        waiting = Gauge("grice_waiting_turns", "Turns accepted, not scored.", registry=counts)
        waiting.set_function(lambda: self._waiting)

    async def __aenter__(self) -> None:
        self._threads = ThreadPoolExecutor(self._limits.concurrency, "grice-score")
        self.ready = True

    async def __aexit__(self, *_: object) -> None:
        """Finish all accepted requests, and take no more."""
        self.ready = False
        await asyncio.to_thread(self._threads.shutdown)

    async def judge(
        self, conversations: Sequence[Conversation], metrics: tuple[str, ...]
    ) -> list[Judged]:
        """Return the scores and findings of each conversation."""
        job = _Job(conversations)
        queue = self._queues[metrics] if job.size <= SHORT else deque()
        judged: list[Judged] = await self._done(job, queue, self.only(metrics))
        return judged

    async def call(self, talks: Sequence[Conversation], function: Callable[[], Result]) -> Result:
        """Return the result of a function that reads or scores conversations by itself."""
        result: Result = await self._done(_Job(talks, function), deque(), self.scorer)
        return result

    def only(self, metrics: tuple[str, ...]) -> _Scorer:
        """Return the scorer of some of the metrics."""
        chosen = [loaded for loaded in self.scorer.metrics if loaded.metric.name in metrics]
        return self.scorer._replace(metrics=chosen)

    async def _done(self, job: _Job, queue: deque[_Job], scorer: _Scorer) -> Any:  # noqa: ANN401
        if not self.ready:
            raise Refused(503, "the service is shutting down", do="ask another instance", **RETRY)
        queue.append(job)
        line = self._short if job.size <= SHORT else self._long
        loop, seconds = asyncio.get_running_loop(), self._limits.seconds
        self._threads.submit(self._compute, line, queue, scorer, loop)
        self._waiting += job.turns
        try:
            return await asyncio.wait_for(job.done, seconds)
        except TimeoutError:
            what = f"not scored within {seconds:g} seconds"
            do = "send fewer turns per request, or retry later"
            raise Refused(503, what, do=do, **RETRY) from None
        finally:
            self._waiting -= job.turns

    def _compute(
        self, line: _Line, queue: deque[_Job], scorer: _Scorer, loop: asyncio.AbstractEventLoop
    ) -> None:
        """Compute a batch from the head of a queue, which an earlier batch may have emptied."""
        jobs: list[_Job] = []
        with self._turn(line, jobs):
            while queue and (not jobs or sum(job.size for job in (*jobs, queue[0])) <= SHORT):
                jobs.append(queue.popleft())
            results = _results(jobs, scorer)
        loop.call_soon_threadsafe(self._give, jobs, results)

    @contextmanager
    def _turn(self, line: _Line, jobs: Sequence[_Job]) -> Iterator[None]:
        """Compute jobs in this block, as long as anybody waits for one of them."""
        line.enter()
        until = perf_counter() + FIRST

        def advance(_: int) -> None:
            nonlocal line
            if all(job.done.done() for job in jobs):
                raise StoppedError("nobody waits for the answer")
            if line is self._long or perf_counter() > until:
                line.leave()
                line = self._long
                line.enter()

        @contextmanager
        def watcher(*_: object) -> Iterator[Advance]:
            with watched(watcher):  # loops inside of this one, too
                yield advance

        try:
            with watched(watcher):
                yield
        finally:
            line.leave()

    def _give(self, jobs: Sequence[_Job], results: Sequence[object]) -> None:
        for job, result in zip(jobs, results, strict=True):
            if job.done.done():
                continue
            if isinstance(result, Exception):
                job.done.set_exception(result)
            else:
                job.done.set_result(result)
        self._batches.inc(bool(jobs))
        self._batched.inc(len(jobs))
        self._turns.inc(sum(job.turns for job in jobs))


def _results(jobs: Sequence[_Job], scorer: _Scorer) -> list[object]:
    """Return the result of each job, or its error."""
    try:
        if jobs and jobs[0].call is not None:
            return [jobs[0].call()]
        judged = iter(scorer.judge([talk for job in jobs for talk in job.conversations]))
        return [[next(judged) for _ in job.conversations] for job in jobs]
    except Exception as error:  # noqa: BLE001 - one request must not end the service
        clear_frames(error.__traceback__)  # loops end here, not on the thread that gets the error
        if len(jobs) == 1:
            return [error]
        return [_results([job], scorer)[0] for job in jobs]  # the others keep their scores
