"""Preference pairs for training, out of ranked candidates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict

import msgspec

from grice.errors import InputError
from grice.readers.roles import ASSISTANT, USER, role_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from grice.evaluation.rerank import Candidate, Ranked
    from grice.records import Turn


class Message(TypedDict):
    """A message as chat interfaces and trainers take it."""

    role: str
    content: str


class Preference(msgspec.Struct, frozen=True):
    """A pair as trainers of preferences read it, with what the preference rests on.

    Attributes:
        margin: Value of the better minus value of the worse.
    """

    prompt: list[Message]
    chosen: list[Message]
    rejected: list[Message]
    margin: float
    chosen_scores: dict[str, float]
    rejected_scores: dict[str, float]
    conversation: str


class Filters(msgspec.Struct, frozen=True):
    """Which pairs are kept.

    Attributes:
        margin: Least difference of the values.
        length_ratio: The longer reply has at most so many times the words of the shorter one, so
            that length is not what is learned; infinite for any.
        agreement: Whether no metric may prefer the rejected reply.
    """

    margin: float = 0.1
    length_ratio: float = math.inf
    agreement: bool = False

    def check(self) -> None:
        """Raise InputError for a value that keeps nothing, or means nothing."""
        if not (math.isfinite(self.margin) and self.margin >= 0):
            raise InputError(f"a margin is 0 or more, found {self.margin}")
        if not self.length_ratio >= 1:
            raise InputError(f"a ratio of lengths is 1 or more, found {self.length_ratio}")

    def refusal(self, better: Candidate, worse: Candidate) -> str | None:
        """Return why a pair of judged candidates is not kept, if it is not."""
        if better.text.split() == worse.text.split():
            return "the same text"
        if _margin(better, worse) < self.margin or better.value == worse.value:
            return "too close"
        shorter, longer = sorted(len(each.text.split()) for each in (better, worse))
        if longer > self.length_ratio * shorter:
            return "lengths too different"
        own, theirs = _values(better), _values(worse)
        if self.agreement and any(own[name] < theirs[name] for name in own.keys() & theirs):
            return "metrics disagree"
        return None


def preferences(
    ranked: Iterable[Ranked], filters: Filters, refused: Counter[str]
) -> Iterator[Preference]:
    """Yield a pair of the best and the worst candidate of each context.

    Vetoed candidates may be rejected and are never chosen; those that were not judged are neither.

    Args:
        ranked: What :func:`grice.evaluation.rerank` gave.
        filters: Which pairs are kept.
        refused: Counts why the others are not.

    Raises:
        InputError: For filters out of range.
    """
    filters.check()
    for item in ranked:
        judged = [candidate for candidate in item.candidates if candidate.value is not None]
        if len(judged) < 2 or judged[0].vetoed:
            refused["fewer than two candidates, or all vetoed"] += 1
        elif (why := filters.refusal(judged[0], judged[-1])) is not None:
            refused[why] += 1
        else:
            yield _preference(item, judged[0], judged[-1])


def _preference(item: Ranked, better: Candidate, worse: Candidate) -> Preference:
    return Preference(
        _prompt(item.turns),
        [Message(role=ASSISTANT, content=better.text)],
        [Message(role=ASSISTANT, content=worse.text)],
        round(_margin(better, worse), 6),
        _values(better),
        _values(worse),
        item.conversation,
    )


def _prompt(turns: Iterable[Turn]) -> list[Message]:
    """Return turns as messages; without roles, whoever speaks last is the user."""
    listed = list(turns)
    messages = []
    for turn in listed:
        role = turn.role or (USER if turn.speaker == listed[-1].speaker else ASSISTANT)
        role = ASSISTANT if role_of(role) == ASSISTANT else role
        messages.append(Message(role=role, content=turn.text))
    return messages


def _margin(better: Candidate, worse: Candidate) -> float:
    return (better.value or 0.0) - (worse.value or 0.0)


def _values(candidate: Candidate) -> dict[str, float]:
    return {score.metric: score.value for score in candidate.scores if score.value is not None}
