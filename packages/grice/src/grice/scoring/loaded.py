"""Metrics with options and loaded models, and the replies that they judge.

Texts lose their tags here (:mod:`grice.text.markup`), for all metrics alike, and offsets of
evidence are mapped back to the original text.
"""

from __future__ import annotations

import json
import math
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, groupby, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec.structs import replace

from grice.data import (
    Conversation,
    Evidence,
    FeatureEvidence,
    Judgement,
    Response,
    Score,
    Signature,
    Span,
    TripleEvidence,
    Turn,
    TurnEvidence,
)
from grice.errors import (
    LONGEST,
    GriceError,
    MetricError,
    MissingModelError,
    ModelError,
    StoppedError,
    did_you_mean,
    out_of_memory,
    plural,
    shortened,
)
from grice.progress import track
from grice.readers.roles import ASSISTANT, TOOL, assistant_alone, is_by, role_of, roles_of, unspoken
from grice.text.markup import plain_text, thoughts

if TYPE_CHECKING:
    from grice.metrics.declaration import Judges, Metric
    from grice.models.loader import ModelLoader

EVERYBODY = "all"  # speaker name that selects every turn, of any role
EMPTY, THINKING, JSON = "empty", "thinking_skipped", "json"
FLAGS = (EMPTY, THINKING, JSON)
"""Flags of an empty reply, of one whose thinking is not judged, of one that is a JSON object."""
KNOWLEDGE = "knowledge"
READ_BACK = 64  # maximum turns of history per reply: bounds the work for very long conversations
CALLS = 64
"""Most calls for one batch: enough to find five failing items among a thousand."""
MEMORY = "out of memory; batches that do not fit are scored in halves"

Item = TypeVar("Item")
Answer = TypeVar("Answer")


# Targets.


def judged_turns(conversation: Conversation, speakers: Collection[str] = ()) -> list[int]:
    """Return the indices of the replies to judge, in order."""
    wanted = None if conversation.targets is None else frozenset(conversation.targets)
    roles = roles_of(conversation.turns)
    alone = assistant_alone(conversation, speakers)
    names = () if EVERYBODY in speakers else speakers
    silent = unspoken(conversation.turns)
    return [
        index
        for index, turn in enumerate(conversation.turns)
        if not silent[index]
        and (wanted is None or index in wanted)
        and (roles[index] == ASSISTANT if alone else is_by(turn, roles[index], names))
    ]


def responses(conversation: Conversation, speakers: Collection[str] = ()) -> list[Response]:
    """Return the replies to judge, in order, their texts without tags."""
    judged = frozenset(judged_turns(conversation, speakers))
    turns = tuple(map(_plain, conversation.turns))
    silent = unspoken(turns)
    spoken: list[int] = []
    items = []
    for index, turn in enumerate(turns):
        if silent[index]:
            continue
        if index in judged:
            # Its sources: the field of the turn or of the record, and the answers of tools.
            given = turn.meta.get(KNOWLEDGE, conversation.meta.get(KNOWLEDGE))
            sources = given if isinstance(given, list) else [given]
            just_before = takewhile(silent.__getitem__, range(index - 1, -1, -1))
            tools = [i for i in just_before if role_of(turns[i].role, turns[i].speaker) == TOOL]
            texts = [source for source in sources if isinstance(source, str)]
            texts += [turns[i].text for i in reversed(tools)]
            before = tuple(spoken[-READ_BACK:])
            history = tuple(turns[i] for i in before)
            items.append(
                Response(
                    conversation.id, index, turn.text, turn.speaker, history, before,
                    turn.references, tuple(texts),
                )
            )  # fmt: skip
        spoken.append(index)
    return items


def _plain(turn: Turn) -> Turn:
    """Return a turn without tags."""
    text = plain_text(turn.text).text
    references = tuple(plain_text(reference).text for reference in turn.references)
    if text == turn.text and references == turn.references:
        return turn
    return replace(turn, text=text, references=references)


