"""The best of several candidates for a reply, by metrics, with the reasons."""

from __future__ import annotations

import math
from itertools import islice, takewhile
from math import comb
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

import msgspec
import numpy as np
from msgspec.structs import replace

from grice.errors import InputError, RecordError, did_you_mean
from grice.readers.roles import ASSISTANT, USER, role_of
from grice.records import Conversation, Score, Turn
from grice.stats import mean
from grice.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from grice.scoring.run import Scorer


Rule: TypeAlias = Literal["mean", "minimum", "product", "pareto"]
RULES: tuple[Rule, ...] = ("mean", "minimum", "product", "pareto")
FIELD = "candidates"
"""Field of a record that holds the candidates."""
WINDOW = 64
"""Contexts whose candidates are scored together."""
MOST = 1_000
"""Candidates of a context that are read."""
VALUE, WORDS = "chosen by", "words"
"""Names of the blend and of the length beside those of metrics."""
LARGEST = 10


class Step(msgspec.Struct, frozen=True):
    """The mean over contexts of what is chosen from so many candidates, by measure."""

    candidates: int
    means: dict[str, Estimate]


class Turning(msgspec.Struct, frozen=True):
    """The number of candidates with the highest held-out metric, and its fall from there on.

    The interval of the change does not know that the highest place was looked for.
    """

    metric: str
    candidates: int
    change: Estimate


class Curve(msgspec.Struct, frozen=True):
    """How each measure moves with the number of candidates.

    Attributes:
        contexts: Those with two candidates or more that were judged.
        steps: For 1, 2, 4, … candidates and the fewest that every context has.
        changes: By measure, the mean over contexts of the choice from the most candidates minus a
            candidate at random.
        turns: Held-out metrics that turn down, by their intervals.
    """

    contexts: int
    steps: tuple[Step, ...]
    changes: dict[str, Estimate]
    turns: tuple[Turning, ...] = ()


class Blend(msgspec.Struct, frozen=True):
    """How the scores of a candidate become one value, higher is better.

    Attributes:
        rule: ``mean``, weighted; ``minimum``, the lowest score decides; ``product``, the weighted
            geometric mean, so that one score of zero is worth nothing; ``pareto``, candidates that
            no other one beats in every metric stand before the rest, and the mean orders each part.
        weights: Of metrics, above zero; 1 where none is given. ``minimum`` takes none.
        vetoes: A candidate whose metric scores below the value stands behind all others.
        held_out: Metrics that are computed and have no part in the value; they may veto.
    """

    rule: Rule = "mean"
    weights: dict[str, float] = {}
    vetoes: dict[str, float] = {}
    held_out: tuple[str, ...] = ()

    def check(self, metrics: Collection[str]) -> None:
        """Raise InputError if something does not fit the metrics that are run."""
        if self.rule not in RULES:
            raise InputError(f"no blend {self.rule!r}{did_you_mean(self.rule, RULES)}")
        for name in (*self.weights, *self.vetoes, *self.held_out):
            if name not in metrics:
                raise InputError(
                    f"{name} is not run: the metrics are {', '.join(metrics)}"
                    f"{did_you_mean(name, metrics)}"
                )
        for name, weight in self.weights.items():
            if not (math.isfinite(weight) and weight > 0):
                raise InputError(
                    f"{name}: a weight is above 0, found {weight}; leave the metric out"
                )
            if name in self.held_out:
                raise InputError(f"{name} is held out: it takes no weight")
        for name, least in self.vetoes.items():
            if not math.isfinite(least):
                raise InputError(f"{name}: a veto is below a finite number, found {least}")
        if self.rule == "minimum" and self.weights:
            raise InputError("the lowest score decides: minimum takes no weights")
        if not self.deciding(metrics):
            raise InputError("no metric is left to choose by: hold out fewer of them")

    def deciding(self, metrics: Collection[str]) -> tuple[str, ...]:
        """Return the metrics whose scores are blended: all that are not held out."""
        return tuple(name for name in metrics if name not in self.held_out)

    def value(self, scores: Mapping[str, float]) -> float:
        """Return the blend of scores by metric; at least one is needed."""
        if self.rule == "minimum":
            return min(scores.values())
        weights = [self.weights.get(name, 1.0) for name in scores]
        if self.rule == "product":
            if min(scores.values()) <= 0:
                return 0.0
            return math.exp(_mean(map(math.log, scores.values()), weights))
        return _mean(scores.values(), weights)


def _mean(values: Iterable[float], weights: Sequence[float]) -> float:
    products = (weight * value for weight, value in zip(weights, values, strict=True))
    return math.fsum(products) / math.fsum(weights)


