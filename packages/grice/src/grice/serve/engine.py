"""Requests scored together: what came while others were computed is one batch.

One thread computes, with as many workers as the models have. A score keeps its bits in any batch,
so nobody can tell from a score who asked beside them.
"""

from __future__ import annotations

import asyncio
import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from grice.errors import plural
from grice.serve.problems import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.records import Conversation, Score
    from grice.scoring.run import Scorer
    from grice.serve.counters import Counters
    from grice.serve.limits import Limits
    from grice.serve.traces import Traces

BATCH_TURNS = 512
"""Turns of a batch, at which no more requests are added to it."""
BATCH_SECONDS = 2.0
"""How long a batch may take, as far as it is known before: nobody can end one that has begun."""
HALF_LIFE = 2.0
"""Seconds of scoring after which what was measured before counts half."""

Result = TypeVar("Result")


class _Job:
    """What a request waits for: the scores of conversations, or what a call returns."""

    def __init__(
        self,
        turns: int,
        conversations: Sequence[Conversation] = (),
        metrics: tuple[str, ...] = (),
        call: Callable[[], object] | None = None,
        *,
        request: object = None,
    ) -> None:
        self.turns = turns
        self.conversations = conversations
        self.metrics = metrics
        self.call = call
        self.request = request
        self.done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class Engine:
    """Scores what requests ask for, a batch at a time.

    Args:
        scorer: The loaded metrics.
        limits: How much may wait, and how long.
        counters: Told of every batch.
        traces: Told of it, too, and of whose requests it is.
    """

    def __init__(self, scorer: Scorer, limits: Limits, counters: Counters, traces: Traces) -> None:
        self.scorer = scorer
        self._traces = traces
        self._limits = limits
        self._counters = counters
        self._queue: asyncio.Queue[_Job | None]
        self._thread: ThreadPoolExecutor
        self._task: asyncio.Task[None] | None = None
        self._turns_per_second = 200.0  # until it is measured
        self._together = 1

    @property
    def ready(self) -> bool:
        """Whether requests are taken."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Begin to score, in the running event loop."""
        self._queue = asyncio.Queue()
        self._thread = ThreadPoolExecutor(1, "grice-score")
        self._task = asyncio.create_task(self._work())

    async def close(self) -> None:
        """Finish all that was accepted, and take nothing more."""
        task, self._task = self._task, None
        if task is not None:
            self._queue.put_nowait(None)
            await task
            self._thread.shutdown()

    async def score(
        self, conversations: Sequence[Conversation], metrics: tuple[str, ...]
    ) -> list[list[Score]]:
        """Return the scores of each conversation.

        Raises:
            Refused: Too much waits already, or the time is over.
        """
        turns = sum(len(conversation.turns) for conversation in conversations)
        result: list[list[Score]] = await self._done(
            _Job(turns, conversations, metrics, request=self._traces.here())
        )
        return result

    async def call(self, turns: int, function: Callable[[], Result]) -> Result:
        """Return what a function returns that scores so many turns by itself.

        Raises:
            Refused: Too much waits already, or the time is over.
        """
        result: Result = await self._done(_Job(turns, call=function, request=self._traces.here()))
        return result

    async def _done(self, job: _Job) -> Any:  # noqa: ANN401 - of any job
        waiting = self._counters.waiting_turns
        if not self.ready:
            raise Refused(503, "the service is ending", do="ask another one", retry=1)
        if waiting and waiting + job.turns > self._most_waiting():
            raise Refused(
                429,
                f"{plural(waiting, 'turn')} wait to be scored already",
                do="ask again after the seconds of Retry-After",
                retry=max(1, math.ceil(waiting / self._turns_per_second)),
            )
        self._counters.waiting_turns += job.turns
        self._queue.put_nowait(job)
        try:
            return await asyncio.wait_for(job.done, self._limits.seconds)
        except TimeoutError:
            raise Refused(
                503,
                f"not scored within {self._limits.seconds:g} seconds",
                do="ask for fewer turns at a time, or again later",
                retry=max(1, math.ceil(waiting / self._turns_per_second)),
            ) from None

    def _most_waiting(self) -> float:
        """Return how many turns may wait: no more than can be scored before their time is over."""
        in_time = self._turns_per_second * self._limits.seconds
        return min(self._limits.waiting_turns, in_time)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        ending = False
        while not ending or not self._queue.empty():
            first = await self._queue.get()
            if first is None:
                ending = True
                continue
            batch = await self._gathered(first)
            if None in batch:
                ending = True
            jobs = [job for job in batch if job is not None]
            wanted = [job for job in jobs if not job.done.done()]  # nobody waits for the others
            started = time.perf_counter()
            with self._traces.batch([job.request for job in wanted], sum(j.turns for j in wanted)):
                results = await loop.run_in_executor(self._thread, self._computed, wanted)
            for job, result in zip(wanted, results, strict=True):
                if job.done.done():
                    continue
                if isinstance(result, Exception):
                    job.done.set_exception(result)
                else:
                    job.done.set_result(result)
            self._counters.waiting_turns -= sum(job.turns for job in jobs)
            turns = sum(job.turns for job in wanted)
            self._counters.scored(len(wanted), turns)
            self._measured(turns, max(time.perf_counter() - started, 1e-6))

    def _measured(self, turns: int, seconds: float) -> None:
        """Note how fast a batch was; one that was given up before it began says nothing."""
        if turns:
            part = 1 - 0.5 ** (seconds / HALF_LIFE)
            self._turns_per_second += part * (turns / seconds - self._turns_per_second)

    async def _gathered(self, first: _Job) -> list[_Job | None]:
        """Return what waits already, and what comes in the next moments if many come at once.

        Who asks alone does not wait for others.
        """
        batch: list[_Job | None] = [first]
        turns = first.turns
        most = min(BATCH_TURNS, BATCH_SECONDS * self._turns_per_second)
        patience = self._limits.gather_seconds if self._together > 1 else 0.0
        while turns < most:
            if self._queue.empty():
                if not patience:
                    break
                await asyncio.sleep(patience)
                patience = 0.0
                continue
            job = self._queue.get_nowait()
            batch.append(job)
            turns += 0 if job is None else job.turns
        self._together = len(batch)
        return batch

    def _computed(self, jobs: Sequence[_Job]) -> list[object]:
        """Return the result of each job, or the error that it ended with."""
        results: dict[int, object] = {}
        for metrics in dict.fromkeys(job.metrics for job in jobs if job.call is None):
            alike = [job for job in jobs if job.call is None and job.metrics == metrics]
            talks = [talk for job in alike for talk in job.conversations]
            try:
                scores = iter(self.only(metrics).score(talks))
                results |= {id(job): [next(scores) for _ in job.conversations] for job in alike}
            except Exception as error:  # noqa: BLE001 - one request must not end the service
                if len(alike) > 1:  # the others keep their scores
                    results |= {id(job): self._computed([job])[0] for job in alike}
                else:
                    results[id(alike[0])] = error
        for job in jobs:
            if job.call is not None:
                try:
                    results[id(job)] = job.call()
                except Exception as error:  # noqa: BLE001 - as above
                    results[id(job)] = error
        return [results[id(job)] for job in jobs]

    def only(self, metrics: tuple[str, ...]) -> Scorer:
        """Return the scorer of some of the metrics."""
        chosen = [loaded for loaded in self.scorer.metrics if loaded.metric.name in metrics]
        return self.scorer._replace(metrics=chosen)
