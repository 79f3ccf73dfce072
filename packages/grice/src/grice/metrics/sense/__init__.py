"""Does a reply make sense where it stands? A language model's states, read for flaws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from grice.metrics.declaration import Example, metric
from grice.metrics.unjudged import judge_or_abstain, nothing_to_judge
from grice.records import FeatureEvidence, Judgement
from grice.text.script import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from grice.records import Evidence, Response


@runtime_checkable
class FlawModel(Protocol):
    """Says what is wrong with replies."""

    identity: str
    flaws: tuple[str, ...]
    """What each column says; the first is any flaw at all."""

    def log_odds(self, responses: Sequence[Response]) -> NDArray[np.float32]:
        """Return the log odds of each flaw of each reply, shape ``(replies, flaws)``."""
        ...

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        ...


NEUTRAL = 0.5
REPETITION, UNANSWERED = "repetition", "unanswered"
"""Flaws that a reply can only have if somebody spoke before: its speaker, or another one."""
MARGIN = 2.5
"""Difference of the two largest log odds from which a cause is named.

Chosen on the written items kept back.
"""
SUREST = 1e-7


@metric(
    "sense",
    version="1",
    summary="Does this reply make sense here?",
    judges="response",
    models={"model": "bundle:sense-small"},
    accepts={"model": ("flaws",)},
    protocols={"model": FlawModel},
    source=(
        "Heads over the states of a causal language model, trained on crossed pairs of replies and "
        "on votes on replies of chatbots."
    ),
    neutral=NEUTRAL,
    example=Example(["What do you do for a living?", "I teach maths at a school."], 0.5, 1.0),
)
def sense(responses: Sequence[Response], *, model: FlawModel) -> Iterator[Judgement]:
    """Return the probability that the reply has no flaw a person would point at.

    The flaws are contradiction, repetition, a question or turn that is not taken up, nonsense, and
    a dull reply. The evidence gives the probability of each that is possible: a speaker who said
    nothing before does not repeat. The reason names a flaw where one stands out among them.

    When to use it:
        To find replies that do not fit what was said, in conversations of two. What ships finds
        nonsense, dull and off-topic replies; the presets ``medium`` and ``large`` read with larger
        models and see more.

    When not to:
        To tell which of two good replies is better, or whether a claim is true. Contradictions
        that hang on one detail often go unnoticed.
    """
    from grice.numeric import sigmoid

    def judge(judged: Sequence[Response]) -> Iterator[Judgement]:
        odds = model.log_odds(judged)
        cut = model.truncated([response.text for response in judged])
        for response, row, long in zip(judged, odds, cut, strict=True):
            flags = ("truncated",) if long else ()
            yield _judgement(model.flaws, sigmoid(row), _impossible(response), flags)

    return judge_or_abstain(responses, nothing_to_judge, judge, NEUTRAL)


def cause_of(evidence: Sequence[Evidence]) -> str | None:
    """Return the flaw that stands out in the evidence of a score; None if none does."""
    heads = [piece for piece in evidence if isinstance(piece, FeatureEvidence)]
    if not heads:
        return None
    odds = sorted((_log_odds(piece.value) for piece in heads), reverse=True)
    if len(odds) > 1 and odds[0] - odds[1] < MARGIN:
        return None
    return max(heads, key=lambda piece: piece.value).name


def _log_odds(chance: float) -> float:
    bounded = min(max(chance, SUREST), 1 - SUREST)
    return math.log(bounded / (1 - bounded))


def _impossible(response: Response) -> set[str]:
    """Return the flaws that a reply cannot have, by who spoke before it."""
    before = [turn.speaker for turn in response.history if unreadable(turn.text) is None]
    needed = {
        REPETITION: response.speaker in before,
        UNANSWERED: any(speaker != response.speaker for speaker in before),
    }
    return {flaw for flaw, possible in needed.items() if not possible}


def _judgement(
    flaws: Sequence[str],
    chances: NDArray[np.float32],
    impossible: set[str],
    flags: tuple[str, ...],
) -> Judgement:
    heads = zip(flaws[1:], chances[1:].tolist(), strict=True)
    named = sorted((head for head in heads if head[0] not in impossible), key=lambda head: -head[1])
    evidence = tuple(FeatureEvidence(name, value) for name, value in named)
    value = 1.0 - float(chances[0])
    if value >= NEUTRAL:
        reason = "no flaw stands out"
    elif cause := cause_of(evidence):
        reason = f"most likely flaw: {cause} ({named[0][1]:.2f})"
    else:
        reason = "no single cause stands out"
    return Judgement(value, "ok", reason, flags, evidence)
