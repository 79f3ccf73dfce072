"""The probability that a person would mark a reply, from the scores that it has.

Every witness is one metric's value of the reply, or one figure of its evidence. Its distance from
what training replies have, in the direction that is bad, weighs at least nothing in the log odds.
A witness that abstained, failed or was not asked says nothing: it adds 0, as a usual reply would.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import BundleError
from grice.records import FeatureEvidence, TurnEvidence
from grice.runtime.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from grice.records import Score

FILE = "stack.json"
STACKS = ("review-large", "review-medium", "review-small")
"""What ships, the one that asks for the largest models first."""


class Witness(msgspec.Struct, frozen=True, omit_defaults=True):
    """One figure that speaks for or against a reply.

    Attributes:
        metric: Whose score it is taken from.
        flaw: What is wrong if it speaks most; empty if the metric's evidence names the flaw.
        center: Mean over training replies.
        scale: Its standard deviation there. Low values are bad.
        weight: Log odds per standard deviation, at least 0.
        feature: The figure of the evidence that counts; empty for the value itself.
    """

    metric: str
    flaw: str
    center: float
    scale: float
    weight: float
    feature: str = ""

    @property
    def name(self) -> str:
        """The metric, and the figure of its evidence."""
        return f"{self.metric}: {self.feature}" if self.feature else self.metric

    def effect(self, value: float) -> float:
        """Return what a value adds to the log odds of a mark."""
        return self.weight * (self.center - value) / self.scale


class Threshold(msgspec.Struct, frozen=True):
    """From which probability on so many of the replies are marked, on replies not fitted to."""

    precision: float
    probability: float


class Stack(msgspec.Struct, frozen=True):
    """Weights of witnesses, as a bundle of kind ``review`` holds them.

    Attributes:
        intercept: Log odds of a reply on which no witness says anything.
        thresholds: Probabilities by precision, lowest first.
        models: By metric, the model whose scores were fitted, if the metric runs with several.
        name: Name and hash of the bundle.
    """

    intercept: float
    witnesses: tuple[Witness, ...]
    thresholds: tuple[Threshold, ...] = ()
    models: dict[str, str] = {}
    name: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that are asked, each once."""
        return tuple(dict.fromkeys(witness.metric for witness in self.witnesses))

    def known(self, signatures: Mapping[str, str]) -> set[str]:
        """Return the metrics of a run that it has weights for, by their signatures."""
        return {
            metric
            for metric in self.metrics
            if metric in signatures and self.models.get(metric, "") in signatures[metric]
        }

    def effects(self, seen: Mapping[str, Observed]) -> dict[str, float]:
        """Return what each witness that is there adds to the log odds, by its name."""
        known = self.known({metric: what.score.signature for metric, what in seen.items()})
        return {
            witness.name: witness.effect(value)
            for witness in self.witnesses
            if witness.metric in known
            and (value := seen[witness.metric].figure(witness.feature)) is not None
        }

    def probability(self, effects: Iterable[float]) -> float:
        """Return the probability that a person would mark the reply."""
        return 1 / (1 + math.exp(-self.intercept - math.fsum(effects)))


class Observed(NamedTuple):
    """What one metric says of one reply.

    Attributes:
        score: The score it says so in.
        value: Its value; of a conversation, the effect of the turn.
    """

    score: Score
    value: float

    def figure(self, feature: str) -> float | None:
        """Return a figure of the evidence, or the value if none is named; None if not there."""
        if not feature:
            return self.value
        features = (e for e in self.score.evidence if isinstance(e, FeatureEvidence))
        return next((part.value for part in features if part.name == feature), None)


def observed(
    scores: Sequence[Score], turns: Iterable[int] | None = None
) -> dict[int, dict[str, Observed]]:
    """Return by turn what metrics say of it, from the scores of one conversation.

    A metric of whole conversations says of a turn what its evidence does; 0 if it names others.

    Args:
        scores: All scores of a conversation.
        turns: The turns that are asked about; by default those with a score of their own.
    """
    judged = [score for score in scores if score.status == "ok" and score.value is not None]
    if turns is None:
        turns = {score.turn for score in scores if score.turn is not None}
    seen: dict[int, dict[str, Observed]] = {turn: {} for turn in sorted(turns)}
    for score in judged:
        for turn, value in _values(score, seen):
            seen[turn][score.metric] = Observed(score, value)
    return seen


def _values(score: Score, turns: Collection[int]) -> Iterator[tuple[int, float]]:
    if score.turn is not None:
        if score.turn in turns:
            yield score.turn, score.value or 0.0
        return
    effects = {
        evidence.turn: evidence.effect
        for evidence in score.evidence
        if isinstance(evidence, TurnEvidence)
    }
    for turn in turns:
        yield turn, effects.get(turn, 0.0)


def open_stack(place: str | Path) -> Stack:
    """Open a bundle of kind ``review``: a shipped one by its name, or a folder.

    Raises:
        BundleError: If it is missing, changed or of another kind.
    """
    bundle = open_bundle(place)
    if bundle.card.kind != "review":
        raise BundleError(
            f"{bundle.folder}: a bundle of kind review is needed, not {bundle.card.kind!r}"
        )
    try:
        stack = msgspec.json.decode(bundle.path(FILE).read_bytes(), type=Stack)
    except msgspec.DecodeError as error:
        raise BundleError(f"{bundle.path(FILE)}: {error}") from None
    return msgspec.structs.replace(stack, name=bundle.identity)
