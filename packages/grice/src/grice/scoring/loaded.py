"""A metric with its options set and its models open."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import MetricError, ModelError, did_you_mean, plural
from grice.records import Judgement, Score
from grice.scoring.isolation import Failure, answers
from grice.scoring.items import EMPTY, flagged, in_place, in_text, responses, utterances

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from grice.metrics.declaration import Judges, Metric, OptionValue
    from grice.models.bundle import Bundle
    from grice.models.loader import ModelLoader
    from grice.records import Conversation, Response


class ScoreColumn(NamedTuple):
    """The scores of one name in a run.

    Attributes:
        name: The metric that each of these scores names.
        summary: The question they answer, one line.
        judges: Whether an item is a ``Response`` or a ``Conversation``.
        low, high: Smallest and largest value; infinite where there is no bound.
        neutral: Value of an abstained score.
        source: Where the method was published.
        signature: What exactly was computed.
    """

    name: str
    summary: str
    judges: Judges
    low: float
    high: float
    neutral: float
    source: str
    signature: str


def column_of(metric: Metric, signature: str) -> ScoreColumn:
    """Return what is said of the scores of a metric."""
    return ScoreColumn(
        metric.name, metric.summary, metric.judges, metric.low, metric.high, metric.neutral,
        metric.source, signature,
    )  # fmt: skip


class LoadedMetric:
    """A metric that is ready to judge.

    Attributes:
        signature: What exactly it computes. Numbers compare only if it agrees.
        bundles: Its models and the encoders they stand on, each once.
    """

    def __init__(
        self,
        metric: Metric,
        signature: str,
        arguments: Mapping[str, object],
        bundles: tuple[Bundle, ...] = (),
    ) -> None:
        self.metric = metric
        self.signature = signature
        self.bundles = bundles
        self._arguments = arguments

    @property
    def models(self) -> Mapping[str, object]:
        """Its opened models by the name of the parameter."""
        return {name: self._arguments[name] for name in self.metric.models}

    @property
    def column(self) -> ScoreColumn:
        """What is said of its scores."""
        return column_of(self.metric, self.signature)

    @property
    def asks_endpoint(self) -> bool:
        """Whether it sends what it judges to an endpoint."""
        return any(bundle.card.kind.startswith("openai-") for bundle in self.bundles)

    def with_models(self, **models: object) -> LoadedMetric:
        """Return the same metric with other models; its signature says that they are others."""
        others = ",".join(sorted(models))
        return LoadedMetric(
            self.metric,
            f"{self.signature}|replaced:{others}",
            {**self._arguments, **models},
            self.bundles,
        )

    def judge(self, items: Sequence[Any]) -> list[Judgement]:
        """Return one judgement per response or conversation, in order.

        An item on which the metric breaks, or to which it gives a value outside of its range, is
        ``failed`` with the reason; the others keep their values. A metric that breaks is asked
        again a few times only: see :func:`grice.scoring.isolation.answers`.
        """
        return [
            _failed(answer) if isinstance(answer, Failure) else self._checked(answer)
            for answer in answers(self._asked, items)
        ]

    def _asked(self, items: Sequence[Any]) -> list[Judgement]:
        judgements = [*self.metric.function(items, **self._arguments)]
        if len(judgements) != len(items):
            raise MetricError(f"{len(judgements)} judgements for {plural(len(items), 'item')}")
        return judgements

    def score(
        self, conversations: Sequence[Conversation], speakers: Collection[str] = ()
    ) -> list[list[Score]]:
        """Return the scores of each conversation, in the order of its turns."""
        if self.metric.judges == "conversation":
            spoken = [utterances(conversation) for conversation in conversations]
            judged = self.judge([item.conversation for item in spoken])
            return [
                [self._score(conversation, None, in_place(judgement, item.positions))]
                for conversation, item, judgement in zip(conversations, spoken, judged, strict=True)
            ]
        items = [responses(conversation, speakers) for conversation in conversations]
        judgements = iter(self.judge([item for group in items for item in group if _speaks(item)]))
        return [
            [
                self._score(
                    conversation,
                    item.turn,
                    flagged(
                        next(judgements) if _speaks(item) else self._of_empty(),
                        conversation.turns[item.turn].text,
                    ),
                )
                for item in group
            ]
            for conversation, group in zip(conversations, items, strict=True)
        ]

    def _of_empty(self) -> Judgement:
        """Return the judgement of a reply without a word: the metric is not asked.

        A bot that says nothing answers badly. Were it an abstention, a bot that falls silent where
        it does not know would look the better for it.
        """
        if math.isinf(self.metric.low):
            return Judgement(self.metric.neutral, "abstained", "the reply is empty", (EMPTY,))
        return Judgement(self.metric.low, "ok", "the reply is empty", (EMPTY,))

    def _checked(self, judgement: Judgement) -> Judgement:
        value, metric = judgement.value, self.metric
        if judgement.status == "failed":
            return judgement
        if value is None or math.isnan(value) or not metric.low <= value <= metric.high:
            reason = f"value {value} outside {metric.low:g} to {metric.high:g}"
            return Judgement(None, "failed", reason)
        return judgement

    def _score(self, conversation: Conversation, turn: int | None, judgement: Judgement) -> Score:
        judgement = in_text(judgement, conversation)
        return Score(
            conversation.id,
            turn,
            self.metric.name,
            judgement.value,
            judgement.status,
            judgement.reason,
            judgement.flags,
            judgement.evidence,
            self.signature,
            conversation.meta,
        )


def load_metric(metric: Metric, models: ModelLoader, options: Mapping[str, object]) -> LoadedMetric:
    """Set a metric's options, open its models and write its signature."""
    options = _current(metric, options)
    known = {option.name: option for option in metric.options}
    for name in options:
        if name not in known and name not in metric.models:
            near = did_you_mean(name, [*known, *metric.models])
            raise MetricError(f"{metric.name}: no option {name!r}{near}")
    values: dict[str, OptionValue] = {
        name: option.check(options.get(name, option.default), metric.name)
        for name, option in known.items()
    }
    references = {name: str(options.get(name, ref)) for name, ref in metric.models.items()}
    for name, reference in references.items():
        _check_kind(metric, name, reference, models)
    opened: dict[str, object] = {
        name: models.load(reference, metric.protocols.get(name, object))
        for name, reference in references.items()
    }
    parts = [f"{metric.name}:{metric.version}"]
    parts += [f"{name}:{value}" for name, value in values.items()]
    parts += [f"{name}:{models.fingerprint(reference)}" for name, reference in references.items()]
    if references:
        parts.append(f"mode:{models.mode}")
    used = dict.fromkeys(
        reference for name in references.values() for reference in models.dependencies(name)
    )
    bundles = tuple(map(models.bundle, used))
    return LoadedMetric(metric, "|".join(parts), {**values, **opened}, bundles)