def pareto_front(scores: Sequence[Mapping[str, float]]) -> list[bool]:
    """Tell for each candidate whether none is as good in all metrics and better in one."""
    rows = [tuple(score.values()) for score in scores]
    return [
        not any(
            other != row and all(theirs >= own for theirs, own in zip(other, row, strict=True))
            for other in rows
        )
        for row in rows
    ]


class Candidate(msgspec.Struct, frozen=True):
    """One candidate for a reply and what is thought of it.

    Attributes:
        index: Its place in the record, from 0.
        text: Its text.
        value: The blend of its scores; None where it is empty, or no metric has a part.
        vetoed: Metrics that veto it.
        scores: All its scores with their evidence.
    """

    index: int
    text: str
    value: float | None
    vetoed: tuple[str, ...]
    scores: tuple[Score, ...]


class Ranked(msgspec.Struct, frozen=True):
    """The candidates of one context.

    Attributes:
        conversation: Id of the context.
        turns: The turns before.
        candidates: The best first. Of equal ones, and where nothing was judged, the order of the
            record stands; vetoed ones follow all others, and empty ones follow these.
        tied: How many share the first place.
        left_out: Why a metric has no part in this choice, by its name.
        meta: Further fields of the record.
    """

    conversation: str
    turns: tuple[Turn, ...]
    candidates: tuple[Candidate, ...]
    tied: int
    left_out: dict[str, str]
    meta: dict[str, Any]

    @property
    def best(self) -> Candidate:
        """The first candidate."""
        return self.candidates[0]


class _Context(msgspec.Struct, frozen=True):
    """A context and what may follow it."""

    conversation: Conversation
    candidates: tuple[str, ...]

    def talks(self) -> list[Conversation]:
        """Return a conversation for each candidate, which alone is judged in it."""
        turns = self.conversation.turns
        speaker, role = _next(turns)
        return [
            Conversation(
                f"{self.conversation.id} {number}",
                (*turns, Turn(speaker, text, role)),
                (len(turns),),
            )
            for number, text in enumerate(self.candidates)
        ]


def rerank(
    records: Iterable[Conversation | RecordError],
    scorer: Scorer,
    blend: Blend = Blend(),  # noqa: B008 - frozen
    *,
    field: str = FIELD,
) -> Iterator[Ranked | RecordError]:
    """Yield the candidates of each context, the best first.

    A candidate that a metric has nothing to judge in counts with the neutral value of the metric.
    A metric that judges none of them, or fails on one, has no part in the choice, so that the
    values of all candidates of a context rest on the same metrics.

    Args:
        records: Contexts, as :func:`grice.read` gives them, whose last turn is the one to answer.
            The candidates stand in a field of the record: texts, or objects with ``text`` or
            ``content``.
        scorer: The metrics.
        blend: How their scores become one value.
        field: The field with the candidates.

    Yields:
        The ranked candidates, in the order of the records; a ``RecordError`` for each record that
        was not read or has no candidates.

    Raises:
        InputError: If the blend does not fit the metrics.
    """
    blend.check([loaded.metric.name for loaded in scorer.metrics])
    return _ranked(iter(records), scorer, blend, field)


def _ranked(
    records: Iterator[Conversation | RecordError], scorer: Scorer, blend: Blend, field: str
) -> Iterator[Ranked | RecordError]:
    while window := [_context(record, field) for record in islice(records, WINDOW)]:
        contexts = [context for context in window if isinstance(context, _Context)]
        groups = iter(scorer.score([talk for context in contexts for talk in context.talks()]))
        for item in window:
            if isinstance(item, _Context):
                yield _rank(item, list(islice(groups, len(item.candidates))), scorer, blend)
            else:
                yield item


def _context(record: Conversation | RecordError, field: str) -> _Context | RecordError:
    if isinstance(record, RecordError):
        return record
    if field not in record.meta:
        fields = ", ".join(sorted(record.meta)[:8]) or "no further field"
        return _wrong(record, field, f"missing; the record has {fields}")
    listed = record.meta[field]
    if not isinstance(listed, list) or not listed:
        return _wrong(record, field, "a list of candidates is needed, with one at least")
    if len(listed) > MOST:
        return _wrong(record, field, f"{len(listed):,} candidates; at most {MOST:,} are read")
    texts = [_text(item) for item in listed]
    if None in texts:
        return _wrong(
            record, f"{field}[{texts.index(None)}]", "a text, or an object with text or content"
        )
    meta = {name: value for name, value in record.meta.items() if name != field}
    return _Context(replace(record, meta=meta), tuple(text for text in texts if text is not None))


