"""Order candidates for a reply by metrics, the best first, with the reasons."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from grice.data import Conversation, Score, Turn
from grice.errors import InputError, RecordError, did_you_mean
from grice.readers.roles import ASSISTANT, USER, role_of
from grice.scoring.blended import RULES, Rule, combined

if TYPE_CHECKING:
    from grice.scoring.api import Scorer

FIELD = "candidates"  # field of a record that holds the candidates
WINDOW = 64  # contexts whose candidates are scored together
MOST = 1_000  # candidates of a context that are read


class Blend(msgspec.Struct, frozen=True):
    """How the scores of a candidate become one value, higher is better.

    Attributes:
        rule: ``mean``, ``geometric`` (a mean, too), ``min`` or ``max``.
        weights: Of metrics, above zero; 1 where none is given. Only means take them.
        vetoes: A candidate whose metric scores below the value comes after all others.
        held_out: Metrics that are computed and not blended; they may veto.
    """

    rule: Rule = "mean"
    weights: dict[str, float] = {}
    vetoes: dict[str, float] = {}
    held_out: tuple[str, ...] = ()

    def check(self, metrics: Collection[str]) -> None:
        """Raise InputError if the blend does not fit the metrics of the run."""
        named = [*self.weights, *self.vetoes, *self.held_out]
        unknown = next((name for name in named if name not in metrics), None)
        problem = ""
        if self.rule not in RULES:
            problem = f"no blend {self.rule!r}{did_you_mean(self.rule, RULES)}"
        elif unknown is not None:
            near = did_you_mean(unknown, metrics)
            problem = f"{unknown} is not run: the metrics are {', '.join(metrics)}{near}"
        elif self.weights and self.rule in ("min", "max"):
            problem = f"{self.rule} takes no weights: one score decides"
        elif all(name in self.held_out for name in metrics):
            problem = "no metric is left to choose by: hold out fewer of them"
        for name, weight in self.weights.items():
            if not (math.isfinite(weight) and weight > 0):
                problem = f"{name}: a weight must be above 0, found {weight}; leave the metric out"
            elif name in self.held_out:
                problem = f"{name} is held out: it takes no weight"
        for name, least in self.vetoes.items():
            if not math.isfinite(least):
                problem = f"{name}: a veto must be a finite number, found {least}"
        if problem:
            raise InputError(problem)


class Candidate(msgspec.Struct, frozen=True):
    """One candidate for a reply with its scores.

    ``index`` is its place in the record, from 0; ``value`` the blend of its scores, None where it
    is empty, or no metric counts; ``vetoed`` names the metrics that veto it.
    """

    index: int
    text: str
    value: float | None
    vetoed: tuple[str, ...]
    scores: tuple[Score, ...]


class Ranked(msgspec.Struct, frozen=True):
    """The candidates of one context.

    Attributes:
        candidates: The best first; of equal ones the order of the record. Vetoed ones follow all
            others, and empty ones follow these.
        tied: How many share the first place.
        left_out: Why a metric does not count in this choice, by its name.
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


def rerank(
    records: Iterable[Conversation | RecordError],
    scorer: Scorer,
    blend: Blend = Blend(),  # noqa: B008 - frozen
    *,
    field: str = FIELD,
) -> Iterator[Ranked | RecordError]:
    """Yield the candidates of each context, the best first, in the order of the records.

    A candidate on which a metric abstains counts with the neutral value of the metric. A metric
    that abstains on all of them, or fails on one, does not count, so that the values of all
    candidates of a context depend on the same metrics.

    Args:
        records: Contexts, as :func:`grice.read` gives them, whose last turn is the one to answer.
            The candidates are in a field of the record: texts, or objects with ``text`` or
            ``content``. A record without is yielded as a ``RecordError``.
        scorer: The metrics.
        blend: How their scores become one value.
        field: The field with the candidates.

    Raises:
        InputError: If the blend does not fit the metrics.
    """
    blend.check([loaded.metric.name for loaded in scorer.metrics])
    source = iter(records)
    while window := list(islice(source, WINDOW)):
        contexts = [_context(record, field) for record in window]
        talks = [talk for each in contexts if isinstance(each, tuple) for talk in _talks(*each)]
        groups = iter(scorer.score(talks))
        for each in contexts:
            if isinstance(each, tuple):
                yield _rank(*each, list(islice(groups, len(each[1]))), scorer, blend)
            else:
                yield each


def _context(
    record: Conversation | RecordError, field: str
) -> tuple[Conversation, list[str]] | RecordError:
    """Return a record without its candidates, and their texts."""
    if isinstance(record, RecordError):
        return record
    meta, problem = dict(record.meta), ""
    listed, texts = meta.pop(field, None), []
    if field not in record.meta:
        problem = f"missing; the record has {', '.join(sorted(meta)[:8]) or 'no further field'}"
    elif not isinstance(listed, list) or not listed:
        problem = "a list of at least one candidate is needed"
    elif len(listed) > MOST:
        problem = f"{len(listed):,} candidates; at most {MOST:,} are read"
    else:
        for place, item in enumerate(listed):
            text = item.get("text", item.get("content")) if isinstance(item, dict) else item
            if not isinstance(text, str):
                field, problem = f"{field}[{place}]", "a text, or an object with text or content"
                break
            texts.append(text)
    if problem:
        return RecordError(problem, file=record.id, field=field)
    return replace(record, meta=meta), texts


