"""Sensibleness of a reply in its context: a flaw classifier on hidden states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grice.data import Evidence, FeatureEvidence, Judgement, Response
from grice.metrics.common import unscorable_reply
from grice.metrics.declaration import Example, metric
from grice.models.protocols import FlawModel
from grice.numeric import logit, sigmoid
from grice.text.language import unreadable

NEUTRAL = 0.5
REPETITION, UNANSWERED = "repetition", "unanswered"
"""Flaws that a reply can only have if somebody spoke before: its speaker, or another one."""
MARGIN = 2.5
"""Difference of the two largest log odds from which a cause is named.

Chosen on the written items kept back.
"""
CLIP = 1e-7


@metric(
    "sensibleness",
    version="4",
    summary="Does this reply make sense here?",
    judges="response",
    models={"model": "builtin:sense-small"},
    accepts={"model": ("flaws", "rubric")},
    protocols={"model": FlawModel},
    source=(
        "Heads over the states of a causal language model, trained on crossed pairs of replies and "
        "on votes on replies of chatbots."
    ),
    neutral=NEUTRAL,
    abstain=unscorable_reply,
    reader="model",
    example=Example(["What do you do for a living?", "I teach maths at a school."], 0.5, 1.0),
)
def sensibleness(responses: Sequence[Response], *, model: FlawModel) -> Iterator[Judgement]:
    """Return the probability that the reply has no flaw a person would mark.

    The flaws are contradiction, repetition, an ignored question or turn, nonsense, and
    a dull reply. The evidence gives the probability of each that is possible: a first turn of a
    speaker cannot repeat. The reason names a flaw that is clearly more probable than the others.

    When to use it:
        To find replies that do not fit what was said, in conversations of two. The shipped model
        detects nonsense, dull and off-topic replies; the presets ``medium`` and ``large`` use
        larger models and detect more. A reward model or a chat model that answers by one token
        (``docs/concepts/models.md``) can take its place: its single head is any flaw.

    When not to:
        To tell which of two good replies is better, or whether a claim is true. Contradictions
        in one detail are often not detected.
    """
    for response, row in zip(responses, model.log_odds(responses), strict=True):
        yield _judgement(response, dict(zip(model.flaws, sigmoid(row).tolist(), strict=True)))


def cause_of(evidence: Sequence[Evidence]) -> str | None:
    """Return the clearly most probable flaw in the evidence of a score, if there is one."""
    heads = [piece for piece in evidence if isinstance(piece, FeatureEvidence)]
    if not heads:
        return None
    odds = sorted((logit(piece.value, CLIP) for piece in heads), reverse=True)
    if len(odds) > 1 and odds[0] - odds[1] < MARGIN:
        return None
    return max(heads, key=lambda piece: piece.value).name


def _judgement(response: Response, chances: dict[str, float]) -> Judgement:
    (_, flawed), *heads = chances.items()
    before = [turn.speaker for turn in response.history if unreadable(turn.text) is None]
    impossible = {
        REPETITION: response.speaker not in before,
        UNANSWERED: all(speaker == response.speaker for speaker in before),
    }
    possible = [(name, value) for name, value in heads if not impossible.get(name)]
    possible.sort(key=lambda head: -head[1])
    evidence = tuple(FeatureEvidence(name, value) for name, value in possible)
    value = 1.0 - flawed
    reason = f"probability of a flaw: {flawed:.2f}"
    if value < NEUTRAL and evidence:
        shown = evidence[: 1 if cause_of(evidence) else 2]
        flaws = " or ".join(f"{piece.name} ({piece.value:.2f})" for piece in shown)
        reason = f"most likely flaw: {flaws}"
    return Judgement(value, "ok", reason, (), evidence)
