"""Helpers that metrics share: abstention, truncated texts, evidence."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec.structs import replace

from grice.data import FeatureEvidence, Judgement, Response, Span, Turn
from grice.models.protocols import JointReader, Reader
from grice.text.language import other_language, unreadable

if TYPE_CHECKING:
    from grice.text.content import Stretch

Item = TypeVar("Item")
LONGEST_WORD = 40  # characters of a word that evidence shows
_WORD = re.compile(r"\S+")


def empty_reply(response: Response) -> str | None:
    """Return the reason if a reply is empty; None if it contains text."""
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
    for turn in reversed(response.history):  # mostly the first one can be read
        if (reason := unreadable(turn.text)) is None:
            return None
        last = last or reason
    return "no turn before the reply" if last is None else f"the history {last}"


def repeated_share(novel_fraction: float) -> str:
    """Return the share of words that :func:`grice.text.content.novelty` removed, as a reason."""
    return f"{1 - novel_fraction:.0%} of its words repeat earlier sentences or ask for a rating"


def score_or_abstain(
    items: Sequence[Item],
    reason_against: Callable[[Item], str | None],
    score: Callable[[list[Item]], Iterable[Judgement]],
    neutral: float,
    reader: Reader | None = None,
) -> Iterator[Judgement]:
    """Yield a judgement per item: an abstention where there is a reason against scoring it.

    All other items are scored at once, in order. With a reader, which takes only replies, those
    that it truncates are flagged.
    """
    reasons = [reason_against(item) for item in items]
    scored = [item for item, reason in zip(items, reasons, strict=True) if reason is None]
    judgements = iter(score(scored))
    if reader is not None:
        texts = [(cast("Response", item).text,) for item in scored]
        judgements = flag_truncated(judgements, texts, reader, scored)
    for reason in reasons:
        yield Judgement(neutral, "abstained", reason) if reason else next(judgements)


def flag_truncated(
    judgements: Iterable[Judgement],
    texts: Sequence[Sequence[str]],
    model: Reader,
    items: Sequence[object] = (),
) -> Iterator[Judgement]:
    """Flag the judgements of which a text, or an item, is too long for the model to read whole."""
    if isinstance(model, JointReader):
        marks = model.cut(items)
    else:
        distinct = list(dict.fromkeys(text for own in texts for text in own))
        cut = frozenset(compress(distinct, model.truncated(distinct)))
        marks = [not cut.isdisjoint(own) for own in texts]
    for judgement, is_cut in zip(judgements, marks, strict=True):
        yield replace(judgement, flags=("truncated",)) if is_cut else judgement


def own_turns(response: Response) -> Iterator[tuple[int, Turn]]:
    """Yield the speaker's earlier turns that can be read, each with its index."""
    for position, turn in zip(response.positions, response.history, strict=True):
        if turn.speaker == response.speaker and unreadable(turn.text) is None:
            yield position, turn


def feature_at(
    name: str, value: float, turn: int, place: Stretch, effect: float | None = None
) -> FeatureEvidence:
    """Return a feature that was measured on a part of a turn."""
    return FeatureEvidence(name, value, effect, Span(turn, place.start, place.end))


def word_features(
    response: Response,
    label: str,
    values: Iterable[tuple[int, float]],
    pool: Callable[[float, float], float],
) -> list[FeatureEvidence]:
    """Return a feature per word, pooled (from 0) from values at offsets of the reply."""
    words = list(_WORD.finditer(response.text))
    starts = [word.start() for word in words]
    pooled = [0.0] * len(words)
    for offset, value in values:
        place = bisect_right(starts, offset) - 1
        pooled[place] = pool(pooled[place], value)
    return [
        FeatureEvidence(
            f"{label}: {word[0][:LONGEST_WORD]!r}", value, None, Span(response.turn, *word.span())
        )
        for word, value in zip(words, pooled, strict=True)
    ]


def probability(log_odds: float) -> float:
    """Return the probability of log odds, in double precision."""
    return 1 / (1 + math.exp(-log_odds))
