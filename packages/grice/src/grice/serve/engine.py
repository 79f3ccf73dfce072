"""Requests in batches: those that arrive during a computation are scored together in the next one.

One thread computes, with as many workers as the models have. Batching does not change scores.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from prometheus_client import Counter, Gauge

from grice.serve.bodies import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prometheus_client import CollectorRegistry

    from grice.data import Conversation, Score
    from grice.scoring.api import Scorer

BATCH_TURNS = 512
"""Turns of a batch at which no more requests are added."""

Result = TypeVar("Result")


@dataclass(eq=False)
class _Job:
    """A request for scores of conversations, or for the result of a call."""

    turns: int
    conversations: Sequence[Conversation] = ()
    metrics: tuple[str, ...] = ()
    call: Callable[[], object] | None = None
    done: asyncio.Future[Any] = field(default_factory=asyncio.Future)


class Engine:
    """Scores requests, a batch at a time, while its context is open."""

    def __init__(self, scorer: Scorer, seconds: float, counts: CollectorRegistry) -> None:
        self.scorer = scorer
        self._seconds = seconds
        self._waiting = 0
        self._jobs: asyncio.Queue[_Job | None]
        self._task: asyncio.Task[None] | None = None
        self._open = False
        self._batches = Counter("grice_batches", "Batches scored.", registry=counts)
        self._batched = Counter("grice_batched_requests", "Requests in them.", registry=counts)
        self._turns = Counter("grice_turns", "Turns in them.", registry=counts)
        waiting = Gauge("grice_waiting_turns", "Turns accepted, not scored.", registry=counts)
        waiting.set_function(lambda: self._waiting)

    @property
    def ready(self) -> bool:
        """Whether requests are taken and scored."""
        return self._open and self._task is not None and not self._task.done()

    async def __aenter__(self) -> None:
        self._jobs = asyncio.Queue()
        self._open = True
        self._task = asyncio.create_task(self._work())

    async def __aexit__(self, *_: object) -> None:
        """Finish all accepted requests, and take no more."""
        self._open = False
        self._jobs.put_nowait(None)
        if self._task is not None:
            await self._task

    async def score(
        self, conversations: Sequence[Conversation], metrics: tuple[str, ...]
    ) -> list[list[Score]]:
        """Return the scores of each conversation."""
        turns = sum(len(conversation.turns) for conversation in conversations)
        scores: list[list[Score]] = await self._done(_Job(turns, conversations, metrics))
        return scores

    async def call(self, turns: int, function: Callable[[], Result]) -> Result:
        """Return the result of a function that scores so many turns by itself."""
        result: Result = await self._done(_Job(turns, call=function))
        return result

    def only(self, metrics: tuple[str, ...]) -> Scorer:
        """Return the scorer of some of the metrics."""
        chosen = [loaded for loaded in self.scorer.metrics if loaded.metric.name in metrics]
        return self.scorer._replace(metrics=chosen)

    async def _done(self, job: _Job) -> Any:  # noqa: ANN401 - of any job
        if not self.ready:
            raise Refused(503, "the service is shutting down", do="ask another instance", retry=1)
        self._waiting += job.turns
        self._jobs.put_nowait(job)
        try:
            return await asyncio.wait_for(job.done, self._seconds)
        except TimeoutError:
            what = f"not scored within {self._seconds:g} seconds"
            do = "send fewer turns per request, or retry later"
            raise Refused(503, what, do=do, retry=1) from None

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "grice-score") as thread:
            while job := await self._jobs.get():
                jobs, turns = [job], job.turns
                while turns < BATCH_TURNS and not self._jobs.empty():
                    if (further := self._jobs.get_nowait()) is None:
                        self._jobs.put_nowait(None)
                        break
                    jobs.append(further)
                    turns += further.turns
                wanted = [job for job in jobs if not job.done.done()]  # others have timed out
                results = await loop.run_in_executor(thread, self._computed, wanted)
                for job, result in zip(wanted, results, strict=True):
                    if job.done.done():
                        continue
                    if isinstance(result, Exception):
                        job.done.set_exception(result)
                    else:
                        job.done.set_result(result)
                self._waiting -= turns
                self._batches.inc()
                self._batched.inc(len(wanted))
                self._turns.inc(sum(job.turns for job in wanted))

    def _computed(self, jobs: Sequence[_Job]) -> list[object]:
        """Return the result of each job, or its error."""
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