def dialogue_turns(conversation: Conversation) -> tuple[Conversation, tuple[int, ...]]:
    """Return a conversation without tags, system prompts and tool traffic, and what is left."""
    left = tuple(i for i, silent in enumerate(unspoken(conversation.turns)) if not silent)
    turns = tuple(_plain(conversation.turns[i]) for i in left)
    if turns == conversation.turns:
        return conversation, left
    return Conversation(conversation.id, turns, None, conversation.meta), left


def in_place(
    judgement: Judgement, conversation: Conversation, positions: Sequence[int] | None = None
) -> Judgement:
    """Return a judgement whose turns and spans are those of the conversation as it came.

    ``positions`` are the indices of the judged turns, if some were left out before judging.
    """

    # A plug-in may name a turn that does not exist: it is kept as it is.
    def at(turn: int) -> int:
        return turn if not positions or not 0 <= turn < len(positions) else positions[turn]

    def moved(span: Span | None) -> Span | None:
        if span is None or not 0 <= at(span.turn) < len(conversation.turns):
            return span
        plain = plain_text(conversation.turns[at(span.turn)].text)
        return Span(at(span.turn), plain.original(span.start), plain.original(span.end))

    def located(evidence: Evidence) -> Evidence:
        match evidence:
            case TurnEvidence(turn=turn):
                return replace(evidence, turn=at(turn))
            case FeatureEvidence(span=span):
                return replace(evidence, span=moved(span))
            case TripleEvidence(triple=triple):
                spans = {"head_span": moved(triple.head_span), "tail_span": moved(triple.tail_span)}
                return replace(evidence, triple=replace(triple, **spans))

    evidence, reason = tuple(map(located, judgement.evidence)), judgement.reason
    if reason and positions and evidence and isinstance(evidence[0], TurnEvidence):
        reason = reason.replace("{turn}", str(evidence[0].turn), 1)
    return replace(judgement, reason=reason, evidence=evidence)


def flags_of(text: str) -> Iterator[str]:
    """Yield the flags of a reply as it came."""
    if thoughts(text):
        yield THINKING
    bare = text.strip()
    if bare.startswith("{") and bare.endswith("}"):
        with suppress(ValueError, RecursionError):
            if isinstance(json.loads(bare), dict):
                yield JSON


# Metrics.


