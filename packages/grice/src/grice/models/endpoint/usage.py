"""Options of endpoint clients, and counts of the requests of a run."""

from __future__ import annotations

import threading
from copy import deepcopy
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import StoppedError, plural

if TYPE_CHECKING:
    from collections.abc import Iterator


class ClientOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How endpoints are used.

    Attributes:
        concurrency: Requests under way at the same time.
        timeout: Seconds that a server may be silent.
        attempts: How often a request is sent while the server is busy or broken.
        parse_attempts: How often a request is sent whose answer is not of the stated form.
        pause: Seconds before the first repetition; each further one waits twice as long, less a
            random part of it, so that waiting requests do not come back together.
        longest_pause: The longest wait, also if a server asks for more.
        limit_requests: The most requests of a run, repeated ones too; None for no limit.
        dry_run: Count the requests that would be sent, and send none.
    """

    concurrency: int = 8
    timeout: float = 60.0
    attempts: int = 5
    parse_attempts: int = 3
    pause: float = 0.5
    longest_pause: float = 60.0
    limit_requests: int | None = None
    dry_run: bool = False


class Tokens(NamedTuple):
    """Tokens of a prompt and of an answer."""

    prompt: int
    completion: int


class Usage(msgspec.Struct, kw_only=True):
    """Requests that a run has sent to one model of an endpoint, or would send.

    Attributes:
        requests: All requests, repeated ones too.
        repeated: Repetitions by their reason.
        unanswered: Requests without a usable answer, by the reason.
        prompt_tokens, completion_tokens: As the server counts them.
        uncounted: Answers whose tokens the server did not state.
        seconds: The sum of the seconds of all requests.
    """

    model: str
    requests: int = 0
    cached: int = 0
    answered: int = 0
    repeated: dict[str, int] = {}
    unanswered: dict[str, int] = {}
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    seconds: float = 0.0


class RequestCounter:
    """Counts the requests of a run by model, and stops the run at its limit."""

    def __init__(self, options: ClientOptions | None = None) -> None:
        self.options = options or ClientOptions()
        self._usage: dict[str, Usage] = {}
        self._lock = threading.Lock()

    def open(self, model: str) -> None:
        """Count a model from now on."""
        self._usage.setdefault(model, Usage(model=model))

    def start(self, model: str) -> None:
        """Count a request before it is sent."""
        limit = self.options.limit_requests
        with self._lock:
            if limit is not None and sum(one.requests for one in self._usage.values()) >= limit:
                raise StoppedError(
                    f"the limit of {plural(limit, 'request')} is reached; answers are kept, and "
                    "the same command with another --limit-requests goes on"
                )
            self._usage[model].requests += 1

    def add(
        self,
        model: str,
        *,
        requests: int = 0,
        cached: int = 0,
        answered: int = 0,
        seconds: float = 0.0,
        repeated: str = "",
        unanswered: str = "",
    ) -> None:
        """Add to the counts of a model; repeated and unanswered requests by their reason."""
        with self._lock:
            usage = self._usage[model]
            usage.requests += requests
            usage.cached += cached
            usage.answered += answered
            usage.seconds += seconds
            for reason, counts in ((repeated, usage.repeated), (unanswered, usage.unanswered)):
                if reason:
                    counts[reason] = counts.get(reason, 0) + 1

    def add_tokens(self, model: str, used: Tokens | None) -> None:
        """Add the tokens of an answer; None if the server did not state them."""
        with self._lock:
            usage = self._usage[model]
            if used is None:
                usage.uncounted += 1
            else:
                usage.prompt_tokens += used.prompt
                usage.completion_tokens += used.completion

    def usage(self) -> tuple[Usage, ...]:
        """Return a copy of the counts of each model."""
        with self._lock:
            return tuple(deepcopy(one) for one in self._usage.values())


def in_words(usage: Usage, *, planned: bool) -> Iterator[str]:
    """Yield the counts of a model in lines for people."""
    about = "about " if planned else ""
    cached = f", {plural(usage.cached, 'answer')} from the cache" if usage.cached else ""
    yield (
        f"{usage.model}: {plural(usage.requests, 'request')}{cached}; {about}"
        f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    )
    for what, counts in (("repeated", usage.repeated), ("unanswered", usage.unanswered)):
        common = sorted(counts.items(), key=lambda item: -item[1])
        if common:
            yield f"{usage.model}: {what}: {'; '.join(f'{why} ({n:,})' for why, n in common)}"
    if usage.uncounted and not planned:
        yield f"{usage.model}: the server did not state the tokens of {usage.uncounted:,} more"
