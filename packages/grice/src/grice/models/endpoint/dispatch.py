"""Many requests at once: at most so many under way, repeated where a server is busy."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

import msgspec

from grice.errors import StoppedError, shortened
from grice.models.endpoint.client import RefusedError, TransientError
from grice.models.endpoint.usage import Tokens
from grice.models.protocols import Unanswered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.models.endpoint.client import Client
    from grice.models.endpoint.usage import RequestCounter
    from grice.records import Json

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Choice = TypeVar("Choice", bound=msgspec.Struct)

HOPELESS = 16
"""Requests in a row without an answer that can be read, each sent as often as it may be, after
which the run ends: a server is taken to be down, a model to be none that answers as it is asked."""
QUOTED = 200
"""Characters of an answer that cannot be read that are quoted where the run ends."""
SHOWN = 80
"""Characters of it that are quoted in the reason of one item."""


class UnusableError(Exception):
    """An answer that is not what was asked for.

    Attributes:
        used: Its tokens as the server counts them; None if it does not say.
        text: The answer.
    """

    def __init__(self, reason: str, used: Tokens | None, text: str) -> None:
        super().__init__(reason)
        self.reason, self.used, self.text = reason, used, text


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int = 0


class _Completion(msgspec.Struct, Generic[Choice]):
    choices: list[Choice]
    usage: _Usage | None = None


def only_choice(content: bytes, kind: type[Choice]) -> tuple[Choice, Tokens | None]:
    """Return the choice in the body of an answer, and its tokens if the server states them."""
    text = content.decode("utf-8", "replace")
    try:
        completion = msgspec.json.decode(content, type=_Completion[kind])  # type: ignore[valid-type]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UnusableError("the server sent no whole completion", None, text) from None
    usage = completion.usage
    used = None if usage is None else Tokens(usage.prompt_tokens, usage.completion_tokens)
    if len(completion.choices) != 1:
        reason = f"{len(completion.choices)} answers where one was asked for"
        raise UnusableError(reason, used, text)
    return completion.choices[0], used


class _EndedError(Exception):
    """A request is not sent again, because the run ends."""


class Dispatcher:
    """Sends requests of one model."""

    def __init__(self, model: str, client: Client, requests: RequestCounter) -> None:
        self._model = model
        self._client = client
        self._requests = requests
        self._terms = requests.options
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._closed_until = 0.0
        self._missed = 0

    def map(
        self, items: Sequence[Item], ask: Callable[[Item], Answer]
    ) -> list[Answer | Unanswered]:
        """Return what ``ask`` makes of each item, so many at once as the terms allow."""
        if not items:
            return []
        self._ended.clear()

        def guarded(item: Item) -> Answer:
            try:
                return ask(item)
            except BaseException:
                self._ended.set()  # here: the next item is taken before anybody else is told
                raise

        with ThreadPoolExecutor(min(self._terms.concurrency, len(items))) as pool:
            futures = [pool.submit(guarded, item) for item in items]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                # What is under way is waited for, to keep its answers; nothing is sent after it.
                self._ended.set()
                pool.shutdown(cancel_futures=True)
        errors = [future.exception() for future in futures if not future.cancelled()]
        raised = [error for error in errors if error and not isinstance(error, _EndedError)]
        # Of several the one that ends the run says why the others came about.
        for error in sorted(raised, key=lambda error: not isinstance(error, StoppedError)):
            raise error
        return [future.result() for future in futures]

    def send(
        self,
        path: str,
        body: Callable[[int], dict[str, Json]],
        read: Callable[[bytes], tuple[Answer, Tokens | None]],
        refused: Callable[[str], bool] = lambda _: False,
    ) -> Answer | Unanswered:
        """Send a request until it is answered as asked, or was sent as often as it may be."""
        busy = unusable = 0
        while True:
            self._wait_for_server()
            if self._ended.is_set():
                raise _EndedError
            try:
                answer = self._once(path, body(unusable), read)
            except TransientError as error:
                busy += 1
                reason = error.reason
                if busy >= self._terms.attempts:
                    return self._missing(reason, busy, unreachable=error.unreachable)
                self._pause(busy, error.wait)
            except UnusableError as error:
                unusable += 1
                reason = self._client.redacted(error.reason)
                if unusable >= self._terms.parse_attempts:
                    return self._missing(reason, unusable, text=self._client.redacted(error.text))
            except RefusedError as error:
                reason = str(error)
                if not refused(reason):
                    self._requests.miss(self._model, reason)
                    return Unanswered(f"{self._client.url}: {reason}")
            else:
                self._answered()
                self._requests.count(self._model, answered=1)
                return answer
            self._requests.repeat(self._model, reason)

    def _once(
        self,
        path: str,
        body: dict[str, Json],
        read: Callable[[bytes], tuple[Answer, Tokens | None]],
    ) -> Answer:
        started = time.monotonic()
        self._requests.begin(self._model, started)
        used: Tokens | None = Tokens(0, 0)  # of a request without an answer
        try:
            content = self._client.post(path, body)
            used = None
            try:
                answer, used = read(content)
            except UnusableError as error:
                used = error.used
                raise
            return answer
        finally:
            now = time.monotonic()
            self._requests.end(self._model, used, now, now - started)

    def _pause(self, attempt: int, asked: float | None) -> None:
        """Wait before a repetition; where the server says how long, nobody else asks before."""
        terms = self._terms
        if asked is not None:
            with self._lock:
                until = time.monotonic() + min(asked, terms.longest_pause)
                self._closed_until = max(self._closed_until, until)
            return
        most = min(terms.longest_pause, terms.pause * 2 ** (attempt - 1))
        # Spread, not drawn from a seed: it decides when a request is sent, never what it says.
        self._ended.wait(random.uniform(most / 2, most))

    def _wait_for_server(self) -> None:
        while (left := self._closed_until - time.monotonic()) > 0 and not self._ended.is_set():
            self._ended.wait(left + random.uniform(0, self._terms.pause / 4))

    def _answered(self) -> None:
        with self._lock:
            self._missed = 0

    def _missing(
        self, reason: str, times: int, *, text: str | None = None, unreachable: bool = False
    ) -> Unanswered:
        """Return that a request has no answer, or end the run."""
        self._requests.miss(self._model, reason)
        with self._lock:
            self._missed += 1
            missed = self._missed
        if unreachable:
            self._stop(f"it cannot be reached ({reason})", "start it, or name another address")
        if text is None and missed >= HOPELESS:
            what = f"none of the last {HOPELESS} requests was answered"
            self._stop(f"{what} ({reason})", "start it, or name another address")
        if text is not None and missed >= HOPELESS:
            self._stop(
                f"no answer of the model {self._model!r} to {HOPELESS} requests in a row can be "
                f"read ({reason}, {times} times); the last one: {text[:QUOTED]!r}",
                "name a model that answers with the JSON it is asked for, or a server that keeps "
                "it to a JSON schema",
            )
        shown = f" ({shortened(repr(text), SHOWN)})" if text else ""
        return Unanswered(f"{self._client.url}: {reason}{shown}, {times} times")

    def _stop(self, what: str, advice: str) -> NoReturn:
        raise StoppedError(
            f"{self._client.url}: {what}; {advice}; what was answered is kept, and the same "
            "command goes on"
        )
