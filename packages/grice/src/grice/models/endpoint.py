"""Chat models of servers with the OpenAI-compatible protocol: ``openai:MODEL@URL``.

Requests go to the address of the reference and to no other.
"""

from __future__ import annotations

import hashlib
import os
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

import msgspec

from grice.data import Json
from grice.errors import KEYS, ModelError, StoppedError, plural, shortened, without_keys
from grice.models.cache import cache_key
from grice.models.chat_records import RecordReader, UnreadableError, error_message, utf8
from grice.models.folder import Card, ModelFolder
from grice.models.loader import ModelLoader, Settings, model_type
from grice.models.protocols import ChatRequest, Unanswered

Record = TypeVar("Record")
FailureKind: TypeAlias = Literal["busy", "unreachable", "refused", "unusable"]

(KEY, OPENAI_KEY), OPENAI_HOST = KEYS[:2], "api.openai.com"
"""API key of the endpoint; the key of OpenAI is sent only to its own host."""
BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses of a server that may answer later."""
FATAL = {
    401: f"it rejects the key: set {KEY}",
    402: "it requires payment",
    403: f"it does not allow this key: set {KEY}",
    404: "there is no such model or address: the reference is openai:MODEL@URL, with a URL such "
    "as http://localhost:8000/v1",
}
"""Advice by status for errors that every request would have."""
MAX_BYTES = 1 << 22  # bytes of an answer that are read, unpacked
LONGEST_WAIT = 300  # seconds that a busy server may ask for; if it asks for more, the run ends
PATIENCE = 10  # time for a whole answer, in timeouts
MAX_MISSES = 16  # unreadable answers in a row, repeated requests too, after which the run ends
QUOTED, SHOWN = 200, 80
"""Characters quoted of an answer that cannot be parsed: where the run ends, and for one item."""
PER_MESSAGE, CHARACTERS, LIKELY_ANSWER = 8, 4, 80
"""For a dry run: tokens of a message beside its text, characters of a token, and tokens of an
answer."""
LENGTH_WORDS = ("max_tokens", "max_completion_tokens", "completion tokens", "context length")
"""Words in the error of a server with a lower token limit."""
LIMIT_NAME = "max_completion_tokens"  # for models that take it instead of max_tokens
REASONING = 4096
"""Most tokens of an answer, once one was cut at its limit: a model that reasons needs them."""
SEED_STEP = 1_000_003
"""Between the seeds of a request that is sent again: the same seed may give the same answer."""


class ClientOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How endpoints are used."""

    concurrency: int = 8  # requests under way at the same time
    timeout: float = 60.0  # seconds without data from the server before a request fails
    attempts: int = 5  # of a request while the server is busy or fails
    parse_attempts: int = 3  # of a request whose answer is not of the stated form
    pause: float = 0.5
    """Seconds before the first repetition, randomly up to a half less; doubled before each further
    one."""
    longest_pause: float = 60.0  # seconds, also if a server asks for more
    limit_requests: int | None = None  # of a run, repeated ones too; None for no limit
    dry_run: bool = False  # count the requests that would be sent, and send none


class Usage(msgspec.Struct, kw_only=True):
    """Requests that a run has sent to one model of an endpoint, or would send."""

    model: str
    requests: int = 0  # repeated ones too
    cached: int = 0
    answered: int = 0
    repeated: dict[str, int] = {}  # by the reason
    unanswered: dict[str, int] = {}  # without a usable answer, by the reason
    prompt_tokens: int = 0  # as the server states them
    completion_tokens: int = 0


