"""Trivial baselines: what a metric must beat before it means anything.

They are metrics like any other, so that every table can hold them as rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from grice.metrics.declaration import Example, metric
from grice.records import Conversation, FeatureEvidence, Judgement, Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.runtime.protocols import Encoder

__all__ = ["cosine_last_turn", "log_length", "turn_count"]

SOURCE = "No method: a floor."


@metric(
    "log_length",
    version="1",
    summary="How long is the reply? (a floor, not a quality)",
    judges="response",
    source=SOURCE,
    high=math.inf,
    neutral=0.0,
    example=Example(["How was it?", "It was fine."], low=1.09, high=1.10),
)
def log_length(responses: Sequence[Response]) -> list[Judgement]:
    """Return the natural logarithm of the number of words; 0 for an empty reply."""
    counts = [len(response.text.split()) for response in responses]
    return [Judgement(math.log(max(1, n)), evidence=(FeatureEvidence("words", n),)) for n in counts]


@metric(
    "cosine_last_turn",
    version="1",
    summary="How alike are the reply and the turn before it? (a floor, not a quality)",
    judges="response",
    models={"encoder": "bundle:encoder"},
    source=SOURCE,
    low=-1.0,
    neutral=0.0,
    example=Example(["Do you like tea?", "I like green tea."], low=0.5, high=0.9),
)
def cosine_last_turn(responses: Sequence[Response], *, encoder: Encoder) -> list[Judgement]:
    """Return the cosine of the two sentence vectors; abstain where no turn stands before."""
    texts = [text for r in responses if r.history for text in (r.history[-1].text, r.text)]
    vectors = iter(encoder.encode(texts))
    return [
        Judgement(float(next(vectors) @ next(vectors)))
        if response.history
        else Judgement(0.0, "abstained", "no turn before it")
        for response in responses
    ]


@metric(
    "turn_count",
    version="1",
    summary="How many turns has the conversation? (a floor, not a quality)",
    judges="conversation",
    source=SOURCE,
    high=math.inf,
    neutral=0.0,
    example=Example(["Hi.", "Hello.", "Bye."], low=3.0, high=3.0),
)
def turn_count(conversations: Sequence[Conversation]) -> list[Judgement]:
    """Return the number of turns."""
    return [Judgement(float(len(conversation.turns))) for conversation in conversations]
