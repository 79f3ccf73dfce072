"""HTTP client of one model: concurrent requests, repeated while the server is busy."""

from __future__ import annotations

import os
import random
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, NoReturn, TypeVar
from urllib.parse import urlsplit

import msgspec

from grice.errors import StoppedError, shortened
from grice.models.protocols import Unanswered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.data import Json
    from grice.models.endpoint.usage import RequestCounter, Tokens

Item = TypeVar("Item")
Answer = TypeVar("Answer")

KEY, OPENAI_KEY, OPENAI_HOST = "GRICE_OPENAI_KEY", "OPENAI_API_KEY", "api.openai.com"
"""The key of the endpoint that is named; the key of OpenAI is sent to its own host alone."""
BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses of a server that may answer later."""
FATAL = {
    401: f"it wants another key: set {KEY}",
    402: "it wants to be paid",
    403: f"it does not let this key in: set {KEY}",
    404: "there is no such model or address: the reference is openai:MODEL@URL, with a URL such "
    "as http://localhost:8000/v1",
}
"""Advice by status for errors that every request would have."""
MAX_BYTES = 1 << 22
"""Bytes of an answer that are read."""
MAX_MISSES = 16
"""Requests in a row without an answer that can be parsed, each sent as often as allowed, after
which the run ends: the server is down, or the model does not write the stated form."""
QUOTED, SHOWN = 200, 80
"""Characters quoted of an answer that cannot be parsed: where the run ends, and for one item."""


class TransientError(Exception):
    """The server cannot answer now; ``wait`` are the seconds that it asks for."""

    def __init__(
        self, reason: str, wait: float | None = None, *, unreachable: bool = False
    ) -> None:
        super().__init__(reason)
        self.wait, self.unreachable = wait, unreachable


class RefusedError(Exception):
    """The server does not take this request; it may take others."""


class UnusableError(Exception):
    """An answer that is not of the stated form; ``used`` are its tokens if they are known."""

    def __init__(self, reason: str, used: Tokens | None, text: str) -> None:
        super().__init__(reason)
        self.used, self.text = used, text


class _EndedError(Exception):
    """A request is not sent, because the run ends."""


class Client:
    """Sends the requests of one model, over connections that stay open."""

    def __init__(self, model: str, url: str, counter: RequestCounter) -> None:
        import httpx2  # here, not above: naming an endpoint needs none

        self.model, self.url, self.counter = model, url, counter
        self.options = options = counter.options
        self._errors = (httpx2.ConnectError, httpx2.TimeoutException, httpx2.HTTPError)
        self._key = os.environ.get(KEY, "")
        if not self._key and urlsplit(url).hostname == OPENAI_HOST:
            self._key = os.environ.get(OPENAI_KEY, "")
        authorization = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        # Redirects are not followed: judged text and key go to the address that was named.
        # Certificates are loaded for https only: that takes a tenth of a second.
        self._client = httpx2.Client(
            verify=url.startswith("https:"),
            timeout=httpx2.Timeout(options.timeout),
            limits=httpx2.Limits(
                max_connections=options.concurrency, max_keepalive_connections=options.concurrency
            ),
            headers={"User-Agent": "grice", "Content-Type": "application/json", **authorization},
        )
        self.close = self._client.close
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._closed_until = 0.0
        self._missed = 0
        counter.open(model)

    def map(
        self, items: Sequence[Item], ask: Callable[[Item], Answer]
    ) -> list[Answer | Unanswered]:
        """Return ``ask(item)`` of each item, computed concurrently."""
        if not items:
            return []
        self._ended.clear()

        def guarded(item: Item) -> Answer:
            try:
                return ask(item)
            except BaseException:
                self._ended.set()  # here: before the pool takes the next item
                raise

        with ThreadPoolExecutor(min(self.options.concurrency, len(items))) as pool:
            futures = [pool.submit(guarded, item) for item in items]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                # Requests under way are waited for, to keep their answers; no others are sent.
                self._ended.set()
                pool.shutdown(cancel_futures=True)
        errors = [future.exception() for future in futures if not future.cancelled()]
        raised = [error for error in errors if error and not isinstance(error, _EndedError)]
        # Of several errors the one that ends the run explains the others.
        for error in sorted(raised, key=lambda error: not isinstance(error, StoppedError)):
            raise error
        return [future.result() for future in futures]

    def send(
        self,
        body: Callable[[int], dict[str, Json]],
        parse: Callable[[bytes], tuple[Answer, Tokens | None]],
        adapt: Callable[[str], bool] = lambda _: False,
    ) -> Answer | Unanswered:
        """Send a request until its answer can be parsed, or as often as allowed.

        ``body`` gets the number of answers that could not be parsed; ``adapt`` gets the reason of
        a refusal and returns whether another body is worth a try.
        """
        busy = unparsed = 0
        while True:
            self._wait_for_server()
            try:
                answer = self._send_once(body(unparsed), parse)
            except TransientError as error:
                busy += 1
                reason = str(error)
                if busy >= self.options.attempts:
                    return self._miss(reason, busy, unreachable=error.unreachable)
                self._pause(busy, error.wait)
            except UnusableError as error:
                unparsed += 1
                reason = self._redacted(str(error))
                if unparsed >= self.options.parse_attempts:
                    return self._miss(reason, unparsed, text=self._redacted(error.text))
            except RefusedError as error:
                reason = str(error)
                if not adapt(reason):
                    self.counter.add(self.model, unanswered=reason)
                    return Unanswered(f"{self.url}: {reason}")
            else:
                with self._lock:
                    self._missed = 0
                self.counter.add(self.model, answered=1)
                return answer
            self.counter.add(self.model, repeated=reason)

    def _send_once(
        self, body: dict[str, Json], parse: Callable[[bytes], tuple[Answer, Tokens | None]]
    ) -> Answer:
        self.counter.start(self.model)
        started = time.monotonic()
        try:
            content = self._post(body)
        finally:
            self.counter.add(self.model, seconds=time.monotonic() - started)
        used = None
        try:
            answer, used = parse(content)
        except UnusableError as error:
            used = error.used
            raise
        finally:
            self.counter.add_tokens(self.model, used)
        return answer

    def _post(self, body: dict[str, Json]) -> bytes:
        no_connection, silent, other = self._errors
        try:
            content = msgspec.json.encode(_encodable(body))
            answer = self._client.post(f"{self.url}/chat/completions", content=content)
        except silent:
            raise TransientError("no answer in time") from None
        except no_connection as error:
            raise TransientError(f"no connection: {error}", unreachable=True) from None
        except other as error:
            raise TransientError(f"connection broken: {type(error).__name__}") from None
        if answer.status_code == 200:
            return answer.content[:MAX_BYTES]
        status = f"HTTP {answer.status_code}"
        if answer.status_code in BUSY:
            stated = answer.headers.get("Retry-After", "")
            raise TransientError(status, float(stated) if stated.strip().isdecimal() else None)
        message = shortened(self._redacted(_message(answer.content)), 300)
        if advice := FATAL.get(answer.status_code):
            raise StoppedError(f"{self.url}: {status}: {message or advice}; {advice}")
        raise RefusedError(f"{status}: {message}".rstrip(": "))

    def _redacted(self, text: str) -> str:
        """Return a text of the server without the key."""
        return text.replace(self._key, "[key]") if self._key else text

    def _pause(self, attempt: int, asked: float | None) -> None:
        """Wait before a repetition; a pause that the server asks for holds for all requests."""
        options = self.options
        if asked is not None:
            with self._lock:
                until = time.monotonic() + min(asked, options.longest_pause)
                self._closed_until = max(self._closed_until, until)
            return
        most = min(options.longest_pause, options.pause * 2 ** (attempt - 1))
        # Random without a seed: it decides when a request is sent, never what it says.
        self._ended.wait(random.uniform(most / 2, most))

    def _wait_for_server(self) -> None:
        while (left := self._closed_until - time.monotonic()) > 0 and not self._ended.is_set():
            self._ended.wait(left + random.uniform(0, self.options.pause / 4))
        if self._ended.is_set():
            raise _EndedError

    def _miss(
        self, reason: str, times: int, *, text: str | None = None, unreachable: bool = False
    ) -> Unanswered:
        """Return that a request has no answer, or end the run."""
        self.counter.add(self.model, unanswered=reason)
        with self._lock:
            self._missed += 1
            is_last = self._missed >= MAX_MISSES
        another = "start it, or name another address"
        if unreachable:
            self._stop(f"it cannot be reached ({reason})", another)
        if is_last and text is None:
            self._stop(f"none of the last {MAX_MISSES} requests was answered ({reason})", another)
        if is_last and text is not None:
            self._stop(
                f"no answer of the model {self.model!r} to {MAX_MISSES} requests in a row can be "
                f"read ({reason}, {times} times); the last one: {text[:QUOTED]!r}",
                "name a model that answers with the JSON it is asked for, or a server that keeps "
                "it to a JSON schema",
            )
        shown = f" ({shortened(repr(text), SHOWN)})" if text else ""
        return Unanswered(f"{self.url}: {reason}{shown}, {times} times")

    def _stop(self, what: str, advice: str) -> NoReturn:
        raise StoppedError(
            f"{self.url}: {what}; {advice}; answers are kept, and the same command goes on"
        )


def _encodable(value: Json) -> Json:
    """Return JSON without lone surrogates, which UTF-8 cannot encode."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {name: _encodable(part) for name, part in value.items()}
    return list(map(_encodable, value)) if isinstance(value, list) else value


class _Error(msgspec.Struct):
    message: str = ""


class _ErrorBody(msgspec.Struct):
    error: _Error | str = ""
    message: str = ""


def _message(content: bytes) -> str:
    """Return the error message of a server, in any of the usual shapes."""
    try:
        body = msgspec.json.decode(content[:MAX_BYTES], type=_ErrorBody)
    except (msgspec.DecodeError, RecursionError):
        return " ".join(content[:300].decode("utf-8", "replace").split())
    return (body.error if isinstance(body.error, str) else body.error.message) or body.message