def _wrong(record: Conversation, field: str, problem: str) -> RecordError:
    return RecordError(problem, file=record.id, field=field)


def _text(item: object) -> str | None:
    if isinstance(item, dict):
        item = item.get("text", item.get("content"))
    return item if isinstance(item, str) else None


def _next(turns: Sequence[Turn]) -> tuple[str, str | None]:
    """Return who answers: whoever spoke last before the speaker of the last turn, with the role."""
    before = [turn for turn in turns if turn.speaker != turns[-1].speaker]
    spoken = [turn for turn in before if not turn.role or role_of(turn.role) == ASSISTANT]
    if spoken:
        return spoken[-1].speaker, spoken[-1].role
    has_roles = any(turn.role for turn in turns)
    name = ASSISTANT if has_roles else "B" if turns and turns[-1].speaker == "A" else "A"
    return name, ASSISTANT if has_roles else None


def _rank(
    context: _Context, groups: Sequence[Sequence[Score]], scorer: Scorer, blend: Blend
) -> Ranked:
    name = context.conversation.id
    scores = [tuple(replace(score, conversation=name) for score in group) for group in groups]
    by_metric = [{score.metric: score for score in group} for group in scores]
    filled = [number for number, text in enumerate(context.candidates) if text.strip()]
    metrics = blend.deciding([loaded.metric.name for loaded in scorer.metrics])
    left_out = {
        metric: why
        for metric in metrics
        if (why := _not_judged(metric, [by_metric[number] for number in filled]))
    }
    used = [metric for metric in metrics if metric not in left_out]
    judged = {
        number: {metric: by_metric[number][metric].value or 0.0 for metric in used}
        for number in filled
        if used
    }
    fronts = dict(zip(judged, pareto_front(list(judged.values())), strict=True))
    candidates = [
        Candidate(
            number,
            text,
            blend.value(judged[number]) if number in judged else None,
            _vetoes(by_metric[number], blend) if text.strip() else (),
            scores[number],
        )
        for number, text in enumerate(context.candidates)
    ]

    def place(candidate: Candidate) -> tuple[bool, bool, bool, float]:
        behind = blend.rule == "pareto" and not fronts.get(candidate.index, False)
        empty = not candidate.text.strip()
        return empty, bool(candidate.vetoed), behind, -(candidate.value or 0.0)

    candidates.sort(key=place)
    tied = sum(place(candidate) == place(candidates[0]) for candidate in candidates)
    turns, meta = context.conversation.turns, context.conversation.meta
    return Ranked(name, turns, tuple(candidates), tied, left_out, meta)


def _not_judged(metric: str, candidates: Sequence[dict[str, Score]]) -> str | None:
    """Return why a metric has no part in a choice; None if it has."""
    scores = [by_metric[metric] for by_metric in candidates if metric in by_metric]
    for score in scores:
        if score.status == "failed":
            return f"failed: {score.reason}"
    if any(score.status == "ok" for score in scores):
        return None
    return f"abstained: {scores[0].reason}" if scores else "every candidate is empty"


def _vetoes(scores: dict[str, Score], blend: Blend) -> tuple[str, ...]:
    """Return the metrics that judged the candidate and score it below their threshold."""
    judged = {name: score.value for name, score in scores.items() if score.status == "ok"}
    return tuple(
        metric
        for metric, least in blend.vetoes.items()
        if (value := judged.get(metric)) is not None and value < least
    )


def curve(ranked: Iterable[Ranked], held_out: Sequence[str]) -> Curve | None:
    """Return how the value, metrics that were held out, and the length move."""
    tables = [table for item in ranked if len(table := _table(item, held_out)) > 1]
    if not tables:
        return None
    names = (VALUE, *held_out, WORDS)
    fewest = min(map(len, tables))
    counts = [*takewhile(lambda count: count < fewest, (2**i for i in range(LARGEST))), fewest]
    chosen = {count: np.array([_expected(table, count) for table in tables]) for count in counts}

    def means(values: NDArray[np.float64]) -> dict[str, Estimate]:
        columns = zip(names, values.T, strict=True)
        return {name: mean(column) for name, column in columns if not np.isnan(column).all()}

    steps = tuple(Step(count, means(values)) for count, values in chosen.items())
    turns = (
        Turning(name, peak, change)
        for name in held_out
        if all(name in step.means for step in steps)
        and (peak := max(steps, key=lambda step: step.means[name].value).candidates) < fewest
        and (change := means(chosen[fewest] - chosen[peak])[name]).side(0.0) == "below"
    )
    return Curve(len(tables), steps, means(chosen[fewest] - chosen[1]), tuple(turns))


