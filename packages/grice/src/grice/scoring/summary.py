"""What a run came to, collected conversation by conversation in constant memory."""

from __future__ import annotations

import heapq
import shlex
from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import asdict

from grice.errors import plural, shortened
from grice.readers.roles import assistant_alone, is_tool_traffic, unknown_roles
from grice.records import Conversation, Score, Status
from grice.scoring.items import FLAGS
from grice.scoring.presets import SMALL
from grice.stats import ClusteredMean
from grice.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from grice.errors import RecordError
    from grice.scoring.loaded import ScoreColumn

LOWEST = 3
REASONS = 20
DIFFERENT = 1000
"""Reasons that are counted, of each metric and status: one may name what differs every time."""


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
    """The reason that most scores of one status give, and how many do."""

    reason: str
    count: int


class MetricSummary(msgspec.Struct, frozen=True):
    """One metric over a run.

    Attributes:
        mean: Mean over the scores of status ``ok``, its interval clustered by conversation; None
            if there are none.
        lowest: The lowest scores of status ``ok``, lowest first.
        failure: Where and why the first score failed; None if none did.
        reasons: The commonest reason of those that abstained, and of those that failed.
    """

    metric: str
    mean: Estimate | None
    counts: dict[Status, int]
    lowest: tuple[LowScore, ...]
    signature: str
    failure: str | None = None
    reasons: dict[Status, CommonReason] = {}

    def record(self) -> dict[str, object]:
        """Return what JSON holds of it: of the mean the value and its bounds."""
        figures = {name: getattr(self.mean, name, None) for name in ("value", "low", "high")}
        given = {"metric": self.metric, "mean": figures.pop("value"), **figures}
        return given | {k: v for k, v in asdict(self).items() if k not in given}


class Sampled(msgspec.Struct, frozen=True):
    """The part of the input that was scored: so many conversations, of so many, by a seed."""

    conversations: int
    of: int
    seed: int


class Summary(msgspec.Struct, frozen=True):
    """A whole run.

    Attributes:
        metrics: One entry per metric, in the order asked for.
        problems: The first of them, as one line each.
        models: The preset that chose models and weights.
        sample: The part of the input that was drawn; None if all of it was scored.
        assistant_alone: Conversations of which only the assistant's turns were judged, since
            roles or speakers' names say who that is and nobody was asked for.
        unknown_roles: Turns that were left out beside an assistant's, by a role that is neither a
            user's nor a tool's: it may be another spelling of the assistant's.
        unknown_answering: Turns that were judged beside a user's, which are judged too, by such a
            role.
        tool_turns: Calls of tools and their answers, which are no replies.
        flags: Judged replies by what was noticed reading them: see ``grice.scoring.items``.
    """

    conversations: int
    turns: int
    metrics: tuple[MetricSummary, ...]
    skipped: int
    problems: tuple[str, ...]
    models: str = SMALL
    sample: Sampled | None = None
    assistant_alone: int = 0
    unknown_roles: dict[str, int] = {}
    unknown_answering: dict[str, int] = {}
    tool_turns: int = 0
    flags: dict[str, int] = {}

    @property
    def failed(self) -> int:
        """Number of scores with status ``failed``."""
        return sum(metric.counts.get("failed", 0) for metric in self.metrics)

    def record(self) -> dict[str, object]:
        """Return what JSON holds of the run."""
        return asdict(self) | {"metrics": [metric.record() for metric in self.metrics]}

    @property
    def scores(self) -> int:
        """Number of scores, whatever their status."""
        return sum(sum(metric.counts.values()) for metric in self.metrics)