def _talks(context: Conversation, candidates: Sequence[str]) -> list[Conversation]:
    """Return a conversation for each candidate, with the candidate as its only target."""
    turns = context.turns
    # The speaker who spoke last before the speaker of the last turn answers.
    before = [turn for turn in turns if turn.speaker != turns[-1].speaker]
    spoken = [turn for turn in before if not turn.role or role_of(turn.role) == ASSISTANT]
    if spoken:
        speaker, role = spoken[-1].speaker, spoken[-1].role
    elif any(turn.role for turn in turns):
        speaker, role = ASSISTANT, ASSISTANT
    else:
        speaker, role = "B" if turns and turns[-1].speaker == "A" else "A", None
    return [
        Conversation(f"{context.id} {number}", (*turns, Turn(speaker, text, role)), (len(turns),))
        for number, text in enumerate(candidates)
    ]


def _rank(
    context: Conversation,
    texts: Sequence[str],
    groups: Sequence[Sequence[Score]],
    scorer: Scorer,
    blend: Blend,
) -> Ranked:
    scores = [tuple(replace(score, conversation=context.id) for score in each) for each in groups]
    by_metric = [{score.metric: score for score in each} for each in scores]
    filled = [number for number, text in enumerate(texts) if text.strip()]
    left_out, weights = {}, {}
    for metric in (loaded.metric.name for loaded in scorer.metrics):
        if metric in blend.held_out:
            continue
        given = [by_metric[number][metric] for number in filled if metric in by_metric[number]]
        failed = next((score for score in given if score.status == "failed"), None)
        if failed is not None:
            left_out[metric] = f"failed: {failed.reason}"
        elif not given:
            left_out[metric] = "every candidate is empty"
        elif all(score.status != "ok" for score in given):
            left_out[metric] = f"abstained: {given[0].reason}"
        else:
            weights[metric] = blend.weights.get(metric, 1.0)
    candidates = []
    for number, text in enumerate(texts):
        own, value, vetoed = by_metric[number], None, []
        if text.strip():
            if weights:
                values = [own[metric].value or 0.0 for metric in weights]
                value = combined(blend.rule, values, list(weights.values()))
            for metric, least in blend.vetoes.items():
                score = own.get(metric)
                if score is not None and score.status == "ok" and (score.value or 0.0) < least:
                    vetoed.append(metric)
        candidates.append(Candidate(number, text, value, tuple(vetoed), scores[number]))

    def place(candidate: Candidate) -> tuple[bool, bool, float]:
        return not candidate.text.strip(), bool(candidate.vetoed), -(candidate.value or 0.0)

    candidates.sort(key=place)
    tied = sum(place(candidate) == place(candidates[0]) for candidate in candidates)
    return Ranked(context.id, context.turns, tuple(candidates), tied, left_out, context.meta)


class Preference(msgspec.Struct, frozen=True):
    """A preference pair with the scores by metric that it depends on.

    ``prompt``, ``chosen`` and ``rejected`` are messages with ``role`` and ``content``, as trainers
    take them; ``margin`` is the value of the better less that of the worse.
    """

    prompt: list[dict[str, str]]
    chosen: list[dict[str, str]]
    rejected: list[dict[str, str]]
    margin: float
    chosen_scores: dict[str, float]
    rejected_scores: dict[str, float]
    conversation: str


def preferences(
    ranked: Iterable[Ranked],
    refused: Counter[str],
    *,
    margin: float = 0.1,
    length_ratio: float = math.inf,
    agreement: bool = False,
) -> Iterator[Preference]:
    """Yield a pair of the best and the worst candidate of each context.

    Vetoed candidates may be rejected and are never chosen; those without a value are neither.

    Args:
        ranked: Results of :func:`grice.evaluation.rerank`.
        refused: Counts the reasons of pairs that are left out.
        margin: Least difference of the values.
        length_ratio: The longer reply has at most this many times the words of the shorter one,
            so that length is not what is learned.
        agreement: Whether no metric may prefer the rejected reply.

    Raises:
        InputError: For a margin below 0, or a ratio below 1.
    """
    if not (math.isfinite(margin) and margin >= 0):
        raise InputError(f"a margin must be 0 or more, found {margin}")
    if not length_ratio >= 1:
        raise InputError(f"a length ratio must be 1 or more, found {length_ratio}")
    for item in ranked:
        judged = [candidate for candidate in item.candidates if candidate.value is not None]
        if len(judged) < 2 or judged[0].vetoed:
            refused["fewer than two candidates, or all vetoed"] += 1
            continue
        better, worse = judged[0], judged[-1]
        own, theirs = (
            {score.metric: score.value for score in each.scores if score.value is not None}
            for each in (better, worse)
        )
        gap = (better.value or 0.0) - (worse.value or 0.0)
        shorter, longer = sorted(len(each.text.split()) for each in (better, worse))
        if better.text.split() == worse.text.split():
            refused["the same text"] += 1
        elif gap < margin or gap == 0:
            refused["too close"] += 1
        elif longer > length_ratio * shorter:
            refused["lengths too different"] += 1
        elif agreement and any(own[name] < theirs[name] for name in own.keys() & theirs):
            refused["metrics disagree"] += 1
        else:
            prompt = [_message(turn, item.turns[-1]) for turn in item.turns]
            chosen, rejected = (
                [{"role": ASSISTANT, "content": each.text}] for each in (better, worse)
            )
            scores = (own, theirs)
            yield Preference(prompt, chosen, rejected, round(gap, 6), *scores, item.conversation)


def _message(turn: Turn, last: Turn) -> dict[str, str]:
    """Return a turn as a message; without roles, the last speaker is the user."""
    role = turn.role or (USER if turn.speaker == last.speaker else ASSISTANT)
    return {"role": ASSISTANT if role_of(role) == ASSISTANT else role, "content": turn.text}