def _table(ranked: Ranked, held_out: Sequence[str]) -> NDArray[np.float64]:
    """Return a row per judged candidate, the best first: value, metrics, words."""
    rows = []
    for candidate in ranked.candidates:
        if candidate.value is not None:
            values = {score.metric: score.value for score in candidate.scores}
            metrics = (values.get(name) for name in held_out)
            numbers = (candidate.value, *metrics, len(candidate.text.split()))
            rows.append([np.nan if number is None else float(number) for number in numbers])
    return np.array(rows, np.float64).reshape(len(rows), len(held_out) + 2)


def _expected(table: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return what the best of so many candidates, drawn without repeats, has on average."""
    size = len(table)
    chance = [comb(size - 1 - place, count - 1) / comb(size, count) for place in range(size)]
    return np.asarray(chance @ table, np.float64)


class Message(TypedDict):
    """A message as chat interfaces and trainers take it."""

    role: str
    content: str


class Preference(msgspec.Struct, frozen=True):
    """A pair as trainers of preferences read it, with what the preference rests on.

    Attributes:
        margin: Value of the better minus value of the worse.
    """

    prompt: list[Message]
    chosen: list[Message]
    rejected: list[Message]
    margin: float
    chosen_scores: dict[str, float]
    rejected_scores: dict[str, float]
    conversation: str


class Filters(msgspec.Struct, frozen=True):
    """Which pairs are kept.

    Attributes:
        margin: Least difference of the values.
        length_ratio: The longer reply has at most so many times the words of the shorter one, so
            that length is not what is learned; infinite for any.
        agreement: Whether no metric may prefer the rejected reply.
    """

    margin: float = 0.1
    length_ratio: float = math.inf
    agreement: bool = False

    def check(self) -> None:
        """Raise InputError for a value that keeps nothing, or means nothing."""
        if not (math.isfinite(self.margin) and self.margin >= 0):
            raise InputError(f"a margin is 0 or more, found {self.margin}")
        if not self.length_ratio >= 1:
            raise InputError(f"a ratio of lengths is 1 or more, found {self.length_ratio}")

    def refusal(self, better: Candidate, worse: Candidate) -> str | None:
        """Return why a pair of judged candidates is not kept, if it is not."""
        if better.text.split() == worse.text.split():
            return "the same text"
        if _margin(better, worse) < self.margin or better.value == worse.value:
            return "too close"
        shorter, longer = sorted(len(each.text.split()) for each in (better, worse))
        if longer > self.length_ratio * shorter:
            return "lengths too different"
        own, theirs = _values(better), _values(worse)
        if self.agreement and any(own[name] < theirs[name] for name in own.keys() & theirs):
            return "metrics disagree"
        return None


def preferences(
    ranked: Iterable[Ranked], filters: Filters, refused: Counter[str]
) -> Iterator[Preference]:
    """Yield a pair of the best and the worst candidate of each context.

    Vetoed candidates may be rejected and are never chosen; those that were not judged are neither.

    Args:
        ranked: Results of :func:`grice.evaluation.rerank`.
        filters: Which pairs are kept.
        refused: Counts why the others are not.

    Raises:
        InputError: For filters out of range.
    """
    filters.check()
    for item in ranked:
        judged = [candidate for candidate in item.candidates if candidate.value is not None]
        if len(judged) < 2 or judged[0].vetoed:
            refused["fewer than two candidates, or all vetoed"] += 1
        elif (why := filters.refusal(judged[0], judged[-1])) is not None:
            refused[why] += 1
        else:
            better, worse = judged[0], judged[-1]
            yield Preference(
                _prompt(item.turns),
                [Message(role=ASSISTANT, content=better.text)],
                [Message(role=ASSISTANT, content=worse.text)],
                round(_margin(better, worse), 6),
                _values(better),
                _values(worse),
                item.conversation,
            )


def _prompt(turns: Iterable[Turn]) -> list[Message]:
    """Return turns as messages; without roles, whoever speaks last is the user."""
    listed = list(turns)
    messages = []
    for turn in listed:
        role = turn.role or (USER if turn.speaker == listed[-1].speaker else ASSISTANT)
        role = ASSISTANT if role_of(role) == ASSISTANT else role
        messages.append(Message(role=role, content=turn.text))
    return messages


def _margin(better: Candidate, worse: Candidate) -> float:
    return (better.value or 0.0) - (worse.value or 0.0)


def _values(candidate: Candidate) -> dict[str, float]:
    return {score.metric: score.value for score in candidate.scores if score.value is not None}
