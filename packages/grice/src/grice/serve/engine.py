"""Requests scored together: what came while others were computed is one batch.

One thread computes, with as many workers as the models have. Batching does not change scores.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from prometheus_client import Counter, Gauge

from grice.errors import plural
from grice.serve.bodies import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prometheus_client import CollectorRegistry

    from grice.records import Conversation, Score
    from grice.scoring.run import Scorer
    from grice.serve import Limits

BATCH_TURNS = 512
"""Turns of a batch, at which no more requests are added to it."""
BATCH_SECONDS = 2.0
"""How long a batch may take, as far as it is known before: nobody can end one that has begun."""
HALF_LIFE = 2.0
"""Seconds of scoring after which what was measured before counts half."""

Result = TypeVar("Result")


@dataclass(eq=False)
class _Job:
    """A request that waits: for scores of conversations, or for what a call returns."""

    turns: int
    conversations: Sequence[Conversation] = ()
    metrics: tuple[str, ...] = ()
    call: Callable[[], object] | None = None
    done: asyncio.Future[Any] = field(default_factory=asyncio.Future)


class Engine:
    """Scores what requests ask for, a batch at a time.

    Attributes:
        scorer: The loaded metrics.
    """

    def __init__(self, scorer: Scorer, limits: Limits, counts: CollectorRegistry) -> None:
        self.scorer = scorer
        self._limits = limits
        self._waiting = 0
        self._jobs: deque[_Job] = deque()
        self._come: asyncio.Event
        self._thread: ThreadPoolExecutor
        self._task: asyncio.Task[None] | None = None
        self._open = False
        self._turns_per_second = 200.0  # until it is measured
        self._together = 1
        self._batches = Counter("grice_batches", "Batches scored.", registry=counts)
        self._batched = Counter("grice_batched_requests", "Requests in them.", registry=counts)
        self._turns = Counter("grice_turns", "Turns in them.", registry=counts)
        waiting = Gauge("grice_waiting_turns", "Turns accepted, not scored.", registry=counts)
        waiting.set_function(lambda: self._waiting)

    @property
    def ready(self) -> bool:
        """Whether requests are taken and scored."""
        return self._open and self._task is not None and not self._task.done()

    def start(self) -> None:
        """Begin to score, in the running event loop."""
        self._come = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "grice-score")
        self._open = True
        self._task = asyncio.create_task(self._work())

    async def close(self) -> None:
        """Finish all that was accepted, and take nothing more."""
        if self._task is not None:
            self._open = False
            self._come.set()
            await self._task
            self._thread.shutdown()

    async def score(
        self, conversations: Sequence[Conversation], metrics: tuple[str, ...]
    ) -> list[list[Score]]:
        """Return the scores of each conversation; Refused is raised if too much waits."""
        turns = sum(len(conversation.turns) for conversation in conversations)
        scores: list[list[Score]] = await self._done(_Job(turns, conversations, metrics))
        return scores

    async def call(self, turns: int, function: Callable[[], Result]) -> Result:
        """Return what a function returns that scores so many turns by itself."""
        result: Result = await self._done(_Job(turns, call=function))
        return result

    def only(self, metrics: tuple[str, ...]) -> Scorer:
        """Return the scorer of some of the metrics."""
        chosen = [loaded for loaded in self.scorer.metrics if loaded.metric.name in metrics]
        return self.scorer._replace(metrics=chosen)

    async def _done(self, job: _Job) -> Any:  # noqa: ANN401 - of any job
        waiting, seconds = self._waiting, self._limits.seconds
        retry = max(1, math.ceil(waiting / self._turns_per_second))
        if not self.ready:
            raise Refused(503, "the service is ending", do="ask another one", retry=1)
        if waiting and waiting + job.turns > self._turns_per_second * seconds:
            what = f"{plural(waiting, 'turn')} wait to be scored already"
            raise Refused(429, what, do="ask again after the seconds of Retry-After", retry=retry)
        self._waiting += job.turns
        self._jobs.append(job)
        self._come.set()
        try:
            return await asyncio.wait_for(job.done, seconds)
        except TimeoutError:
            what = f"not scored within {seconds:g} seconds"
            do = "ask for fewer turns at a time, or again later"
            raise Refused(503, what, do=do, retry=retry) from None

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._jobs or self._open:
            if not self._jobs:
                self._come.clear()
                await self._come.wait()
                continue
            jobs = await self._gathered()
            wanted = [job for job in jobs if not job.done.done()]  # nobody waits for the others
            started = time.perf_counter()
            results = await loop.run_in_executor(self._thread, self._computed, wanted)
            for job, result in zip(wanted, results, strict=True):
                if job.done.done():
                    continue
                if isinstance(result, Exception):
                    job.done.set_exception(result)
                else:
                    job.done.set_result(result)
            self._waiting -= sum(job.turns for job in jobs)
            self._measured(wanted, max(time.perf_counter() - started, 1e-6))

    def _measured(self, jobs: Sequence[_Job], seconds: float) -> None:
        """Note how fast a batch was; one that was given up before it began says nothing."""
        turns = sum(job.turns for job in jobs)
        self._batches.inc()
        self._batched.inc(len(jobs))
        self._turns.inc(turns)
        if turns:
            part = 1 - 0.5 ** (seconds / HALF_LIFE)
            self._turns_per_second += part * (turns / seconds - self._turns_per_second)

    async def _gathered(self) -> list[_Job]:
        """Take what waits already, and what comes in the next moments if many came before.

        A request that comes alone does not wait for others.
        """
        most = min(BATCH_TURNS, BATCH_SECONDS * self._turns_per_second)
        if self._together > 1 and self._waiting < most:
            await asyncio.sleep(self._limits.gather_seconds)
        batch = [self._jobs.popleft()]
        turns = batch[0].turns
        while self._jobs and turns < most:
            batch.append(self._jobs.popleft())
            turns += batch[-1].turns
        self._together = len(batch)
        return batch

    def _computed(self, jobs: Sequence[_Job]) -> list[object]:
        """Return the result of each job, or the error that it ended with."""
        results: dict[_Job, object] = {}
        for metrics, call in dict.fromkeys((job.metrics, job.call) for job in jobs):
            alike = [job for job in jobs if (job.metrics, job.call) == (metrics, call)]
            talks = [talk for job in alike for talk in job.conversations]
            try:
                if call is not None:
                    results[alike[0]] = call()
                    continue
                scores = iter(self.only(metrics).score(talks))
                results |= {job: [next(scores) for _ in job.conversations] for job in alike}
            except Exception as error:  # noqa: BLE001 - one request must not end the service
                if len(alike) > 1:  # the others keep their scores
                    results |= {job: self._computed([job])[0] for job in alike}
                else:
                    results[alike[0]] = error
        return [results[job] for job in jobs]