class SummaryBuilder:
    """Collects scores and gives a :class:`Summary` at any time."""

    def __init__(
        self, columns: Sequence[ScoreColumn], preset: str = SMALL, speakers: Collection[str] = ()
    ) -> None:
        self._columns = columns
        self._speakers = speakers
        self._preset = preset
        self._means = {column.name: ClusteredMean((column.low, column.high)) for column in columns}
        self._counts: dict[str, Counter[Status]] = {column.name: Counter() for column in columns}
        self._lowest: dict[str, list[tuple[float, int, LowScore]]] = {
            column.name: [] for column in columns
        }
        self._failures: dict[str, str] = {}
        self._reasons: dict[tuple[str, Status], Counter[str]] = {}
        self._conversations = 0
        self._turns = 0
        self._assistant_alone = 0
        self._unknown_roles: Counter[str] = Counter()
        self._unknown_answering: Counter[str] = Counter()
        self._tool_turns = 0
        self._flags: Counter[str] = Counter()
        self._skipped = 0
        self._problems: list[str] = []

    def add(self, conversation: Conversation, scores: Sequence[Score]) -> None:
        """Add one conversation with all its scores."""
        self._conversations += 1
        self._turns += len(conversation.turns)
        if assistant_alone(conversation, self._speakers):
            self._assistant_alone += 1
            self._unknown_roles.update(unknown_roles(conversation))
        elif not self._speakers and conversation.targets is None:
            self._unknown_answering.update(unknown_roles(conversation))
        self._tool_turns += sum(map(is_tool_traffic, conversation.turns))
        self._flags.update(_flags(scores))
        values: dict[str, list[float]] = {name: [] for name in self._means}
        for score in scores:
            self._counts[score.metric][score.status] += 1
            if score.status == "ok" and score.value is not None:
                values[score.metric].append(score.value)
                self._offer(conversation, score, score.value)
            else:
                self._count_reason(score)
        for name, mean in self._means.items():
            mean.add(values[name])

    def _count_reason(self, score: Score) -> None:
        if score.status == "failed":
            turn = "" if score.turn is None else f" #{score.turn}"
            failure = f"{score.conversation}{turn}: {score.reason}"
            self._failures.setdefault(score.metric, failure)
        reasons = self._reasons.setdefault((score.metric, score.status), Counter())
        if score.reason and (score.reason in reasons or len(reasons) < DIFFERENT):
            reasons[score.reason] += 1

    def skip(self, error: RecordError) -> None:
        """Count a record that could not be read."""
        self._skipped += 1
        if len(self._problems) < REASONS:
            self._problems.append(str(error))

    def summary(self) -> Summary:
        """Return what has come together so far."""
        return Summary(
            self._conversations,
            self._turns,
            tuple(map(self._metric, self._columns)),
            self._skipped,
            tuple(self._problems),
            self._preset,
            assistant_alone=self._assistant_alone,
            unknown_roles=dict(self._unknown_roles.most_common(REASONS)),
            unknown_answering=dict(self._unknown_answering.most_common(REASONS)),
            tool_turns=self._tool_turns,
            flags=dict(self._flags),
        )

    def _metric(self, column: ScoreColumn) -> MetricSummary:
        name = column.name
        ordered = sorted(self._lowest[name], key=lambda entry: (-entry[0], -entry[1]))
        return MetricSummary(
            name,
            self._means[name].estimate(),
            dict(self._counts[name]),
            tuple(entry[2] for entry in ordered),
            column.signature,
            self._failures.get(name),
            {
                status: CommonReason(*reasons.most_common(1)[0])
                for (metric, status), reasons in self._reasons.items()
                if metric == name and reasons
            },
        )

    def _offer(self, conversation: Conversation, score: Score, value: float) -> None:
        heap = self._lowest[score.metric]
        if len(heap) == LOWEST and -heap[0][0] <= value:
            return
        turn = None if score.turn is None else conversation.turns[score.turn]
        low = LowScore(
            score.conversation,
            score.turn,
            score.metric,
            value,
            score.reason,
            turn.speaker if turn else "",
            turn.text if turn else "",
        )
        # The count breaks ties: of equal scores the earlier one stays.
        entry = (-value, -self._counts[score.metric].total(), low)
        (heapq.heappush if len(heap) < LOWEST else heapq.heappushpop)(heap, entry)


def _flags(scores: Sequence[Score]) -> Iterator[str]:
    """Yield the flags of each judged reply once, whatever the number of metrics."""
    marked = {(score.turn, flag) for score in scores for flag in score.flags if flag in FLAGS}
    return (flag for turn, flag in marked if turn is not None)


FLAGGED = {
    "empty": ("is empty and has the lowest score", "are empty and have the lowest score"),
    "thinking_skipped": (
        "thinks aloud; what stands between <think> and </think> is not judged",
        "think aloud; what stands between <think> and </think> is not judged",
    ),
    "json": ("is a JSON object, judged as it stands", "are JSON objects, judged as they stand"),
}
"""What is said of one reply with a flag, and of several."""


def notes(summary: Summary) -> Iterator[str]:
    """Yield a line for everything that was judged in another way than a reader would think."""
    if alone := summary.assistant_alone:
        where = "" if alone == summary.conversations else f" in {plural(alone, 'conversation')}"
        yield f"only the assistant's turns are judged{where}; --speaker all judges everybody"
    for role, count in summary.unknown_roles.items():
        turns = plural(count, "turn is", "turns are")
        yield (
            f"{turns} of the role {shortened(role, 40)!r} and not judged: --speaker assistant "
            f"--speaker {shlex.quote(shortened(role, 40))} judges both"
        )
    for role, count in summary.unknown_answering.items():
        turns = plural(count, "turn is", "turns are")
        yield (
            f"{turns} of the role {shortened(role, 40)!r}, which is not known as an assistant's: "
            f"the user is judged too; --speaker {shlex.quote(shortened(role, 40))} judges it alone"
        )
    if tools := summary.tool_turns:
        yield plural(
            tools, "tool call or result is not judged", "tool calls and results are not judged"
        )
    for flag, (singular, several) in FLAGGED.items():
        if count := summary.flags.get(flag, 0):
            yield plural(count, f"reply {singular}", f"replies {several}")
