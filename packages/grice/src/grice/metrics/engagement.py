"""Engagement: would a person want to continue after this reply?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from grice.data import FeatureEvidence, Judgement, Response
from grice.metrics.common import flag_truncated, repeated_share, unscorable_reply
from grice.metrics.declaration import Example, metric
from grice.models.protocols import Pair
from grice.text.content import novelty
from grice.text.language import unreadable

if TYPE_CHECKING:
    from grice.models.reply_head import Explained, ReplyHead

NEUTRAL = 0.5
NOTICEABLE = 0.005  # an effect below this would be printed as nothing
SHOWN = 5  # most features that are named as evidence


@metric(
    "engagement",
    version="4",
    summary="Would a person want to continue the conversation after this reply?",
    judges="response",
    models={"model": "builtin:engagement"},
    source="After predictive engagement (Ghazarian et al., AAAI 2020), with its labels put right.",
    neutral=NEUTRAL,
    abstain=unscorable_reply,
    example=Example(
        [
            "Do you like music?",
            "I love it, I play the violin in an orchestra. What do you listen to?",
        ],
        0.5,
        1.0,
    ),
)
def engagement(responses: Sequence[Response], *, model: ReplyHead) -> Iterator[Judgement]:
    """Return the probability that a person finds the reply engaging.

    The shipped model uses counts such as the number of words, and the vectors of the reply and of
    the turn before it. Its features were selected by the ranking of replies of equal length on a
    corpus not used for training; they add a little to length, which still has the largest weight.
    At 0.5 engaging and dull replies are equally likely, with equal class weights. The
    evidence is the features with the largest effect on the score, compared with an average reply.

    Sentences that repeat an earlier turn are stripped, and the score is multiplied by the fraction
    of the reply's words that is left.

    When to use it:
        With a model that ``grice train`` adapted to your own ratings, or to find very short and
        repeated replies.

    When not to:
        Where ``log_length`` is as good, as on most rated sets, which is why it does not run by
        default. Among replies of about the same length it discriminates weakly.
    """
    items = list(map(_item, responses))
    judgements = map(_judgement, items, model.explain([pair for pair, _ in items]))
    return flag_truncated(judgements, [(*left, right) for (left, right), _ in items], model)


def _item(response: Response) -> tuple[Pair, float]:
    """Return the last turn that can be read and the new part of the reply; its share of words."""
    before = next(turn.text for turn in reversed(response.history) if not unreadable(turn.text))
    novel = novelty(response.text, [turn.text for turn in response.history])
    return Pair((before,), novel.text), novel.novel_fraction


def _judgement(item: tuple[Pair, float], explained: Explained) -> Judgement:
    pair, novel = item
    if not novel or unreadable(pair.right):
        return Judgement(0.0, "ok", repeated_share(novel))
    evidence = tuple(
        part
        for part in explained.parts[:SHOWN]
        if abs(part.effect or 0) >= NOTICEABLE and math.isfinite(part.value)
    )
    value = explained.value * novel
    repeats = value < NEUTRAL <= max(explained.value, 1 - novel)
    reason = repeated_share(novel) if repeats else _reason(value, evidence)
    return Judgement(value, "ok", reason, (), evidence)


def _reason(value: float, evidence: Sequence[FeatureEvidence]) -> str:
    """Return the feature that raises a high value most, or lowers a low one."""
    sign, verb = (-1, "lowers") if value < NEUTRAL else (1, "raises")
    most = max(evidence, key=lambda piece: sign * (piece.effect or 0), default=None)
    if most is None or sign * (most.effect or 0) <= 0:
        return f"no leading feature {verb} the score by {NOTICEABLE} or more"
    return f"{most.name} {verb} the score most ({most.effect:+.2f})"
