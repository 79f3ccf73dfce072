"""Helpers that metrics share: abstention, vectors by text, truncated texts, probabilities."""

from __future__ import annotations

import math
from itertools import compress
from typing import TYPE_CHECKING, TypeVar

from grice.data import Judgement
from grice.text.language import other_language, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from grice.data import Response
    from grice.models.protocols import Encoder, Reader, Vector

Item = TypeVar("Item")


def empty_reply(response: Response) -> str | None:
    """Return that a reply holds no text; None if it holds some."""
    return None if response.text.strip() else "the reply is empty"


def unsupported_reply(response: Response) -> str | None:
    """Return why a reply cannot be scored by itself; None if it can."""
    if reason := empty_reply(response):
        return reason
    if reason := unreadable(response.text):
        return f"the reply {reason}"
    if language := other_language(response.text):
        return f"the reply is in {language}, not in English"
    return None


def unscorable_reply(response: Response) -> str | None:
    """Return why a reply cannot be scored with its history; None if it can."""
    if reason := unsupported_reply(response):
        return reason
    last = None
    for turn in reversed(response.history):  # mostly the first that is looked at can be read
        if (reason := unreadable(turn.text)) is None:
            return None
        last = last or reason
    return "no turn before it" if last is None else f"what was said before {last}"


def score_or_abstain(
    items: Sequence[Item],
    reason_against: Callable[[Item], str | None],
    score: Callable[[list[Item]], Iterable[Judgement]],
    neutral: float,
) -> Iterator[Judgement]:
    """Yield a judgement per item: an abstention where there is a reason against scoring it.

    All other items are scored at once, in order.
    """
    reasons = [reason_against(item) for item in items]
    scored = [item for item, reason in zip(items, reasons, strict=True) if reason is None]
    judgements = iter(score(scored))
    for reason in reasons:
        yield Judgement(neutral, "abstained", reason) if reason else next(judgements)


def encode_distinct(encoder: Encoder, texts: Iterable[str]) -> dict[str, Vector]:
    """Return the unit vector of each distinct text."""
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, encoder.encode(distinct), strict=True))


def truncated_texts(model: Reader, texts: Iterable[str]) -> frozenset[str]:
    """Return the texts that are too long for a model to read whole."""
    distinct = list(dict.fromkeys(texts))
    return frozenset(compress(distinct, model.truncated(distinct)))


def probability(log_odds: float) -> float:
    """Return the probability of log odds.

    >>> probability(0.0)
    0.5
    """
    return 1 / (1 + math.exp(-log_odds))