def _current(metric: Metric, options: Mapping[str, object]) -> dict[str, object]:
    """Return options by the names they have now; a former name is accepted with a warning."""
    current = {}
    for name, value in options.items():
        if name in metric.renamed:
            new = metric.renamed[name]
            message = f"{metric.name}: option {name!r} is called {new!r} now"
            warnings.warn(message, FutureWarning, stacklevel=3)
            name = new
        if name in current:
            raise MetricError(f"{metric.name}: option {name!r} is given twice")
        current[name] = value
    return current


def _speaks(response: Response) -> bool:
    return bool(response.text.strip())


def _failed(failure: Failure) -> Judgement:
    # No number of others: reasons of one cause are counted together, whatever batch they were in.
    together = " (judged together with others)" if failure.others else ""
    return Judgement(None, "failed", failure.reason + together)


def _check_kind(metric: Metric, parameter: str, reference: str, models: ModelLoader) -> None:
    """Refuse a model of another kind, which might well give plausible numbers."""
    default = metric.models[parameter]
    if reference == default:
        return
    wanted = metric.accepts.get(parameter) or (models.task(default),)
    if (answered := models.task(reference)) not in wanted:
        hint = ""
        if answered == "chat" and "likelihood" in wanted:
            place = reference.partition(":")[2]
            hint = (
                "; a server that returns log probabilities of the prompt, as few do, is "
                f"openai-logprobs:{place}"
            )
        raise ModelError(
            f"{metric.flag(parameter)} {reference}: a model of {answered}, where one of "
            f"{' or '.join(wanted)} is needed, such as {default}" + hint
        )
