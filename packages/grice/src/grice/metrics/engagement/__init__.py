"""Engagement: would a person want to go on talking after this reply?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

from grice.metrics.declaration import Example, metric
from grice.metrics.unjudged import judge_or_abstain, nothing_to_judge
from grice.models.protocols import Pair
from grice.records import FeatureEvidence, Judgement
from grice.text.repetition import novelty
from grice.text.script import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.metrics.engagement.replies import Weighed
    from grice.records import Response

__all__ = ["engagement"]

NEUTRAL = 0.5
NOTICEABLE = 0.005
"""An effect below this would be printed as nothing."""
LABELS = {"words": "reply length"}
"""Features whose name alone says too little."""
SHOWN = 5
"""Most features that are named as evidence."""


class Judge(Protocol):
    """Judges replies with the effect of each feature, as ``replies.ReplyHead`` does."""

    def weigh(self, pairs: Sequence[Pair]) -> list[Weighed]: ...
    def truncated(self, texts: Sequence[str]) -> list[bool]: ...


@metric(
    "engagement",
    version="3",
    summary="Would a person want to go on talking after this reply?",
    judges="response",
    models={"model": "bundle:engagement"},
    source="After predictive engagement (Ghazarian et al., AAAI 2020), with its labels put right.",
    neutral=NEUTRAL,
    example=Example(
        [
            "Do you like music?",
            "I love it, I play the violin in an orchestra. What do you listen to?",
        ],
        0.5,
        1.0,
    ),
)
def engagement(responses: Sequence[Response], *, model: Judge) -> Iterator[Judgement]:
    """Return the probability that a person finds the reply engaging.

    The model that ships reads counts such as the number of words, and the vectors of the reply and
    of the turn before it. What it reads was chosen by how replies of equal length rank on a corpus
    other than those it was learned on; that adds a little to length, which still weighs most. 0.5
    is where an engaging reply is as likely as a dull one, with both classes weighed alike. The
    evidence is the features with the largest effect on the score, compared with an average reply.

    Sentences that repeat an earlier turn are stripped, and the score is multiplied by the fraction
    of the reply's words that is left.

    When to use it:
        With a model that ``grice train`` adapted to your own ratings, or to find very short and
        repeated replies.

    When not to:
        Where ``log_length`` tells as much, which on most rated sets it does: it does not run by
        default for that. Among replies of about the same length it discriminates weakly.
    """

    def judge(judged: Sequence[Response]) -> Iterator[Judgement]:
        items = list(map(_item, judged))
        texts = list(dict.fromkeys(text for item in items for text in item.texts))
        cut = dict(zip(texts, model.truncated(texts), strict=True))
        weighed = model.weigh([item.pair for item in items])
        for item, answer in zip(items, weighed, strict=True):
            yield _judgement(item, answer, truncated=any(cut[text] for text in item.texts))

    return judge_or_abstain(responses, nothing_to_judge, judge, NEUTRAL)


class _Item(NamedTuple):
    """A reply that can be judged: beside the turn before it, without repetition."""

    pair: Pair
    novel_fraction: float

    @property
    def texts(self) -> tuple[str, str]:
        return self.pair.left[0], self.pair.right


def _item(response: Response) -> _Item:
    novel = novelty(response.text, (turn.text for turn in response.history))
    return _Item(Pair((_before(response),), novel.text), novel.novel_fraction)


def _judgement(item: _Item, weighed: Weighed, *, truncated: bool) -> Judgement:
    if not item.novel_fraction or unreadable(item.pair.right):
        return Judgement(0.0, "ok", "it says nothing that was not said before")
    evidence = tuple(
        FeatureEvidence(part.name, part.value, part.effect)
        for part in weighed.parts[:SHOWN]
        if abs(part.effect) >= NOTICEABLE and math.isfinite(part.value)
    )
    flags = ("truncated",) if truncated else ()
    value = weighed.value * item.novel_fraction
    if value < NEUTRAL <= max(weighed.value, 1 - item.novel_fraction):
        reason = f"only {item.novel_fraction:.0%} of its words are new"
    else:
        reason = _reason(value, evidence)
    return Judgement(value, "ok", reason, flags, evidence)


def _before(response: Response) -> str:
    """Return the last turn that can be read."""
    return next(turn.text for turn in reversed(response.history) if not unreadable(turn.text))


def _reason(value: float, evidence: Sequence[FeatureEvidence]) -> str:
    """Return the feature that speaks most for a high value, or against it for a low one."""
    if not evidence:
        return "like an average reply in every respect"
    sign = -1 if value < NEUTRAL else 1
    effects = [(sign * piece.effect, piece) for piece in evidence if piece.effect is not None]
    effect, most = max(effects, key=lambda pair: pair[0])
    verb = "lowers" if sign < 0 else "raises"
    if effect <= 0:
        return f"no single feature {verb} it"
    return f"{verb} it most: {LABELS.get(most.name, most.name)} ({most.effect:+.2f})"
