"""Summary of a run, collected conversation by conversation in constant memory."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import msgspec
from msgspec.structs import asdict, replace

from grice.data import Conversation, Score, Status
from grice.errors import RecordError, plural, shortened
from grice.readers.roles import assistant_alone, is_tool_traffic, unknown_roles
from grice.scoring.loaded import FLAGS, ScoreColumn
from grice.stats import ClusteredMean
from grice.stats.estimate import Estimate

SMALL = "small"  # name of the preset that ships
LOWEST = 3
REASONS = 20
DIFFERENT = 1000  # most distinct reasons that are counted, of each metric and status


class LowScore(msgspec.Struct, frozen=True):
    """One of the lowest scores of a run, with the text it judges."""

    conversation: str
    turn: int | None
    metric: str
    value: float
    reason: str | None
    speaker: str
    text: str


class CommonReason(msgspec.Struct, frozen=True):
    """The most frequent reason of scores of one status, and its count."""

    reason: str
    count: int


class MetricSummary(msgspec.Struct, frozen=True):
    """One metric over a run."""

    metric: str
    mean: Estimate | None  # over the scores of status ``ok``, clustered by conversation
    counts: dict[Status, int]
    lowest: tuple[LowScore, ...]
    signature: str
    failure: str | None = None  # place and reason of the first failed score
    reasons: dict[Status, CommonReason] = {}  # the most frequent one by status

    def record(self) -> dict[str, object]:
        """Return the fields for JSON: of the mean the value and its bounds."""
        figures = {name: getattr(self.mean, name, None) for name in ("value", "low", "high")}
        given = {"metric": self.metric, "mean": figures.pop("value"), **figures}
        return given | {k: v for k, v in asdict(self).items() if k not in given}


class Sampled(msgspec.Struct, frozen=True):
    """The conversations that were drawn from the input."""

    conversations: int
    of: int  # conversations in the input
    seed: int


class Summary(msgspec.Struct):
    """A whole run."""

    conversations: int = 0
    turns: int = 0
    metrics: tuple[MetricSummary, ...] = ()
    skipped: int = 0  # records that could not be read
    problems: tuple[str, ...] = ()  # the first skipped records, one line each
    models: str = SMALL  # the preset
    sample: Sampled | None = None
    assistant_alone: int = 0  # conversations of which only its turns were judged by default
    unknown_roles: dict[str, int] = {}  # turns beside an assistant's that were not judged
    unknown_answering: dict[str, int] = {}  # turns beside a user's that were judged
    tool_turns: int = 0  # calls of tools and their results, which are no replies
    flags: dict[str, int] = {}  # judged replies by flag

    @property
    def failed(self) -> int:
        """Number of scores with status ``failed``."""
        return sum(metric.counts.get("failed", 0) for metric in self.metrics)

    @property
    def scores(self) -> int:
        """Number of scores, whatever their status."""
        return sum(sum(metric.counts.values()) for metric in self.metrics)

    def record(self) -> dict[str, object]:
        """Return the fields for JSON."""
        return asdict(self) | {"metrics": [metric.record() for metric in self.metrics]}


class SummaryBuilder:
    """Collects scores and gives a :class:`Summary` at any time."""

    def __init__(
        self, columns: Sequence[ScoreColumn], preset: str = SMALL, speakers: Collection[str] = ()
    ) -> None:
        self._metrics = {column.name: _MetricBuilder(column) for column in columns}
        self._speakers = speakers
        self._roles, self._answering, self._flags = Counter[str](), Counter[str](), Counter[str]()
        self.so_far = Summary(models=preset)  # sums; :meth:`summary` adds the rest

    def add(self, conversation: Conversation, scores: Sequence[Score]) -> None:
        """Add one conversation with all its scores."""
        summary = self.so_far
        summary.conversations += 1
        summary.turns += len(conversation.turns)
        if assistant_alone(conversation, self._speakers):
            summary.assistant_alone += 1
            self._roles.update(unknown_roles(conversation))
        elif not self._speakers and conversation.targets is None:
            self._answering.update(unknown_roles(conversation))
        summary.tool_turns += sum(map(is_tool_traffic, conversation.turns))
        flags = {(score.turn, flag) for score in scores for flag in score.flags}  # not per metric
        self._flags.update(flag for turn, flag in flags if flag in FLAGS and turn is not None)
        for name, metric in self._metrics.items():
            metric.add(conversation, [score for score in scores if score.metric == name])

    def skip(self, error: RecordError) -> None:
        """Count a record that could not be read."""
        self.so_far.skipped += 1
        if len(self.so_far.problems) < REASONS:
            self.so_far.problems += (str(error),)

    def summary(self) -> Summary:
        """Return the summary of what was added so far."""
        return replace(
            self.so_far,
            metrics=tuple(metric.summary() for metric in self._metrics.values()),
            unknown_roles=dict(self._roles.most_common(REASONS)),
            unknown_answering=dict(self._answering.most_common(REASONS)),
            flags=dict(self._flags),
        )


class _MetricBuilder:
    def __init__(self, column: ScoreColumn) -> None:
        self._column = column
        self._mean = ClusteredMean((column.low, column.high))
        self._counts: Counter[Status] = Counter()
        self._lowest: list[LowScore] = []
        self._failure: str | None = None
        self._reasons: dict[Status, Counter[str]] = {}

    def add(self, conversation: Conversation, scores: Sequence[Score]) -> None:
        """Add the scores of one conversation."""
        values = []
        for score in scores:
            self._counts[score.status] += 1
            if score.status == "ok" and score.value is not None:
                values.append(score.value)
                self._offer(conversation, score, score.value)
                continue
            if score.status == "failed" and self._failure is None:
                turn = "" if score.turn is None else f" #{score.turn}"
                self._failure = f"{score.conversation}{turn}: {score.reason}"
            reasons = self._reasons.setdefault(score.status, Counter())
            if score.reason and (score.reason in reasons or len(reasons) < DIFFERENT):
                reasons[score.reason] += 1
        self._mean.add(values)

    def _offer(self, conversation: Conversation, score: Score, value: float) -> None:
        if len(self._lowest) == LOWEST and self._lowest[-1].value <= value:
            return
        turn = None if score.turn is None else conversation.turns[score.turn]
        speaker, text = (turn.speaker, turn.text) if turn else ("", "")
        place = (score.conversation, score.turn, score.metric)
        low = LowScore(*place, value, score.reason, speaker, text)
        self._lowest = sorted([*self._lowest, low], key=lambda low: low.value)[:LOWEST]

    def summary(self) -> MetricSummary:
        """Return the summary of what was added so far."""
        common = {
            status: CommonReason(*reasons.most_common(1)[0])
            for status, reasons in self._reasons.items()
            if reasons
        }
        return MetricSummary(
            self._column.name, self._mean.estimate(), dict(self._counts), tuple(self._lowest),
            self._column.signature, self._failure, common,
        )  # fmt: skip


FLAGGED = {
    "empty": ("is empty and has the lowest score", "are empty and have the lowest score"),
    "thinking_skipped": (
        "contains reasoning; text between <think> and </think> is not judged",
        "contain reasoning; text between <think> and </think> is not judged",
    ),
    "json": ("is a JSON object, judged as text", "are JSON objects, judged as text"),
}
"""Words for one reply with a flag, and for several."""


def notes(summary: Summary) -> Iterator[str]:
    """Yield a line for each default that changed who or what was judged."""
    if alone := summary.assistant_alone:
        where = "" if alone == summary.conversations else f" in {plural(alone, 'conversation')}"
        yield f"only the assistant's turns are judged{where}; --speaker all judges every speaker"
    left_out = ((role, count, True) for role, count in summary.unknown_roles.items())
    answering = ((role, count, False) for role, count in summary.unknown_answering.items())
    for role, count, is_left_out in (*left_out, *answering):
        shown = shortened(role, 40)
        turns = f"{plural(count, 'turn is', 'turns are')} of the role {shown!r}"
        option = f"--speaker {shlex.quote(shown)}"
        if is_left_out:
            yield f"{turns} and not judged: --speaker assistant {option} judges both"
        else:
            known = "which is not a known assistant role: the user is judged too"
            yield f"{turns}, {known}; {option} judges only that role"
    if tools := summary.tool_turns:
        yield plural(
            tools, "tool call or result is not judged", "tool calls and results are not judged"
        )
    for flag, (singular, several) in FLAGGED.items():
        if count := summary.flags.get(flag, 0):
            yield plural(count, f"reply {singular}", f"replies {several}")
