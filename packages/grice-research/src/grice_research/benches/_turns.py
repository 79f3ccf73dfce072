"""Values of the turns that benches judge, by metrics and by what is computed from their vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from grice.errors import GriceError, InputError
from grice.evaluation.review_stack import STACKS, observed, open_stack
from grice.metrics.registry import find_metrics
from grice.models.bundle import open_bundle
from grice.records import TurnEvidence
from grice_research.context import metric_and_preset

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from grice.evaluation.review_stack import Stack
    from grice.models.protocols import Encoder
    from grice.records import Conversation, Score
    from grice_research.context import BenchContext

BY_DEFAULT = "review-small, default metrics"
"""The order of review of a run that names neither metrics nor a preset."""
QUALITIES = ("coherence", "commonsense", "engagement", "relevance")
"""Metrics of one quality of a reply or a conversation, whether they run by default or not."""
DETECTORS = ("contradiction", "repetition", "unanswered", "friction", "sense")
"""Metrics of one kind of flaw."""
FETCHED = ("likelihood", "sense (medium)", "sense (large)")
"""Metrics whose model does not ship; of another preset than medium where it is named."""


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


def metric_named(column: str) -> str:
    """Return the metric that a row of a bench is about; empty with the models of a preset.

    What is on record of a metric is that of its own models, which run without a preset.
    """
    metric, preset = metric_and_preset(column)
    return "" if preset else metric


def missing_model(context: BenchContext, metric: str) -> str:
    """Return why a metric cannot be computed here, in words; empty if it can."""
    try:
        context.grader(metric)
    except GriceError as error:
        return str(error)
    return ""


def turn_scores(
    context: BenchContext, metrics: Sequence[str], talks: Sequence[Conversation]
) -> dict[str, list[Score]]:
    """Return the scores of each metric on all conversations."""
    return {name: list(context.grader(name)[0].score(talks)) for name in metrics}


def review_values(
    scored: Mapping[str, Sequence[Score]], talks: Sequence[Conversation]
) -> Iterator[tuple[str, str, list[float]]]:
    """Yield name, identity and values of the orders of review whose metrics were all run.

    A value is one less the probability that a person would object to the target. That of
    :data:`BY_DEFAULT` counts the metrics alone that ``grice score`` runs without being asked.
    """
    for name in STACKS:
        stack = open_stack(name)
        if columns := _columns_of(stack, scored):
            identity = open_bundle(name).identity
            yield name, identity, _review(stack, stack.metrics, columns, scored, talks)
            if name == STACKS[-1]:
                defaults = find_metrics().defaults()
                yield BY_DEFAULT, identity, _review(stack, defaults, columns, scored, talks)


def _review(
    stack: Stack,
    metrics: Collection[str],
    columns: Sequence[str],
    scored: Mapping[str, Sequence[Score]],
    talks: Sequence[Conversation],
) -> list[float]:
    groups: dict[str, list[Score]] = {}
    for score in (score for column in columns for score in scored[column]):
        if score.metric in metrics:
            groups.setdefault(score.conversation, []).append(score)
    seen = {talk.id: observed(groups[talk.id], talk.targets) for talk in talks}
    effects = [
        stack.effects(seen[talk.id][turn]).values() for talk in talks for turn in talk.targets or ()
    ]
    return [1 - stack.probability(each) for each in effects]


def _columns_of(stack: Stack, scored: Mapping[str, Sequence[Score]]) -> list[str]:
    """Return the column of each metric that an order of review rests on; none if one is missing."""
    columns = {}
    for column, scores in scored.items():
        metric, _ = metric_and_preset(column)
        if stack.known({metric: scores[0].signature}):
            columns[metric] = column
    return list(columns.values()) if len(columns) == len(stack.metrics) else []


def turn_values(
    metric: str, given: Sequence[Score], talks: Sequence[Conversation]
) -> Iterator[float]:
    """Yield a metric's value of each target; of a whole conversation, where its evidence points.

    A turn that the evidence does not name has the value 0.
    """
    scores = {(score.conversation, score.turn): score for score in given}
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