class RequestCounter:
    """Usage of a run by model."""

    def __init__(self, options: ClientOptions | None = None) -> None:
        self.options = options or ClientOptions()
        self._lock = threading.Lock()
        self._by_model: dict[str, Usage] = {}

    def open(self, model: str) -> Usage:
        """Return the counts of a model; they are changed by the other methods."""
        return self._by_model.setdefault(model, Usage(model=model))

    def start(self, usage: Usage) -> None:
        """Count a request before it is sent; stop the run at the limit."""
        limit = self.options.limit_requests
        with self._lock:
            sent = sum(each.requests for each in self._by_model.values())
            if limit is not None and sent >= limit:
                raise StoppedError(
                    f"the limit of {plural(limit, 'request')} is reached; answers are kept, and "
                    "the same command with another --limit-requests goes on"
                )
            usage.requests += 1

    def add(self, usage: Usage, **counts: int | str) -> None:
        """Add to counts by their names; a text is the reason that a request is counted by."""
        with self._lock:
            for name, count in counts.items():
                if isinstance(count, str):
                    reasons = getattr(usage, name)
                    reasons[count] = reasons.get(count, 0) + 1
                else:
                    setattr(usage, name, getattr(usage, name) + count)

    def usage(self) -> tuple[Usage, ...]:
        """Return a copy of the counts of each model."""
        with self._lock:
            return tuple(deepcopy(each) for each in self._by_model.values())


def in_words(usage: Usage, *, planned: bool) -> Iterator[str]:
    """Yield the counts of a model in lines for people."""
    about = "about " if planned else ""
    cached = f", {plural(usage.cached, 'answer')} from the cache" if usage.cached else ""
    yield (
        f"{usage.model}: {plural(usage.requests, 'request')}{cached}; {about}"
        f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    )
    for title, counts in (("repeated", usage.repeated), ("unanswered", usage.unanswered)):
        common = sorted(counts.items(), key=lambda item: -item[1])
        if common:
            yield f"{usage.model}: {title}: {'; '.join(f'{why} ({n:,})' for why, n in common)}"


class _FailedError(Exception):
    """A request without a usable answer; ``wait`` is what a busy server asks for."""

    def __init__(
        self, reason: str, kind: FailureKind, text: str = "", wait: float | None = None
    ) -> None:
        super().__init__(reason)
        self.kind, self.text, self.wait = kind, text, wait


class _EndedError(Exception):
    """A request is not sent, because the run ends."""


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1, max_length=1)]
    usage: Json = None  # some servers state parts of it only


class EndpointSettings(Settings, frozen=True):
    """A model and its address."""

    model: str
    url: str


