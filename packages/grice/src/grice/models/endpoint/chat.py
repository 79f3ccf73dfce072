"""Chat completions in a stated form, each distinct request answered once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from grice.models.cache import cache_key
from grice.models.endpoint.dispatch import Dispatcher, UnusableError, only_choice
from grice.models.endpoint.record import RecordReader, UnreadableError
from grice.models.endpoint.usage import Tokens
from grice.models.protocols import Unanswered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.models.cache import Cache
    from grice.models.endpoint.client import Client
    from grice.models.endpoint.usage import RequestCounter
    from grice.models.protocols import ChatRequest
    from grice.records import Json

Answer = TypeVar("Answer")

PER_MESSAGE = 8
"""Tokens that a chat format adds to a message, about."""
CHARACTERS = 4
"""Characters of English in a token, about: for what is said before anything is sent."""
LIKELY_ANSWER = 80
"""Tokens of an answer, about."""
SCHEMA_WORDS = ("response_format", "json_schema")
"""Of which one stands in the refusal of a server that knows no schemas."""
LENGTH_WORDS = ("max_tokens", "max_completion_tokens", "completion tokens", "context length")
"""Of which one stands in the refusal of a server that gives no answer so long."""
REASONING = 4096
"""Tokens of an answer at most, once one was cut at its longest: a model that reasons needs them."""
AGAIN = 1_000_003
"""Between the seeds of a request that is asked again: the same one may give the same answer."""


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class EndpointChat:
    """A chat model of an endpoint; a :class:`~grice.models.protocols.Chat`."""

    def __init__(
        self, model: str, identity: str, client: Client, cache: Cache, requests: RequestCounter
    ) -> None:
        self.identity = identity
        self._model = model
        self._cache = cache
        self._requests = requests
        self.close = client.close
        self._dispatcher = Dispatcher(model, client, requests)
        self._takes_schema = True
        self._least_tokens = 0
        self._may_reason = True
        self._planned: set[bytes] = set()
        requests.open(model)

    def answers(
        self, requests: Sequence[ChatRequest], form: type[Answer]
    ) -> list[Answer | Unanswered]:
        """Return the answer to each request; see :class:`~grice.models.protocols.Chat`.

        An answer is kept as soon as it is there.
        """
        schema = _schema(form)
        keys = {
            request: cache_key(f"{self.identity}/chat {schema}", request)
            for request in dict.fromkeys(requests)
        }
        kept = self._cache.get(keys.values())
        decoder = msgspec.json.Decoder(form)
        answers: dict[ChatRequest, Answer | Unanswered] = {
            request: decoder.decode(kept[key]) for request, key in keys.items() if key in kept
        }
        self._requests.count(self._model, cached=len(answers))
        missing = [request for request in keys if request not in answers]
        if self._requests.options.dry_run:
            for request in missing:
                if keys[request] not in self._planned:  # what is answered is not asked again
                    self._requests.plan(self._model, _likely_tokens(request))
            self._planned.update(keys[request] for request in missing)
            answers.update(dict.fromkeys(missing, Unanswered("nothing was sent")))
        else:
            reader = RecordReader(form, msgspec.json.decode(schema))

            def ask(request: ChatRequest) -> Answer | Unanswered:
                answer = self._asked(request, reader)
                if not isinstance(answer, Unanswered):
                    self._cache.put({keys[request]: msgspec.json.encode(answer)})
                return answer

            fresh = self._dispatcher.map(missing, ask)
            answers.update(zip(missing, fresh, strict=True))
        return [answers[request] for request in requests]

    def _asked(self, request: ChatRequest, reader: RecordReader[Answer]) -> Answer | Unanswered:
        with_schema = self._takes_schema
        longest = request.max_tokens

        def body(unusable: int) -> dict[str, Json]:
            nonlocal longest
            longest = max(request.max_tokens, self._least_tokens)
            sent: dict[str, Json] = {
                "model": self._model,
                "messages": [
                    {"role": message.role, "content": message.content}
                    for message in request.messages
                ],
                "temperature": request.temperature,
                "seed": request.seed + AGAIN * unusable,
                "max_tokens": longest,
            }
            if with_schema:
                sent["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {"name": "judgement", "strict": True, "schema": reader.schema},
                }
            return sent

        def read(content: bytes) -> tuple[Answer, Tokens | None]:
            choice, used = only_choice(content, _Choice)
            text = choice.message.content or ""
            is_cut = choice.finish_reason == "length"
            try:
                return reader.read(text, _judged(request), is_cut=is_cut), used
            except UnreadableError as error:
                problem = f"not the JSON that was asked for: {error}"
                if is_cut:
                    self._least_tokens = REASONING if self._may_reason else 0
                    problem = f"the answer was cut at its longest, {longest:,} tokens"
                raise UnusableError(problem, used, text) from None

        def refused(reason: str) -> bool:
            nonlocal with_schema
            # A server that knows no schemas is asked without one: the prompt describes the form.
            if with_schema and any(word in reason for word in SCHEMA_WORDS):
                self._takes_schema = with_schema = False
                return True
            if longest > request.max_tokens and any(word in reason for word in LENGTH_WORDS):
                self._may_reason, self._least_tokens = False, 0
                return True
            return False

        return self._dispatcher.send("chat/completions", body, read, refused)


def _likely_tokens(request: ChatRequest) -> Tokens:
    """Return about how many tokens a request has; the tokenizer of the model is not known."""
    contents = [message.content for message in request.messages]
    prompt = sum(-(-len(text) // CHARACTERS) + PER_MESSAGE for text in contents)
    return Tokens(prompt, min(request.max_tokens, LIKELY_ANSWER))


def _schema(form: type) -> str:
    """Return the JSON schema of a record, in the part of the language that servers know."""
    (schema,), components = msgspec.json.schema_components([form])
    name = str(schema["$ref"]).rpartition("/")[2] if "$ref" in schema else ""
    return msgspec.json.encode(components.get(name, schema), order="sorted").decode()


def _judged(request: ChatRequest) -> Iterator[str]:
    """Yield the texts in the JSON of a request's messages; of other messages nothing."""
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
