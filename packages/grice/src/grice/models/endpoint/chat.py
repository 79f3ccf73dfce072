"""Chat models of endpoints, which write records of a stated form: ``openai:MODEL@URL``."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import msgspec

from grice.errors import ModelError
from grice.models.cache import cache_key
from grice.models.endpoint.client import Client, UnusableError
from grice.models.endpoint.record import RecordReader, UnreadableError
from grice.models.endpoint.usage import Tokens
from grice.models.folder import Card, ModelFolder
from grice.models.loader import Settings, model_type, reference_scheme
from grice.models.protocols import Chat, Unanswered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Json
    from grice.models.cache import Cache
    from grice.models.loader import ModelLoader
    from grice.models.protocols import ChatRequest

Answer = TypeVar("Answer")

PER_MESSAGE, CHARACTERS, LIKELY_ANSWER = 8, 4, 80
"""For a dry run: tokens that a chat format adds to a message, characters of English in a token, and
tokens of an answer."""
SCHEMA_WORDS = ("response_format", "json_schema")
"""Words in the refusal of a server that supports no schemas."""
LENGTH_WORDS = ("max_tokens", "max_completion_tokens", "completion tokens", "context length")
"""Words in the refusal of a server that gives no answer so long."""
REASONING = 4096
"""Most tokens of an answer, once one was cut at its limit: a model that reasons needs them."""
SEED_STEP = 1_000_003
"""Between the seeds of a request that is sent again: the same seed may give the same answer."""


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


class EndpointChat:
    """A chat model of an endpoint; a :class:`~grice.models.protocols.Chat`."""

    def __init__(self, client: Client, identity: str, cache: Cache) -> None:
        self.identity = identity
        self.close = client.close
        self._client, self._cache = client, cache
        self._supports_schema = True
        self._min_tokens = 0
        self._may_reason = True
        self._planned: set[bytes] = set()

    def answers(
        self, requests: Sequence[ChatRequest], form: type[Answer]
    ) -> list[Answer | Unanswered]:
        """Return the answer to each request; each is stored as soon as it is there."""
        client, counter = self._client, self._client.counter
        schema = _schema(form)
        keys = {
            request: cache_key(f"{self.identity}/chat {schema}", request)
            for request in dict.fromkeys(requests)
        }
        stored = self._cache.get(keys.values())
        decoder = msgspec.json.Decoder(form)
        answers: dict[ChatRequest, Answer | Unanswered] = {
            request: decoder.decode(stored[key]) for request, key in keys.items() if key in stored
        }
        counter.add(client.model, cached=len(answers))
        missing = [request for request in keys if request not in answers]
        if client.options.dry_run:
            for request in missing:
                if keys[request] not in self._planned:  # its answer would be in the cache
                    counter.add(client.model, requests=1)
                    counter.add_tokens(client.model, _likely_tokens(request))
            self._planned.update(keys[request] for request in missing)
            answers.update(dict.fromkeys(missing, Unanswered("nothing was sent")))
            return [answers[request] for request in requests]
        reader = RecordReader(form, msgspec.json.decode(schema))

        def ask(request: ChatRequest) -> Answer | Unanswered:
            answer = self._ask(request, reader)
            if not isinstance(answer, Unanswered):
                self._cache.put({keys[request]: msgspec.json.encode(answer)})
            return answer

        answers.update(zip(missing, client.map(missing, ask), strict=True))
        return [answers[request] for request in requests]

    def _ask(self, request: ChatRequest, reader: RecordReader[Answer]) -> Answer | Unanswered:
        with_schema = self._supports_schema
        max_tokens = request.max_tokens

        def body(unparsed: int) -> dict[str, Json]:
            nonlocal max_tokens
            max_tokens = max(request.max_tokens, self._min_tokens)
            sent: dict[str, Json] = {
                "model": self._client.model,
                "messages": [
                    {"role": message.role, "content": message.content}
                    for message in request.messages
                ],
                "temperature": request.temperature,
                "seed": request.seed + SEED_STEP * unparsed,
                "max_tokens": max_tokens,
            }
            if with_schema:
                sent["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {"name": "judgement", "strict": True, "schema": reader.schema},
                }
            return sent

        def parse(content: bytes) -> tuple[Answer, Tokens | None]:
            choice, used = _only_choice(content)
            text = choice.message.content or ""
            is_cut = choice.finish_reason == "length"
            try:
                return reader.read(text, _judged(request), is_cut=is_cut), used
            except UnreadableError as error:
                problem = f"not the JSON that was asked for: {error}"
                if is_cut:
                    self._min_tokens = REASONING if self._may_reason else 0
                    problem = f"the answer was cut at its longest, {max_tokens:,} tokens"
                raise UnusableError(problem, used, text) from None

        def adapt(reason: str) -> bool:
            nonlocal with_schema
            # Without a schema the prompt still describes the form.
            if with_schema and any(word in reason for word in SCHEMA_WORDS):
                self._supports_schema = with_schema = False
                return True
            if max_tokens > request.max_tokens and any(word in reason for word in LENGTH_WORDS):
                self._may_reason, self._min_tokens = False, 0
                return True
            return False

        return self._client.send(body, parse, adapt)


def _only_choice(content: bytes) -> tuple[_Choice, Tokens | None]:
    """Return the choice in the body of an answer, and its tokens if the server states them."""
    text = content.decode("utf-8", "replace")
    try:
        completion = msgspec.json.decode(content, type=_Completion)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UnusableError("the server sent no whole completion", None, text) from None
    usage = completion.usage
    used = None if usage is None else Tokens(usage.prompt_tokens, usage.completion_tokens)
    if len(completion.choices) != 1:
        reason = f"{len(completion.choices)} answers where one was asked for"
        raise UnusableError(reason, used, text)
    return completion.choices[0], used


def _likely_tokens(request: ChatRequest) -> Tokens:
    """Estimate the tokens of a request; the tokenizer of the model is not known."""
    contents = [message.content for message in request.messages]
    prompt = sum(-(-len(text) // CHARACTERS) + PER_MESSAGE for text in contents)
    return Tokens(prompt, min(request.max_tokens, LIKELY_ANSWER))


def _schema(form: type) -> str:
    """Return the JSON schema of a record, in the part of the language that servers support."""
    (schema,), components = msgspec.json.schema_components([form])
    name = str(schema["$ref"]).rpartition("/")[2] if "$ref" in schema else ""
    return msgspec.json.encode(components.get(name, schema), order="sorted").decode()


def _judged(request: ChatRequest) -> Iterator[str]:
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


class EndpointSettings(Settings, frozen=True):
    """A model and its address."""

    model: str
    url: str


@model_type("openai-chat", task="chat", protocol=Chat, settings=EndpointSettings)
def endpoint_chat(
    folder: ModelFolder, settings: EndpointSettings, loader: ModelLoader
) -> EndpointChat:
    """Open a chat model; nothing is sent."""
    client = Client(settings.model, settings.url, loader.requests)
    return EndpointChat(client, folder.identity, loader.cache)


@reference_scheme("openai")
def openai_model(place: str) -> ModelFolder:
    """Return a model without files for the chat model of ``openai:MODEL@URL``."""
    # The name of a model may hold an @; an address with a user before its host is refused.
    model, at, url = place.rpartition("@")
    parts = urlsplit(url)
    is_address = parts.scheme in ("http", "https") and parts.hostname
    if not at or not model or not is_address or parts.query or parts.fragment:
        raise ModelError(
            f"openai:{place}: a model of an endpoint is openai:MODEL@URL, such as "
            "openai:qwen2.5@http://localhost:8000/v1"
        )
    if not model.isprintable() or "|" in model or not url.isprintable():
        raise ModelError(f"openai:{place!r}: a name without | and of printable letters is needed")
    url = url.rstrip("/")
    # A server may change a model under its name: no digest of weights is known here.
    digest = hashlib.sha256(f"openai-chat {model} {url}".encode()).hexdigest()[:8]
    summary = "Answers of a chat model of an endpoint."
    settings: dict[str, Json] = {"model": model, "url": url}
    card = Card(model, "openai-chat", "1", summary, "unknown", {}, settings=settings)
    return ModelFolder(Path(), card, digest)
