"""Chat completions in a stated form, each distinct request answered once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from grice.errors import shortened
from grice.runtime.endpoint.completion import only_choice
from grice.runtime.endpoint.dispatch import Dispatcher, UnusableError
from grice.runtime.endpoint.spending import Tokens
from grice.runtime.memo import answer_key
from grice.runtime.protocols import Unanswered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.records import Json
    from grice.runtime.endpoint.client import Client
    from grice.runtime.endpoint.spending import Spending
    from grice.runtime.memo import Memo
    from grice.runtime.protocols import ChatRequest

Answer = TypeVar("Answer")

PER_MESSAGE = 16
"""Tokens that a chat format adds to a message at most, by those that are published."""
CHARACTERS = 4
"""Characters of English in a token, about: for what is said before anything is sent."""
LIKELY_ANSWER = 80
"""Tokens of an answer, about."""
SCHEMA_WORDS = ("response_format", "json_schema")
"""Of which one stands in the refusal of a server that knows no schemas."""
AGAIN = 1_000_003
"""Between the seeds of a request that is asked again: the same one may give the same answer."""


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class EndpointChat:
    """A chat model of an endpoint; a :class:`~grice.runtime.protocols.Chat`."""

    def __init__(
        self, model: str, identity: str, client: Client, memo: Memo, spending: Spending
    ) -> None:
        self.identity = identity
        self._model = model
        self._memo = memo
        self._spending = spending
        self.close = client.close
        self._dispatcher = Dispatcher(model, client, spending)
        self._takes_schema = True
        spending.open(model)

    def answers(
        self, requests: Sequence[ChatRequest], form: type[Answer]
    ) -> list[Answer | Unanswered]:
        """Return the answer to each request; see :class:`~grice.runtime.protocols.Chat`.

        An answer is kept as soon as it is there, so that one that was paid for is not lost.
        """
        schema = _schema(form)
        keys = {
            request: answer_key(f"{self.identity}/chat {schema}", request)
            for request in dict.fromkeys(requests)
        }
        kept = self._memo.recall(keys.values())
        decoder = msgspec.json.Decoder(form)
        answers: dict[ChatRequest, Answer | Unanswered] = {
            request: decoder.decode(kept[key]) for request, key in keys.items() if key in kept
        }
        self._spending.count(self._model, cached=len(answers))
        missing = [request for request in keys if request not in answers]
        if self._spending.terms.planning:
            for request in missing:
                self._spending.plan(self._model, likely_tokens(request))
            answers.update(dict.fromkeys(missing, Unanswered("nothing was sent")))
        else:

            def ask(request: ChatRequest) -> Answer | Unanswered:
                answer = self._asked(request, schema, decoder)
                if not isinstance(answer, Unanswered):
                    self._memo.keep({keys[request]: msgspec.json.encode(answer)})
                return answer

            fresh = self._dispatcher.map(missing, ask)
            answers.update(zip(missing, fresh, strict=True))
        return [answers[request] for request in requests]

    def _asked(
        self, request: ChatRequest, schema: str, decoder: msgspec.json.Decoder[Answer]
    ) -> Answer | Unanswered:
        form = msgspec.json.decode(schema)

        with_schema = self._takes_schema

        def body(unusable: int) -> dict[str, Json]:
            sent: dict[str, Json] = {
                "model": self._model,
                "messages": [
                    {"role": message.role, "content": message.content}
                    for message in request.messages
                ],
                "temperature": request.temperature,
                "seed": request.seed + AGAIN * unusable,
                "max_tokens": request.max_tokens,
            }
            if with_schema:
                sent["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {"name": "judgement", "strict": True, "schema": form},
                }
            return sent

        def refused(reason: str) -> bool:
            # A server that knows no schemas is asked without one: the prompt describes the form,
            # and the answer is read as strictly.
            nonlocal with_schema
            asks_again = with_schema and any(word in reason for word in SCHEMA_WORDS)
            if asks_again:
                self._takes_schema = with_schema = False
            return asks_again

        return self._dispatcher.send(
            "chat/completions",
            body,
            most_tokens(request),
            lambda sent: _read(sent, decoder),
            refused,
        )


def most_tokens(request: ChatRequest) -> Tokens:
    """Return the most tokens that a request can have: no token of text is shorter than a byte."""
    contents = [message.content for message in request.messages]
    prompt = sum(len(text.encode("utf-8", "replace")) + PER_MESSAGE for text in contents)
    return Tokens(prompt, request.max_tokens)


def likely_tokens(request: ChatRequest) -> Tokens:
    """Return about how many tokens a request has; the tokenizer of the model is not known."""
    contents = [message.content for message in request.messages]
    prompt = sum(-(-len(text) // CHARACTERS) + PER_MESSAGE // 2 for text in contents)
    return Tokens(prompt, min(request.max_tokens, LIKELY_ANSWER))


def _schema(form: type) -> str:
    """Return the JSON schema of a record, in the part of the language that servers know."""
    (schema,), components = msgspec.json.schema_components([form])
    name = str(schema["$ref"]).rpartition("/")[2] if "$ref" in schema else ""
    return msgspec.json.encode(components.get(name, schema), order="sorted").decode()


def _read(content: bytes, decoder: msgspec.json.Decoder[Answer]) -> tuple[Answer, Tokens | None]:
    """Return the answer in what a server sent, and its tokens."""
    choice, used = only_choice(content, _Choice)
    text = choice.message.content or ""
    try:
        return decoder.decode(_unfenced(text)), used
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        if choice.finish_reason == "length":
            raise UnusableError("the answer was cut at its longest", used) from None
        problem = (
            str(error).partition(" - at")[0]
            if isinstance(error, msgspec.ValidationError)
            else f"no JSON alone, but {shortened(repr(text), 80)}"
        )
        raise UnusableError(f"not the JSON that was asked for: {problem}", used) from None


def _unfenced(text: str) -> str:
    """Return a text without the fence of a block of code around all of it.

    Anything else around the JSON is an answer in another form: which of several objects in prose
    is meant, or whether the judged text brought one along, cannot be told.
    """
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and text.count("```") == 2:
        return text.partition("\n")[2].removesuffix("```")
    return text
