"""A metric with its options set and its models open."""

from __future__ import annotations

import math
import warnings
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from grice.data import Judgement, Score, Signature
from grice.errors import (
    LONGEST,
    GriceError,
    MetricError,
    ModelError,
    StoppedError,
    did_you_mean,
    out_of_memory,
    plural,
    shortened,
)
from grice.scoring.items import EMPTY, flags_of, in_place, responses, utterances

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from grice.data import Conversation
    from grice.metrics.declaration import Judges, Metric, OptionValue
    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader

CALLS = 64
"""Most calls for one batch: enough to find five failing items among a thousand."""
MEMORY = "memory ran out; what did not fit is scored in halves"

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class ScoreColumn(NamedTuple):
    """Metadata of the scores of one metric or blend in a run.

    Attributes:
        name: The metric that each of these scores names.
        summary: The question they answer, one line.
        judges: Whether an item is a ``response`` or a ``conversation``.
        low, high: Smallest and largest value; infinite where there is no bound.
        neutral: Value of an abstained score.
        source: Publication of the method.
        signature: Version, options and models.
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
    """Return the metadata of the scores of a metric."""
    return ScoreColumn(
        metric.name, metric.summary, metric.judges, metric.low, metric.high, metric.neutral,
        metric.source, signature,
    )  # fmt: skip


class LoadedMetric:
    """A metric that is ready to judge.

    Attributes:
        signature: Version, options and models. Scores are comparable only if it agrees.
        models: Its models with those they depend on, each once.
    """

    def __init__(
        self,
        metric: Metric,
        signature: Signature,
        arguments: Mapping[str, object],
        folders: tuple[ModelFolder, ...] = (),
    ) -> None:
        self.metric = metric
        self.signature = signature
        self.folders = folders
        self._arguments = arguments

    @property
    def models(self) -> Mapping[str, object]:
        """Its opened models by the name of the parameter."""
        return {name: self._arguments[name] for name in self.metric.models}

    @property
    def column(self) -> ScoreColumn:
        """Metadata of its scores."""
        return column_of(self.metric, str(self.signature))

    @property
    def asks_endpoint(self) -> bool:
        """Whether it sends what it judges to an endpoint."""
        return any(folder.card.kind.startswith("openai-") for folder in self.folders)

    def with_models(self, **models: object) -> LoadedMetric:
        """Return the same metric with other models, which its signature says."""
        replaced = ("replaced", ",".join(sorted(models)))
        signature = self.signature._replace(settings=(*self.signature.settings, replaced))
        arguments = {**self._arguments, **models}
        return LoadedMetric(self.metric, signature, arguments, self.folders)

    def judge(self, items: Sequence[Any]) -> list[Judgement]:
        """Return one judgement per response or conversation, in order.

        An item that the metric fails on, or gives a value outside of its range, is ``failed`` with
        the reason; the others keep their values.
        """
        return [
            _failed(answer) if isinstance(answer, Failure) else self._checked(answer)
            for answer in answers(self._judgements, items)
        ]

    def _judgements(self, items: Sequence[Any]) -> list[Judgement]:
        judgements = [*self.metric.function(items, **self._arguments)]
        if len(judgements) != len(items):
            raise MetricError(f"{len(judgements)} judgements for {plural(len(items), 'item')}")
        return judgements

    def _checked(self, judgement: Judgement) -> Judgement:
        value, low, high = judgement.value, self.metric.low, self.metric.high
        if judgement.status == "failed" or (value is not None and low <= value <= high):
            return judgement
        return Judgement(None, "failed", f"value {value} outside {low:g} to {high:g}")

    def score(
        self, conversations: Sequence[Conversation], speakers: Collection[str] = ()
    ) -> list[list[Score]]:
        """Return the scores of each conversation, in the order of its turns."""
        if self.metric.judges == "conversation":
            spoken = [utterances(conversation) for conversation in conversations]
            judged = self.judge([item.conversation for item in spoken])
            return [
                [self._score(talk, None, in_place(judgement, talk, item.positions))]
                for talk, item, judgement in zip(conversations, spoken, judged, strict=True)
            ]
        items = [responses(conversation, speakers) for conversation in conversations]
        asked = [item for group in items for item in group if item.text.strip()]
        judgements = iter(self.judge(asked))
        return [
            [
                self._score(
                    talk,
                    item.turn,
                    in_place(next(judgements) if item.text.strip() else self._of_empty(), talk),
                )
                for item in group
            ]
            for talk, group in zip(conversations, items, strict=True)
        ]

    def _of_empty(self) -> Judgement:
        """Judge an empty reply without the metric: it has the lowest score.

        An abstention would raise the mean of a bot that says nothing where it has no answer.
        """
        if math.isinf(self.metric.low):
            return Judgement(self.metric.neutral, "abstained", "the reply is empty", (EMPTY,))
        return Judgement(self.metric.low, "ok", "the reply is empty", (EMPTY,))

    def _score(self, conversation: Conversation, turn: int | None, judgement: Judgement) -> Score:
        flags = judgement.flags
        if turn is not None:
            flags = (*flags, *flags_of(conversation.turns[turn].text))
        return Score(
            conversation.id,
            turn,
            self.metric.name,
            judgement.value,
            judgement.status,
            judgement.reason,
            flags,
            judgement.evidence,
            str(self.signature),
            conversation.meta,
        )


def load_metric(metric: Metric, models: ModelLoader, options: Mapping[str, object]) -> LoadedMetric:
    """Set a metric's options, open its models and write its signature."""
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
    settings = [(name, str(value)) for name, value in values.items()]
    settings += [(name, models.fingerprint(reference)) for name, reference in references.items()]
    if references:
        settings.append(("mode", models.mode))
    used = dict.fromkeys(
        reference for name in references.values() for reference in models.dependencies(name)
    )
    signature = Signature(metric.name, metric.version, tuple(settings))
    return LoadedMetric(metric, signature, {**values, **opened}, tuple(map(models.folder, used)))


