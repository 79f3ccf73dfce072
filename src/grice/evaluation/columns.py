"""One value per rated item: scores, computed once, arranged as the statistics take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from grice.errors import InputError
from grice.evaluation.scores import ScoreLine, read_score_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grice.evaluation.datasets import Item, Rated
    from grice.records import Conversation, Score

__all__ = ["Column", "Reduce", "ScoreTable", "Scores", "read_table", "score_table"]

Reduce: TypeAlias = Literal["mean", "min", "last"]
"""How the scores of single replies become one of their conversation."""

STEP = 256
"""Conversations scored at once: bounds what stands in memory beside the values."""


class Scores(Protocol):
    """Whatever scores conversations, such as :class:`grice.scoring.Grader`."""

    def score(self, talk: Sequence[Conversation]) -> list[Score]:
        """Return the scores of conversations."""
        ...


class Column(NamedTuple):
    """One metric on the items of a rated set.

    Attributes:
        metric: Its name.
        signature: What exactly was computed.
        values: One value per item: the neutral one where the metric abstained, None where it
            failed or no score is there.
        abstained: Items on which it had nothing to judge.
        failed: Items it could not judge.
        missing: Items without a score.
        reduced: How scores of replies became one of a conversation; empty if they are one already.
    """

    metric: str
    signature: str
    values: tuple[float | None, ...]
    abstained: int
    failed: int
    missing: int
    reduced: str = ""


class ScoreTable(NamedTuple):
    """Scores by metric and conversation, as (turn, value, status); with signatures."""

    scores: Mapping[str, Mapping[str, Sequence[ScoreLine]]]
    signatures: Mapping[str, str]

    def column(self, metric: str, rated: Rated, reduce: Reduce = "mean") -> Column:
        """Return a metric's column on the items of a set."""
        by_conversation = self.scores.get(metric, {})
        values: list[float | None] = []
        statuses = []
        reduced = ""
        for item in rated.items:
            lines = _of_targets(by_conversation.get(item.conversation.id, ()), item)
            if len(lines) > 1 or any(line.turn is not None for line in lines):
                reduced = reduce if rated.set.level == "dialogue" else reduced
            value, status = _one(lines, reduce)
            values.append(value)
            statuses.append(status)
        return Column(
            metric,
            self.signatures.get(metric, ""),
            tuple(values),
            statuses.count("abstained"),
            statuses.count("failed"),
            statuses.count("missing"),
            reduced,
        )

    def covers(self, metric: str, rated: Rated) -> int:
        """Return how many items of a set have a score of the metric."""
        found = self.scores.get(metric, {})
        return sum(bool(_of_targets(found.get(item.conversation.id, ()), item))
                   for item in rated.items)  # fmt: skip


def score_table(metrics: Scores, signatures: Mapping[str, str], rated: Rated) -> ScoreTable:
    """Return the scores of loaded metrics on the items of a set."""
    table: dict[str, dict[str, list[ScoreLine]]] = {name: {} for name in signatures}
    conversations = [item.conversation for item in rated.items]
    for start in range(0, len(conversations), STEP):
        _fill(table, map(_line, metrics.score(conversations[start : start + STEP])))
    return ScoreTable(table, signatures)


def read_table(file: str) -> ScoreTable:
    """Return the scores of a file that ``grice score`` wrote.

    Raises:
        InputError: If it cannot be read or holds two versions of one metric.
    """
    table: dict[str, dict[str, list[ScoreLine]]] = {}
    signatures: dict[str, str] = {}
    for number, line in read_score_lines(file):
        if signatures.setdefault(line.metric, line.signature) != line.signature:
            raise InputError(
                f"{file}:{number}: {line.metric} was computed in two ways; give the scores of one "
                f"run\n  above: {signatures[line.metric]}\n  here:  {line.signature}"
            )
        _fill(table, [line])
    return ScoreTable(table, signatures)


def _fill(table: dict[str, dict[str, list[ScoreLine]]], lines: Iterable[ScoreLine]) -> None:
    for line in lines:
        table.setdefault(line.metric, {}).setdefault(line.conversation, []).append(line)


def _line(score: Score) -> ScoreLine:
    return ScoreLine(
        score.conversation, score.turn, score.metric, score.value, score.status, score.signature
    )


def _of_targets(lines: Sequence[ScoreLine], item: Item) -> list[ScoreLine]:
    """Return the scores of the rated reply, or of the judged turns, or of the whole."""
    targets = item.conversation.targets
    return [line for line in lines if line.turn is None or targets is None or line.turn in targets]


def _one(lines: Sequence[ScoreLine], reduce: Reduce) -> tuple[float | None, str]:
    if not lines:
        return None, "missing"
    judged = [line for line in lines if line.value is not None and line.status != "failed"]
    if not judged:
        return None, "failed"
    # The neutral value of an abstained reply counts: the metric found nothing to say of it.
    values = [line.value for line in judged if line.value is not None]
    status = "ok" if any(line.status == "ok" for line in judged) else "abstained"
    if reduce == "min":
        return min(values), status
    if reduce == "last":
        return max(judged, key=lambda line: -1 if line.turn is None else line.turn).value, status
    return sum(values) / len(values), status
