"""Overall quality of a reply: the harmonic mean rank of a few metrics among people's replies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from grice.data import FeatureEvidence, Judgement
from grice.metrics import contradiction, likelihood, relevance, repetition, sensibleness
from grice.metrics.declaration import Example, metric
from grice.models.joined import JoinedMetrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.data import Evidence, Response, Score
    from grice.models.joined import Part

    Judged: TypeAlias = Mapping[str, Judgement] | Mapping[str, Score]  # by metric

NEUTRAL = 0.5
OFFSET = 0.2
"""Added to a rank before the harmonic mean: the lowest ranks of a part count about alike."""
LOW = 0.5  # from this value on, a metric reports no flaw
NO_FLAW = "no specific flaw"
VERBATIM = 0.01  # a repetition at or below this value is named before any other part
PARTS = {
    part.name: part
    for part in (
        contradiction.contradiction,
        likelihood.likelihood,
        relevance.relevance,
        repetition.repetition,
        sensibleness.sensibleness,
    )
}
"""The metrics that a part can be."""


@metric(
    "quality",
    version="3",
    summary="How good is this reply overall?",
    judges="response",
    models={"model": "builtin:quality-small"},
    protocols={"model": JoinedMetrics},
    source="Our own: the harmonic mean of ranks, with equal weights.",
    neutral=NEUTRAL,
    example=Example(["What do you do for a living?", "I teach maths at a school."], 0.5, 1.0),
)
def quality(responses: Sequence[Response], *, model: JoinedMetrics) -> Iterator[Judgement]:
    """Return the harmonic mean of the ranks of a reply by a few metrics, among people's replies.

    The value of each metric is replaced by the share of people's replies, in conversations that
    nothing was trained on, with a lower one: a quality does not depend on the other replies of a
    run. The harmonic mean is near to the lowest rank: one flaw makes a reply bad. A metric that
    abstains counts as one half, and if all do, the quality abstains. The evidence is the value of
    each part with its contribution, then the evidence of the part that lowers the quality most,
    whose reason is that of the quality.

    When to use it:
        To put replies in an order: which to look at first, which of two systems is better.

    When not to:
        To say how many replies are flawed: it is a rank and no probability. To find one kind of
        flaw: its metric says more.
    """
    # Token states leave sentence vectors behind, which the metrics of one model need.
    costly_first = sorted(model.models, key=lambda name: -len(model.models[name]))
    columns = {
        name: list(PARTS[name].function(responses, **model.models[name])) for name in costly_first
    }
    names = [part.metric for part in model.parts]
    for row in zip(*(columns[name] for name in names), strict=True):
        yield _joined(model.parts, dict(zip(names, row, strict=True)))


def contributions(parts: Sequence[Part], judged: Judged) -> dict[str, float]:
    """Return the contribution of each part with a value; one half and their sum is the quality.

    A part without a score of status ``ok`` contributes nothing. The change of the harmonic mean
    from one half is divided among the parts as the change of the mean reciprocal is.
    """
    values = {
        name: each.value
        for name, each in judged.items()
        if each.status == "ok" and each.value is not None
    }
    total = math.fsum(part.weight for part in parts)
    neutral = 1 / (NEUTRAL + OFFSET)
    gains = {
        part.metric: part.weight / total * (neutral - 1 / (part.rank(value) + OFFSET))
        for part in parts
        if (value := values.get(part.metric)) is not None
    }
    slope = 1 / (neutral * (neutral - math.fsum(gains.values())))
    return {name: gain * slope for name, gain in gains.items()}


def quality_of(effects: Mapping[str, float]) -> float:
    """Return the quality, 0 to 1, from the contributions of the parts."""
    return min(max(NEUTRAL + math.fsum(effects.values()), 0.0), 1.0)


def strongest(effects: Mapping[str, float], values: Mapping[str, float | None]) -> str | None:
    """Return the part that lowers the quality most, of those with a low value; None without one."""
    low = [name for name, effect in effects.items() if effect < 0 and (values[name] or 0.0) < LOW]
    if (repeated := repetition.repetition.name) in low and (values[repeated] or 0.0) <= VERBATIM:
        return repeated
    return min(low, key=effects.__getitem__, default=None)


def _joined(parts: Sequence[Part], judged: Mapping[str, Judgement]) -> Judgement:
    effects = contributions(parts, judged)
    flags = tuple(dict.fromkeys(flag for each in judged.values() for flag in each.flags))
    if not effects:
        first = next(iter(judged.values()))
        return Judgement(NEUTRAL, "abstained", first.reason, flags)
    values = {name: judged[name].value or 0.0 for name in effects}
    evidence: tuple[Evidence, ...] = tuple(
        FeatureEvidence(name, values[name], effect) for name, effect in effects.items()
    )
    reason = NO_FLAW
    if name := strongest(effects, values):
        evidence += judged[name].evidence
        reason = f"{name} {values[name]:.2f}: {judged[name].reason}"
    return Judgement(quality_of(effects), "ok", reason, flags, evidence)