def _check_kind(metric: Metric, parameter: str, reference: str, models: ModelLoader) -> None:
    """Refuse a model of another task, which might well give plausible numbers."""
    default = metric.models[parameter]
    if reference == default:
        return
    wanted = metric.accepts.get(parameter) or (models.task(default),)
    if (answered := models.task(reference)) not in wanted:
        raise ModelError(
            f"{metric.flag(parameter)} {reference}: a model of {answered}, where one of "
            f"{' or '.join(wanted)} is needed, such as {default}"
        )


class Failure(NamedTuple):
    """The reason that an item has no answer, and how many items were in the same call."""

    reason: str
    others: int


def _failed(failure: Failure) -> Judgement:
    # No number of others: reasons of one cause are counted together, whatever batch they were in.
    together = " (judged together with others)" if failure.others else ""
    return Judgement(None, "failed", failure.reason + together)


def answers(
    ask: Callable[[Sequence[Item]], Sequence[Answer]], items: Sequence[Item]
) -> list[Answer | Failure]:
    """Return the answer to each item, or why there is none.

    All items are asked together, or in halves where memory runs out. If that fails, the first, the
    middle and the last one are asked alone; if none of them can be answered, the metric itself is
    taken to be broken. Otherwise the failing items are found by bisection, the largest part first,
    within :data:`CALLS` calls. An item without an answer by then has failed with the reason of the
    smallest part it was in.
    """
    search = _Bisection(ask, items)
    if items and not search.succeeds(0, len(items)) and len(items) > 1:
        alone = sorted({0, len(items) // 2, len(items) - 1})
        if any(search.succeeds(place, place + 1) for place in alone):
            search.halve()
    return search.answers


class _Bisection(Generic[Item, Answer]):
    def __init__(
        self, ask: Callable[[Sequence[Item]], Sequence[Answer]], items: Sequence[Item]
    ) -> None:
        self._ask = ask
        self._items = items
        self._calls = 0
        self.answers: list[Answer | Failure] = [Failure("", len(items))] * len(items)

    def succeeds(self, start: int, end: int) -> bool:
        """Ask for items ``start`` to ``end``; an item that was asked alone is not asked again."""
        known = self.answers[start]
        if end - start == 1 and not (isinstance(known, Failure) and known.others):
            return not isinstance(known, Failure)
        if self._calls == CALLS:
            return False
        self._calls += 1
        try:
            self.answers[start:end] = self._fitting(self._items[start:end])
        except StoppedError:  # no fault of an item: what was answered is kept, and the run ends
            raise
        except Exception as error:  # noqa: BLE001 - a metric may be anyone's code
            own = isinstance(error, GriceError)
            reason = str(error) if own else f"{type(error).__name__}: {error}"
            failure = Failure(shortened(reason, LONGEST), end - start - 1)
            for place in range(start, end):
                known = self.answers[place]
                if isinstance(known, Failure) and known.others >= failure.others:
                    self.answers[place] = failure
            return False
        return True

    def _fitting(self, items: Sequence[Item]) -> Sequence[Answer]:
        """Ask for items together, in halves where memory runs out."""
        try:
            return self._ask(items)
        except Exception as error:
            if len(items) == 1 or not out_of_memory(error):
                raise
        warnings.warn(MEMORY, RuntimeWarning, stacklevel=1)  # from one place: said once
        middle = len(items) // 2
        return [*self._fitting(items[:middle]), *self._fitting(items[middle:])]

    def halve(self) -> None:
        """Find the failing items."""
        failed = [(-len(self._items), 0)]  # sizes, negative so that the largest comes first; starts
        while failed and self._calls < CALLS:
            size, start = heappop(failed)
            end = start - size
            middle = (start + end) // 2
            if end - start == 1:
                self.succeeds(start, end)
            elif self.succeeds(start, middle):
                heappush(failed, (middle - end, middle))  # so what fails is in the other half
            else:
                heappush(failed, (start - middle, start))
                if not self.succeeds(middle, end):
                    heappush(failed, (middle - end, middle))
