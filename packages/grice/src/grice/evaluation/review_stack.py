"""The probability that a person would mark a reply, from the scores that it has.

Every witness is one metric's value of the reply. Its distance from the values of training replies,
in the direction that is bad, weighs at least nothing in the log odds.
A witness that abstained, failed or was not asked says nothing: it adds 0, as a usual reply would.
"""

from __future__ import annotations

import math
from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from grice.errors import BundleError
from grice.models.bundle import open_bundle
from grice.records import FeatureEvidence, TurnEvidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from grice.records import Score

FILE = "stack.json"
STACKS = ("review-large", "review-medium", "review-small")
"""What ships, the one that asks for the largest models first."""


class Witness(msgspec.Struct, frozen=True):
    """A metric whose value of a reply speaks for or against it.

    Attributes:
        flaw: What is wrong if it speaks most; empty if the metric's evidence names the flaw.
        scale: Its standard deviation there. Low values are bad.
        weight: Log odds per standard deviation, at least 0.
    """

    metric: str
    flaw: str
    center: float
    scale: float
    weight: float

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
        models: By metric, the model whose scores were fitted, if the metric runs with several.
    """

    intercept: float
    witnesses: tuple[Witness, ...]
    thresholds: tuple[Threshold, ...] = ()
    models: dict[str, str] = {}
    name: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that are asked."""
        return tuple(witness.metric for witness in self.witnesses)

    def known(self, signatures: Mapping[str, str]) -> set[str]:
        """Return the metrics of a run that it has weights for, by their signatures."""
        return {
            metric
            for metric in self.metrics
            if metric in signatures and self.models.get(metric, "") in signatures[metric]
        }

    def effects(self, seen: Mapping[str, Score]) -> dict[str, float]:
        """Return what each witness that is there adds to the log odds, by its metric."""
        known = self.known({metric: score.signature for metric, score in seen.items()})
        return {
            witness.metric: witness.effect(seen[witness.metric].value or 0.0)
            for witness in self.witnesses
            if witness.metric in known
        }

    def probability(self, effects: Iterable[float]) -> float:
        """Return the probability that a person would mark the reply."""
        return 1 / (1 + math.exp(-self.intercept - math.fsum(effects)))


def observed(
    scores: Sequence[Score], turns: Iterable[int] | None = None
) -> dict[int, dict[str, Score]]:
    """Return by turn the scores of metrics that judged it, from the scores of one conversation.

    A metric of whole conversations judges each turn by its evidence; see :func:`_of_turn`.
    """
    if turns is None:
        turns = {score.turn for score in scores if score.turn is not None}
    seen: dict[int, dict[str, Score]] = {turn: {} for turn in sorted(turns)}
    for score in scores:
        if score.status != "ok" or score.value is None:
            continue
        for turn in seen if score.turn is None else {score.turn} & seen.keys():
            seen[turn][score.metric] = _of_turn(score, turn)
    return seen


def _of_turn(score: Score, turn: int) -> Score:
    """Return the score of a turn; of a conversation's, 1 and the effect of the turn on it."""
    if score.turn is not None:
        return score
    evidence = score.evidence
    first = next(
        (i for i, e in enumerate(evidence) if isinstance(e, TurnEvidence) and e.turn == turn), None
    )
    if first is None:
        return replace(score, turn=turn, value=1.0, reason=None, evidence=())
    rest = takewhile(lambda piece: not isinstance(piece, TurnEvidence), evidence[first + 1 :])
    own = (evidence[first], *rest)
    effect = sum(piece.effect for piece in own[:1] if isinstance(piece, TurnEvidence))
    names = [piece.name for piece in own if isinstance(piece, FeatureEvidence)]
    value = min(max(1 + effect, 0.0), 1.0)
    return replace(score, turn=turn, value=value, reason=", ".join(names) or None, evidence=own)


def open_stack(place: str | Path) -> Stack:
    """Open a bundle of kind ``review``: a shipped one by its name, or a folder."""
    bundle = open_bundle(place)
    if bundle.card.kind != "review":
        raise BundleError(
            f"{bundle.folder}: a bundle of kind review is needed, not {bundle.card.kind!r}"
        )
    try:
        stack = msgspec.json.decode(bundle.path(FILE).read_bytes(), type=Stack)
    except msgspec.DecodeError as error:
        raise BundleError(f"{bundle.path(FILE)}: {error}") from None
    return replace(stack, name=bundle.identity)