class ScoreColumn(NamedTuple):
    """Metadata of the scores of one metric or blend in a run, as its declaration states them."""

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
    """A metric that is ready to judge."""

    def __init__(
        self,
        metric: Metric,
        signature: Signature,
        arguments: Mapping[str, object],
        *,
        asks_endpoint: bool = False,
    ) -> None:
        self.metric = metric
        self.signature = signature
        self.asks_endpoint = asks_endpoint  # whether it sends what it judges to an endpoint
        self._arguments = arguments
        self.column = column_of(metric, str(signature))

    @property
    def models(self) -> Mapping[str, object]:
        """Its opened models by the name of the parameter."""
        return {name: self._arguments[name] for name in self.metric.models}

    def with_models(self, **models: object) -> LoadedMetric:
        """Return the same metric with other models and their signature."""
        replaced = ("replaced", ",".join(sorted(models)))
        signature = self.signature._replace(settings=(*self.signature.settings, replaced))
        arguments = {**self._arguments, **models}
        return LoadedMetric(self.metric, signature, arguments, asks_endpoint=self.asks_endpoint)

    def judge(self, items: Sequence[Any], part: int = 0) -> list[Judgement]:
        """Return one judgement per response or conversation, in order.

        An item that the metric fails on, or gives a value outside of its range, is ``failed`` with
        the reason; the others keep their values. See ``part`` at :class:`grice.scoring.Scorer`.
        """
        if not part or self.asks_endpoint:  # which is asked for many at once
            return [self._checked(answer) for answer in answers(self._judgements, items)]
        sizes = (len(item.text) if isinstance(item, Response) else part for item in items)
        groups = groupby(zip(accumulate(sizes), items, strict=True), lambda both: both[0] // part)
        parts = track(([item for _, item in both] for _, both in groups), "parts")
        return [judgement for items in parts for judgement in self.judge(items)]

    def _checked(self, answer: Judgement | Failure) -> Judgement:
        if isinstance(answer, Failure):
            # Without the number of others: one cause has one reason in any batch.
            together = " (judged together with others)" if answer.others else ""
            return Judgement(None, "failed", answer.reason + together)
        value, low, high = answer.value, self.metric.low, self.metric.high
        if answer.status == "failed" or (value is not None and low <= value <= high):
            return answer
        return Judgement(None, "failed", f"value {value} outside {low:g} to {high:g}")

    def _judgements(self, items: Sequence[Any]) -> list[Judgement]:
        judgements = [*self.metric.function(items, **self._arguments)]
        if len(judgements) != len(items):
            raise MetricError(f"{len(judgements)} judgements for {plural(len(items), 'item')}")
        return judgements

    def score(
        self, conversations: Sequence[Conversation], speakers: Collection[str] = (), part: int = 0
    ) -> list[list[Score]]:
        """Return the scores of each conversation, in the order of its turns."""
        if self.metric.judges == "conversation":
            plain = list(map(dialogue_turns, conversations))
            judged = self.judge([talk for talk, _ in plain], part)
            return [
                [self._score(talk, None, judgement, places)]
                for talk, judgement, (_, places) in zip(conversations, judged, plain, strict=True)
            ]
        items = [responses(talk, speakers) for talk in track(conversations, "conversations")]
        asked = [item for group in items for item in group if item.text.strip()]
        judgements = iter(self.judge(asked, part))
        # An empty reply gets the lowest score without running the metric: an abstention would
        # raise the mean of a bot that often does not answer.
        empty = Judgement(self.metric.low, "ok", "the reply is empty", (EMPTY,))
        if math.isinf(self.metric.low):
            empty = replace(empty, value=self.metric.neutral, status="abstained")
        return [
            [
                self._score(talk, item.turn, next(judgements) if item.text.strip() else empty)
                for item in group
            ]
            for talk, group in zip(conversations, items, strict=True)
        ]

    def _score(
        self,
        conversation: Conversation,
        turn: int | None,
        judged: Judgement,
        positions: Sequence[int] | None = None,
    ) -> Score:
        judgement = in_place(judged, conversation, positions)
        flags = judgement.flags
        if turn is not None:
            flags = (*flags, *flags_of(conversation.turns[turn].text))
        return Score(
            conversation.id, turn, self.metric.name, judgement.value, judgement.status,
            judgement.reason, flags, judgement.evidence, self.column.signature, conversation.meta,
        )  # fmt: skip


def missing_model(
    metric: Metric, models: ModelLoader, options: Mapping[str, object] | None = None
) -> str:
    """Return which model of a metric is not on this machine and how to get it; else nothing.

    Raises ModelError for a reference that cannot be used on any machine.
    """
    for name, default in metric.models.items():
        reference = str((options or {}).get(name, default))
        try:
            if reference:
                models.dependencies(reference)
        except MissingModelError as error:
            if metric.setup and reference == default:
                return f"{reference} is not on this machine: {metric.setup}"
            return str(error)
    return ""


def load_metric(metric: Metric, models: ModelLoader, options: Mapping[str, object]) -> LoadedMetric:
    """Set a metric's options, open its models and write its signature."""
    known = {option.name: option for option in metric.options}
    for name in options:
        if name not in known and name not in metric.models:
            near = did_you_mean(name, [*known, *metric.models])
            raise MetricError(f"{metric.name}: no option {name!r}{near}")
    arguments: dict[str, object] = {
        name: option.check(options.get(name, option.default), metric.name)
        for name, option in known.items()
    }
    settings = [(name, str(value)) for name, value in arguments.items()]
    used: dict[str, None] = {}
    for name, default in metric.models.items():
        reference = str(options.get(name, default))
        if not reference:
            arguments[name] = None
            continue
        # A model of another task might well give plausible numbers.
        wanted = metric.accepts.get(name) or (models.task(default),)
        if reference != default and (answered := models.task(reference)) not in wanted:
            raise ModelError(
                f"{metric.flag(name)} {reference}: a model of {answered}, where one of "
                f"{' or '.join(wanted)} is needed{f', such as {default}' if default else ''}"
            )
        arguments[name] = models.load(reference, metric.protocols.get(name, object))
        settings.append((name, models.fingerprint(reference)))
        used |= dict.fromkeys(models.dependencies(reference))
    if used:
        settings.append(("mode", models.mode))
    signature = Signature(metric.name, metric.version, tuple(settings))
    asks_endpoint = any(models.folder(name).card.kind.startswith("openai-") for name in used)
    return LoadedMetric(metric, signature, arguments, asks_endpoint=asks_endpoint)


# Failures.


class Failure(NamedTuple):
    """The reason that an item has no answer, and how many items were in the same call."""

    reason: str
    others: int


def answers(
    ask: Callable[[Sequence[Item]], Sequence[Answer]], items: Sequence[Item]
) -> list[Answer | Failure]:
    """Return the answer to each item, or why it is missing.

    All items are scored together, or in halves if they exceed the memory. If that fails, the first,
    the middle and the last one are scored alone; if all three fail, the metric itself is considered
    broken. Otherwise the failing items are found by bisection within :data:`CALLS` calls. An item
    without an answer by then fails with the reason of the smallest part it was in.
    """
    found: list[Answer | Failure] = [Failure("", len(items))] * len(items)
    calls = 0

    def failing(start: int, end: int) -> bool:
        """Ask for a part, but not twice for an item alone."""
        nonlocal calls
        first = found[start]
        if end - start == 1 and not (isinstance(first, Failure) and first.others):
            return isinstance(first, Failure)
        if calls == CALLS:
            return True
        calls += 1
        try:
            found[start:end] = _fitting(ask, items[start:end])
        except StoppedError:  # not caused by an item: answers are kept, and the run ends
            raise
        except Exception as error:  # noqa: BLE001 - plug-ins may raise anything
            own = isinstance(error, GriceError)
            reason = str(error) if own else f"{type(error).__name__}: {error}"
            failure = Failure(shortened(reason, LONGEST), end - start - 1)
            for place, known in enumerate(found[start:end], start):
                if isinstance(known, Failure) and known.others >= failure.others:
                    found[place] = failure
            return True
        return False

    if not items or not failing(0, len(items)) or len(items) == 1:
        return found
    if all(failing(place, place + 1) for place in sorted({0, len(items) // 2, len(items) - 1})):
        return found
    parts = deque([(0, len(items))])  # the largest first
    while parts and calls < CALLS:
        start, end = parts.popleft()
        middle = (start + end) // 2
        if middle == start:
            failing(start, end)
        elif not failing(start, middle):  # so what fails is in the other half
            parts.append((middle, end))
        else:
            parts.append((start, middle))
            if failing(middle, end):
                parts.append((middle, end))
    return found


def _fitting(
    ask: Callable[[Sequence[Item]], Sequence[Answer]], items: Sequence[Item]
) -> Sequence[Answer]:
    """Ask for items together, in halves where memory runs out."""
    try:
        return ask(items)
    except Exception as error:
        if len(items) == 1 or not out_of_memory(error):
            raise
    warnings.warn(MEMORY, RuntimeWarning, stacklevel=1)  # the same line of code: warn once
    middle = len(items) // 2
    return [*_fitting(ask, items[:middle]), *_fitting(ask, items[middle:])]
