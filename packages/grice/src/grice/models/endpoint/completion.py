"""The only choice of a completion that a server sent, and its tokens."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from grice.models.endpoint.dispatch import UnusableError
from grice.models.endpoint.spending import Tokens

Choice = TypeVar("Choice", bound=msgspec.Struct)


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int = 0


class _Completion(msgspec.Struct, Generic[Choice]):
    choices: list[Choice]
    usage: _Usage | None = None


def only_choice(content: bytes, kind: type[Choice]) -> tuple[Choice, Tokens | None]:
    """Return the choice in the body of an answer, and its tokens if the server states them.

    Raises:
        UnusableError: If the body is no whole completion, or holds another number of choices.
    """
    try:
        completion = msgspec.json.decode(content, type=_Completion[kind])  # type: ignore[valid-type]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UnusableError("the server sent no whole completion", None, _text(content)) from None
    usage = completion.usage
    used = None if usage is None else Tokens(usage.prompt_tokens, usage.completion_tokens)
    if len(completion.choices) != 1:
        reason = f"{len(completion.choices)} answers where one was asked for"
        raise UnusableError(reason, used, _text(content))
    return completion.choices[0], used


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
