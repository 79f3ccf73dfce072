"""Fluency: excess surprisal of the words of a reply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grice.data import FeatureEvidence, Judgement, Response
from grice.metrics.common import probability, unsupported_reply, word_features
from grice.metrics.declaration import Example, metric
from grice.models.ranker import FluencyModel

NEUTRAL = 0.5
WEIGHT, SHIFT = -2.09, 0.71
"""Log odds of no error, per nat, by the recipe ``dialogue.fluency`` of grice-research.

The shift is such that one in twenty human replies without an error is below one half.
"""
FEWEST_WORDS = 3  # fewer words are not enough evidence
WORDS = 3  # words shown as evidence


def _reason_against(response: Response) -> str | None:
    if reason := unsupported_reply(response):
        return reason
    few = len(response.text.split()) < FEWEST_WORDS
    return f"fewer than {FEWEST_WORDS} words, too few to score" if few else None


@metric(
    "fluency",
    version="2",
    summary="Is this reply fluent?",
    judges="response",
    models={"model": "builtin:fluency"},
    protocols={"model": FluencyModel},
    source=(
        "A one-sided form of SLOR (Pauls and Klein, 2012; Lau, Clark and Lappin, 2017) by a small "
        "language model of dialogue."
    ),
    neutral=NEUTRAL,
    abstain=_reason_against,
    example=Example(["How was it?", "It was a lovely day and we had a lot of fun."], 0.5, 1.0),
)
def fluency(responses: Sequence[Response], *, model: FluencyModel) -> Iterator[Judgement]:
    """Return the fluency of a reply, 0 to 1, independent of its history.

    A word lowers the score if it is less likely in its context than by its frequency: rare words
    cost nothing; misplaced, dropped, doubled or wrongly inflected words do. Each sentence is scored
    by itself, and the mean over all word pieces counts. The evidence is the words with the largest
    excess surprisal.

    When to use it:
        To find corrupted replies: scrambled, cut off, or generated word by word.

    When not to:
        To compare writing styles, or for replies with jargon, names or code, which a small model
        scores as errors; or to judge the content of fluent replies. It correlates with ratings of
        fluency no better than shortness does, and detects one error in four.
    """
    return map(_judgement, responses, model.surprises([response.text for response in responses]))


def _judgement(response: Response, pieces: Sequence[tuple[int, float]]) -> Judgement:
    words = word_features(response, "unexpected word", pieces, max)
    words.sort(key=lambda word: -word.value)
    mean = mean_nats(pieces)
    evidence = (
        FeatureEvidence("mean excess surprisal (nats per token)", mean, WEIGHT * mean),
        *(word for word in words[:WORDS] if word.value > 0),
    )
    value = probability(WEIGHT * mean + SHIFT)
    reason = f"mean excess surprisal of {mean:.2f} nats per token"
    if value < NEUTRAL and len(evidence) > 1:
        reason = f"{evidence[1].name} (excess surprisal {evidence[1].value:.1f} nats)"
    return Judgement(value, "ok", reason, (), evidence)


def mean_nats(pieces: Sequence[tuple[int, float]]) -> float:
    """Return the mean excess surprisal of a piece, in nats; 0 without pieces."""
    return sum(nats for _, nats in pieces) / max(1, len(pieces))
