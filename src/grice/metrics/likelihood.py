"""How probable a reply is after what was said, to a causal language model."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from grice.metrics.declaration import Example, metric
from grice.metrics.readings import readings
from grice.metrics.unjudged import nothing_to_judge
from grice.records import FeatureEvidence, Judgement, Span
from grice.runtime.protocols import CausalLM, Segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.records import Response
    from grice.runtime.protocols import Passage, TokenScore

__all__ = ["likelihood"]

NEUTRAL = 0.5
WEIGHT_AFTER, WEIGHT_GAIN, SHIFT = 1.0, 1.0, 3.0
"""Log odds of a true reply against a random or damaged one, per nat."""
WORDS = 3
"""Words shown as evidence."""
LONGEST = 40
"""Characters of a word that are shown."""
_WORD = re.compile(r"\S+")


@metric(
    "likelihood",
    version="1",
    summary="How probable is this reply after what was said?",
    judges="response",
    models={"model": "model:medium"},
    accepts={"model": ("likelihood",)},
    protocols={"model": CausalLM},
    source=(
        "Mean log likelihood and pointwise mutual information (Li et al., NAACL 2016) by a causal "
        "language model."
    ),
    neutral=NEUTRAL,
    example=Example(["What do you do for a living?", "I teach maths at a school."], 0.5, 1.0),
)
def likelihood(responses: Sequence[Response], *, model: CausalLM) -> Iterator[Judgement]:
    """Return how probable the reply is, by its mean log likelihood and what the history adds to it.

    Every conversation is read once; all its replies are scored in that reading, and once more each
    reply without a history. The evidence names the words that the history makes less probable.

    When to use it:
        To find replies that make no sense, or do not follow from what was said.

    When not to:
        To rank good replies: it rewards what is usual. Repetitions, dull replies and a chatbot's
        contradictions of itself are probable too, and go unnoticed.
    """
    reasons = [nothing_to_judge(response) for response in responses]
    judged = [
        response for response, reason in zip(responses, reasons, strict=True) if reason is None
    ]
    after = _after_history(judged, model)
    alone = model.token_scores([_alone(response.text) for response in judged])
    cut = model.truncated([response.text for response in judged])
    judgements = (
        _judgement(response, tokens, unconditional, ("truncated",) if long else ())
        for response, tokens, (unconditional,), long in zip(judged, after, alone, cut, strict=True)
    )
    for reason in reasons:
        yield Judgement(NEUTRAL, "abstained", reason) if reason else next(judgements)


def _after_history(responses: Sequence[Response], model: CausalLM) -> list[list[TokenScore]]:
    """Return the tokens of each reply; a conversation is read once for all its replies."""
    read = list(readings(responses))
    scores: list[list[TokenScore]] = [[] for _ in responses]
    passages = [reading.passage(first=reading.turns[0][0]) for reading in read]
    for reading, segments in zip(read, model.token_scores(passages), strict=True):
        for number, tokens in zip(reading.numbers(), segments, strict=True):
            scores[number] = tokens
    return scores


def _alone(text: str) -> Passage:
    return (Segment("A:"), Segment(f" {text.strip()}", scored=True))


def _judgement(
    response: Response,
    after: Sequence[TokenScore],
    alone: Sequence[TokenScore],
    flags: tuple[str, ...],
) -> Judgement:
    import numpy as np

    from grice.numeric import sigmoid

    mean = float(np.mean([token.log_probability for token in after]))
    gain = mean - float(np.mean([token.log_probability for token in alone]))
    value = float(sigmoid(np.array(WEIGHT_AFTER * mean + WEIGHT_GAIN * gain + SHIFT)))
    words = _words(response, after, alone)
    evidence = (
        FeatureEvidence("mean log likelihood after the history", mean, WEIGHT_AFTER * mean),
        FeatureEvidence("gain over no history", gain, WEIGHT_GAIN * gain),
        *sorted(words, key=lambda word: word.value)[:WORDS],
    )
    reason = None
    if words:
        worst = min(words, key=lambda word: word.value)
        reason = f"{worst.name} ({worst.value:+.1f} nats)"
    return Judgement(value, "ok", reason, flags, evidence)


def _words(
    response: Response, after: Sequence[TokenScore], alone: Sequence[TokenScore]
) -> list[FeatureEvidence]:
    """Return the words that the history makes less probable, each with its loss in nats."""
    indent = len(response.text) - len(response.text.lstrip()) - 1
    words = list(_WORD.finditer(response.text))
    starts = [word.start() for word in words]
    changes = [0.0] * len(words)
    for here, elsewhere in zip(after, alone, strict=True):
        word = bisect_right(starts, here.end + indent - 1) - 1
        changes[word] += here.log_probability - elsewhere.log_probability
    return [
        FeatureEvidence(
            f"less probable here: {word[0][:LONGEST]!r}",
            change,
            span=Span(response.turn, word.start(), word.end()),
        )
        for word, change in zip(words, changes, strict=True)
        if change < 0
    ]