class EndpointChat:
    """A chat model of an endpoint."""

    def __init__(
        self, folder: ModelFolder, settings: EndpointSettings, loader: ModelLoader
    ) -> None:
        import httpx2  # here, not above: naming an endpoint needs none

        self.identity = folder.identity
        self._model, self._url = settings.model, settings.url
        self._cache, self._counter = loader.cache, loader.requests
        self._options = options = self._counter.options
        self._usage = self._counter.open(settings.model)
        self._shown = without_keys(settings.url)
        key = os.environ.get(KEY, "").strip()
        if not key and urlsplit(self._url).hostname == OPENAI_HOST:
            key = os.environ.get(OPENAI_KEY, "").strip()
        if not (key.isascii() and f"x{key}".isprintable()):
            raise ModelError(f"{KEY}: holds characters that a key cannot have; set it again")
        authorization = {"Authorization": f"Bearer {key}"} if key else {}
        # Redirects are not followed: judged text and key go to the address that was named.
        # Certificates are loaded for https only: that takes a tenth of a second.
        self._client = httpx2.Client(
            verify=self._url.startswith("https:"),
            timeout=options.timeout,
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
        self._supports_schema = self._may_reason = True
        self._limit_name = "max_tokens"
        self._min_tokens = 0
        self._planned: set[bytes] = set()

    def answers(
        self, requests: Sequence[ChatRequest], form: type[Record]
    ) -> list[Record | Unanswered]:
        """Return the answer to each request; each is stored as soon as it is there."""
        reader = RecordReader(form)
        keys = {
            request: cache_key(f"{self.identity}/chat {reader.schema_json}", request)
            for request in dict.fromkeys(requests)
        }
        stored = self._cache.get(keys.values())
        decoder = msgspec.json.Decoder(form)
        answers: dict[ChatRequest, Record | Unanswered] = {
            request: decoder.decode(stored[key]) for request, key in keys.items() if key in stored
        }
        self._counter.add(self._usage, cached=len(answers))
        missing = {request: key for request, key in keys.items() if request not in answers}
        if self._options.dry_run:
            answers |= {request: self._plan(request, key) for request, key in missing.items()}
        elif missing:
            fresh = self._ask_all(missing, reader)
            answers.update(fresh)
        return [answers[request] for request in requests]

    def _plan(self, request: ChatRequest, key: bytes) -> Unanswered:
        """Count a request that would be sent; the model's tokenizer is not known."""
        if key not in self._planned:  # else its answer would be in the cache
            self._planned.add(key)
            contents = [message.content for message in request.messages]
            self._counter.add(
                self._usage,
                requests=1,
                prompt_tokens=sum(-(-len(x) // CHARACTERS) + PER_MESSAGE for x in contents),
                completion_tokens=min(request.max_tokens, LIKELY_ANSWER),
            )
        return Unanswered("nothing was sent")

    def _ask_all(
        self, requests: Mapping[ChatRequest, bytes], reader: RecordReader[Record]
    ) -> dict[ChatRequest, Record | Unanswered]:
        self._ended.clear()

        def ask(request: ChatRequest) -> Record | Unanswered:
            try:
                answer = self._ask(request, reader)
                if not isinstance(answer, Unanswered):
                    self._cache.put({requests[request]: msgspec.json.encode(answer)})
            except BaseException:
                self._ended.set()  # here: before the pool takes the next item
                raise
            return answer

        with ThreadPoolExecutor(min(self._options.concurrency, len(requests))) as pool:
            futures = {request: pool.submit(ask, request) for request in requests}
            try:
                wait(futures.values(), return_when=FIRST_EXCEPTION)
            finally:
                # Requests under way are waited for, to keep their answers; no others are sent.
                self._ended.set()
                pool.shutdown(cancel_futures=True)
        errors = [future.exception() for future in futures.values() if not future.cancelled()]
        raised = [error for error in errors if error and not isinstance(error, _EndedError)]
        # Of several errors the one that ends the run explains the others.
        for error in sorted(raised, key=lambda error: not isinstance(error, StoppedError)):
            raise error
        return {request: future.result() for request, future in futures.items()}

    def _ask(self, request: ChatRequest, reader: RecordReader[Record]) -> Record | Unanswered:
        failed = unparsed = 0
        while True:
            self._wait_for_server()
            max_tokens = max(request.max_tokens, self._min_tokens)
            body = self._body(request, reader.schema, unparsed, max_tokens)
            try:
                answer = self._parse(self._post(body), request, reader, max_tokens)
            except _FailedError as error:
                reason = str(error)
                if error.kind == "unusable":
                    unparsed += 1
                    self._miss(error)
                failed += error.kind in ("busy", "unreachable")
                if error.kind == "refused":
                    is_last = not self._adapt(reason, body, longer=max_tokens > request.max_tokens)
                else:
                    options = self._options
                    is_last = failed >= options.attempts or unparsed >= options.parse_attempts
                if is_last:
                    return self._give_up(error, failed if error.kind != "unusable" else unparsed)
                self._counter.add(self._usage, repeated=reason)
                if error.kind in ("busy", "unreachable"):
                    self._pause(failed, error.wait)
            else:
                self._missed = 0
                self._counter.add(self._usage, answered=1)
                return answer

    def _body(
        self, request: ChatRequest, schema: Json, repeated: int, max_tokens: int
    ) -> dict[str, Json]:
        body: dict[str, Json] = {
            "model": self._model,
            "messages": [
                {"role": role, "content": utf8(content)} for role, content in request.messages
            ],
            "temperature": request.temperature,
            "seed": request.seed + SEED_STEP * repeated,
            self._limit_name: max_tokens,
        }
        if self._supports_schema:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "judgement", "strict": True, "schema": schema},
            }
        return body

    def _post(self, body: dict[str, Json]) -> bytes:
        import httpx2

        self._counter.start(self._usage)
        content, end = bytearray(), time.monotonic() + PATIENCE * self._options.timeout
        url, sent = f"{self._url}/chat/completions", msgspec.json.encode(body)
        try:
            with self._client.stream("POST", url, content=sent) as answer:
                for part in answer.iter_bytes():
                    content += part
                    if len(content) >= MAX_BYTES:
                        break
                    if time.monotonic() > end:
                        raise _FailedError("no answer in time", "busy")
        except httpx2.TimeoutException:
            raise _FailedError("no answer in time", "busy") from None
        except httpx2.ConnectError as error:
            raise _FailedError(f"no connection: {error}", "unreachable") from None
        except httpx2.HTTPError as error:
            raise _FailedError(f"connection broken: {type(error).__name__}", "busy") from None
        if answer.status_code == 200:
            return bytes(content[:MAX_BYTES])
        message, status = error_message(bytes(content[:MAX_BYTES])), f"HTTP {answer.status_code}"
        if answer.status_code in BUSY:
            stated = answer.headers.get("Retry-After", "").strip()
            wait = float(stated) if stated.isdecimal() else None
            if wait and wait > LONGEST_WAIT:
                raise self._stopped(f"{status}: {message}: it asks to wait {int(wait):,} seconds")
            raise _FailedError(status, "busy", message, wait)
        status = f"{status}: {message}".removesuffix(": ")
        advice = FATAL.get(answer.status_code)
        if place := answer.headers.get("Location"):
            advice = (
                f"it redirects to {shortened(without_keys(place))!r}: name that if you trust it"
            )
        if advice:
            raise StoppedError(f"{self._url}: {status}; {advice}")
        raise _FailedError(status, "refused")

    def _parse(
        self, content: bytes, request: ChatRequest, reader: RecordReader[Record], max_tokens: int
    ) -> Record:
        try:
            completion = msgspec.json.decode(content, type=_Completion)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            text = without_keys(content.decode("utf-8", "replace"))
            raise _FailedError("the server sent no whole completion", "unusable", text) from None
        stated = completion.usage if isinstance(completion.usage, dict) else {}
        tokens = {name: stated.get(name) for name in ("prompt_tokens", "completion_tokens")}
        self._counter.add(self._usage, **{k: v for k, v in tokens.items() if isinstance(v, int)})
        choice = completion.choices[0]
        text, is_cut = choice.message.content or "", choice.finish_reason == "length"
        try:
            return reader.read(text, _judged_texts(request), is_cut=is_cut)
        except UnreadableError as error:
            problem = f"not the JSON that was asked for: {without_keys(str(error))}"
            problem = problem if text.strip() else "an empty answer"
            if is_cut:
                problem = f"the answer was cut at its longest, {max_tokens:,} tokens"
                self._min_tokens = REASONING if self._may_reason else 0
            raise _FailedError(problem, "unusable", without_keys(text)) from None

    def _adapt(self, reason: str, body: Mapping[str, Json], *, longer: bool) -> bool:
        """Return whether a refused request is worth a try in another form."""
        if LIMIT_NAME not in body and LIMIT_NAME in reason and "instead" in reason:
            self._limit_name = LIMIT_NAME
            return True
        is_long = any(word in reason for word in LENGTH_WORDS)
        is_unknown = not (self._supports_schema and self._usage.answered)
        if "response_format" in body and is_unknown and not is_long:
            self._supports_schema = False  # the prompt still describes the form
            return True
        if longer and is_long:
            self._may_reason, self._min_tokens = False, 0
            return True
        return False

    def _pause(self, attempt: int, asked: float | None) -> None:
        """Wait before a repetition; a pause that the server asks for holds for all requests."""
        longest = self._options.longest_pause
        if asked is not None:
            with self._lock:
                until = time.monotonic() + min(asked, longest)
                self._closed_until = max(self._closed_until, until)
        else:
            most = min(longest, self._options.pause * 2 ** (attempt - 1))
            # Random without a seed: it affects only the time of a request, not its content.
            self._ended.wait(random.uniform(most / 2, most))

    def _wait_for_server(self) -> None:
        while (left := self._closed_until - time.monotonic()) > 0 and not self._ended.is_set():
            self._ended.wait(left + random.uniform(0, self._options.pause / 4))
        if self._ended.is_set():
            raise _EndedError

    def _give_up(self, error: _FailedError, times: int) -> Unanswered:
        is_long = any(word in str(error) for word in LENGTH_WORDS)
        if error.kind in ("busy", "refused") and not is_long:
            self._miss(error)
        self._counter.add(self._usage, unanswered=str(error))
        if error.kind == "unreachable":
            raise self._stopped(
                f"it cannot be reached ({error}); start it, or give another address"
            )
        shown = f" ({shortened(repr(error.text), SHOWN)})" if error.text else ""
        often = "" if error.kind == "refused" else f", {times} times"
        return Unanswered(f"{self._shown}: {error}{shown}{often}")

    def _miss(self, error: _FailedError) -> None:
        """Count an answer that cannot be used; the run ends at :data:`MAX_MISSES` in a row."""
        with self._lock:
            self._missed += 1
            if self._missed < MAX_MISSES:
                return
        self._counter.add(self._usage, unanswered=str(error))
        line = f"{MAX_MISSES} requests in a row to {self._model!r} had no usable answer ({error})"
        if error.text:
            line += f"; received last: {error.text[:QUOTED]!r}"
        if error.kind == "unusable":
            line += "; name a model that follows instructions and answers with JSON"
        raise self._stopped(line)

    def _stopped(self, problem: str) -> StoppedError:
        return StoppedError(
            f"{self._url}: {problem}; answers are cached, and the same command resumes"
        )


def _judged_texts(request: ChatRequest) -> Iterator[str]:
    """Yield the texts in the JSON of a request's user messages."""
    for message in request.messages:
        if message.role == "user":
            try:
                yield from _texts(msgspec.json.decode(message.content))
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                yield message.content


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


endpoint_chat = model_type("openai-chat", task="chat", settings=EndpointSettings)(EndpointChat)


def openai_model(place: str) -> ModelFolder:
    """Return a model without files for the chat model of ``openai:MODEL@URL``."""
    # The name of a model may hold an @; an address with a user before its host is refused.
    model, at, url = place.rpartition("@")
    try:
        parts = urlsplit(url)
        host = parts.hostname and parts.hostname.encode("idna") and parts.port != 0
    except ValueError:
        host = False
    is_address = host and parts.scheme in ("http", "https") and "://" not in model
    is_name = model and model.isprintable() and "|" not in model and url.isprintable()
    if not at or not is_name or not is_address or parts.query or parts.fragment:
        raise ModelError(
            f"openai:{place!r}: a model of an endpoint is openai:MODEL@URL, such as "
            f"openai:qwen2.5@http://localhost:8000/v1, with the key in {KEY}; MODEL has no |"
        )
    url = url.rstrip("/").removesuffix("/chat/completions")
    # A server may change a model under its name: the digest of its weights is unknown.
    digest = hashlib.sha256(f"openai-chat {model} {url}".encode()).hexdigest()[:8]
    summary = "Answers of a chat model of an endpoint."
    settings: dict[str, Json] = {"model": model, "url": url}
    card = Card(model, "openai-chat", "1", summary, "unknown", {}, settings=settings)
    return ModelFolder(Path(), card, digest)
