"""Values of the turns that benches judge, by metrics and by what is computed from their vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from grice.errors import GriceError, InputError
from grice.metrics.registry import find_metrics
from grice.records import TurnEvidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.records import Conversation
    from grice.runtime.protocols import Encoder
    from grice_research.context import BenchContext

__all__ = [
    "DETECTORS",
    "FETCHED",
    "metrics_at_hand",
    "missing_model",
    "own_turn_cosines",
    "quality_metrics",
    "shipped_metrics",
    "turn_values",
]

QUALITIES = ("coherence", "commonsense", "engagement", "relevance")
"""Metrics of one quality of a reply or a conversation, whether they run by default or not."""
DETECTORS = ("repetition", "unanswered", "friction")
"""Metrics of one kind of flaw."""
FETCHED = ("likelihood", "sense")
"""Metrics whose model does not ship."""


def shipped_metrics() -> list[str]:
    """Return the metrics whose models ship: those of qualities, the detectors, all default ones."""
    return list(dict.fromkeys((*QUALITIES, *DETECTORS, *find_metrics().defaults())))


def quality_metrics(judged: str) -> list[str]:
    """Return the metrics that ship and judge a quality of ``response`` or ``conversation``.

    A detector of one kind of flaw is measured where people marked flaws, and not by how good they
    found the whole.
    """
    declared = find_metrics().metrics
    names = (name for name in shipped_metrics() if name not in DETECTORS)
    return [name for name in names if declared[name].judges == judged]


def metrics_at_hand(context: BenchContext) -> list[str]:
    """Return the metrics whose models ship, and those of models that were fetched."""
    fetched = [name for name in FETCHED if not missing_model(context, name)]
    return [*shipped_metrics(), *fetched]


def missing_model(context: BenchContext, metric: str) -> str:
    """Return why a metric cannot be computed here, in words; empty if it can."""
    try:
        context.grader(metric)
    except GriceError as error:
        return str(error)
    return ""


def turn_values(
    context: BenchContext, metric: str, talks: Sequence[Conversation]
) -> Iterator[float]:
    """Yield a metric's value of each target; of a whole conversation, where its evidence points.

    A turn that the evidence does not name has the value 0.

    Raises:
        InputError: If the metric failed on a turn.
    """
    grader, _ = context.grader(metric)
    scores = {(score.conversation, score.turn): score for score in grader.score(talks)}
    for talk in talks:
        whole = scores.get((talk.id, None))
        evidence = () if whole is None else whole.evidence
        effects = {
            piece.turn: piece.effect for piece in evidence if isinstance(piece, TurnEvidence)
        }
        for turn in talk.targets or ():
            score = scores.get((talk.id, turn))
            value = effects.get(turn, 0.0) if score is None else score.value
            if value is None:
                raise InputError(f"{metric} failed on turn {turn} of {talk.id}")
            yield value


def own_turn_cosines(context: BenchContext, talks: Sequence[Conversation]) -> Iterator[float]:
    """Yield each target's largest cosine with earlier turns of its speaker; 0 without any."""
    encoder = cast("Encoder", context.models().open("bundle:encoder"))
    for talk in talks:
        vectors = encoder.encode([turn.text for turn in talk.turns])
        for target in talk.targets or ():
            speaker = talk.turns[target].speaker
            earlier = [i for i in range(target) if talk.turns[i].speaker == speaker]
            yield max((float(vectors[target] @ vectors[i]) for i in earlier), default=0.0)
