"""How endpoints are used, and what a run has sent to them."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import StoppedError, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class ClientOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How endpoints are used.

    Attributes:
        concurrency: Requests that are under way at the same time.
        timeout: Seconds that a server may be silent.
        attempts: How often a request is sent that a server cannot answer now.
        parse_attempts: How often a request is sent whose answer is not what was asked for.
        pause: Seconds before the first repetition; each further one waits twice as long, and a
            random part of it less, so that waiting requests do not come back together.
        longest_pause: The longest wait, also where a server asks for more.
        limit_requests: The most requests that a run sends, repeated ones too; None for no limit.
        dry_run: Count what would be sent, and send nothing.
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
    """Tokens of prompts and of answers."""

    prompt: int
    completion: int


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has sent to one model of an endpoint, or would send.

    Attributes:
        requests: Requests that were sent, repeated ones too.
        prompt_tokens, completion_tokens: As the server counts them.
        uncounted: Answers whose tokens the server did not state.
        seconds: Time in which at least one request was under way.
        concurrency: Mean number of requests under way in that time.
    """

    model: str
    requests: int
    cached: int
    answered: int
    repeated: dict[str, int]
    unanswered: dict[str, int]
    prompt_tokens: int
    completion_tokens: int
    uncounted: int
    seconds: float
    concurrency: float


class _Account:
    """Counts of one model."""

    def __init__(self) -> None:
        self.requests = self.cached = self.answered = self.uncounted = 0
        self.repeated: Counter[str] = Counter()
        self.unanswered: Counter[str] = Counter()
        self.prompt = self.completion = 0
        self.under_way = 0
        self.seconds = self.request_seconds = 0.0
        self.since = 0.0


class RequestCounter:
    """Count the requests of a run, and end it before it sends more than it may."""

    def __init__(self, terms: ClientOptions | None = None) -> None:
        self.options = terms or ClientOptions()
        self._accounts: dict[str, _Account] = {}
        self._lock = threading.Lock()

    def open(self, model: str) -> None:
        """Count a model from now on."""
        self._accounts.setdefault(model, _Account())

    def begin(self, model: str, now: float) -> None:
        """Count a request before it is sent."""
        limit = self.options.limit_requests
        with self._lock:
            account = self._accounts[model]
            if limit is not None and sum(a.requests for a in self._accounts.values()) >= limit:
                raise StoppedError(
                    f"the limit of {plural(limit, 'request')} is reached; what was answered is "
                    "kept, and the same command with another --limit-requests goes on"
                )
            account.requests += 1
            if not account.under_way:
                account.since = now
            account.under_way += 1

    def end(self, model: str, used: Tokens | None, now: float, took: float) -> None:
        """Count the tokens of a request that has ended."""
        with self._lock:
            account = self._accounts[model]
            if used is None:
                account.uncounted += 1
            else:
                account.prompt += used.prompt
                account.completion += used.completion
            account.request_seconds += took
            account.under_way -= 1
            if not account.under_way:
                account.seconds += now - account.since

    def plan(self, model: str, likely: Tokens) -> None:
        """Count a request that would be sent."""
        with self._lock:
            account = self._accounts[model]
            account.requests += 1
            account.prompt += likely.prompt
            account.completion += likely.completion

    def count(self, model: str, *, cached: int = 0, answered: int = 0) -> None:
        """Count answers."""
        with self._lock:
            self._accounts[model].cached += cached
            self._accounts[model].answered += answered

    def repeat(self, model: str, reason: str) -> None:
        """Count a repetition."""
        with self._lock:
            self._accounts[model].repeated[reason] += 1

    def miss(self, model: str, reason: str) -> None:
        """Count a request that got no usable answer."""
        with self._lock:
            self._accounts[model].unanswered[reason] += 1

    def usage(self) -> tuple[Usage, ...]:
        """Return what was sent, a record for each model."""
        with self._lock:
            return tuple(
                Usage(
                    model=model,
                    requests=account.requests,
                    cached=account.cached,
                    answered=account.answered,
                    repeated=dict(account.repeated),
                    unanswered=dict(account.unanswered),
                    prompt_tokens=account.prompt,
                    completion_tokens=account.completion,
                    uncounted=account.uncounted,
                    seconds=account.seconds,
                    concurrency=account.request_seconds / account.seconds
                    if account.seconds
                    else 0.0,
                )
                for model, account in self._accounts.items()
            )


def in_words(usage: Usage, *, planned: bool) -> Iterator[str]:
    """Yield what was sent to a model, or would be, in lines for people."""
    about = "about " if planned else ""
    cached = f", {plural(usage.cached, 'answer')} from the cache" if usage.cached else ""
    yield (
        f"{usage.model}: {plural(usage.requests, 'request')}{cached}; {about}"
        f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    )
    for what, counts in (("repeated", usage.repeated), ("unanswered", usage.unanswered)):
        if counts:
            yield f"{usage.model}: {what}: {_listed(counts)}"
    if usage.uncounted and not planned:
        yield f"{usage.model}: the server did not state the tokens of {usage.uncounted:,} more"


def _listed(counts: Mapping[str, int]) -> str:
    common = sorted(counts.items(), key=lambda item: -item[1])
    return "; ".join(f"{reason} ({n:,})" for reason, n in common)
