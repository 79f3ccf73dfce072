"""Does a reply make sense where it stands? A language model's states, read for flaws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.metrics.declaration import Example, metric
from grice.metrics.sense.protocol import FlawModel
from grice.metrics.unjudged import judge_or_abstain, nothing_to_judge
from grice.records import FeatureEvidence, Judgement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from grice.records import Response

__all__ = ["sense"]

NEUTRAL = 0.5


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
    a dull reply. The evidence gives the probability of each by itself, beside which the others are
    no more than a hint.

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
        for row, long in zip(odds, cut, strict=True):
            yield _judgement(model.flaws, sigmoid(row), ("truncated",) if long else ())

    return judge_or_abstain(responses, nothing_to_judge, judge, NEUTRAL)


def _judgement(
    flaws: Sequence[str], chances: NDArray[np.float32], flags: tuple[str, ...]
) -> Judgement:
    named = sorted(
        zip(chances[1:].tolist(), flaws[1:], strict=True), key=lambda flaw: flaw[0], reverse=True
    )
    chance, flaw = named[0]
    evidence = tuple(FeatureEvidence(name, value) for value, name in named)
    reason = f"most likely flaw: {flaw} ({chance:.2f})"
    return Judgement(1.0 - float(chances[0]), "ok", reason, flags, evidence)
