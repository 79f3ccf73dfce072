"""English text processing: sentences, verb forms, events, language and markup."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

ANSWERS, CHARACTERS = 4096, 4_000_000
"""Most answers that are cached for a function, and about the most characters of their texts."""

Function = TypeVar("Function", bound=Callable[..., Any])


def cached(function: Function) -> Function:
    """Cache a function of texts: a turn stands before many replies, which many metrics judge."""
    held = 0

    @lru_cache(ANSWERS)
    @wraps(function)
    def answer(*texts: str | tuple[str, ...]) -> object:
        nonlocal held
        held += sum(len(text) if isinstance(text, str) else sum(map(len, text)) for text in texts)
        if held > CHARACTERS:
            answer.cache_clear()
            held = 0
        return function(*texts)

    return cast("Function", answer)
