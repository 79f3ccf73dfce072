"""One long table of scores: conversation, turn, name, value, status.

Conversation and turn of a row are encoded as one integer, so that a join of two columns is a join
of two sorted arrays; a row takes 17 bytes.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from grice.data import Conversation, Score, Status
from grice.errors import InputError, MetricError, did_you_mean
from grice.evaluation.scores import ScoreLine, read_score_lines
from grice.progress import track
from grice.stats.inputs import Floats, Integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grice.evaluation.datasets import Rated
    from grice.scoring.api import Grader
    from grice.stats.estimate import Bounds

STATUSES: tuple[Status, ...] = ("ok", "abstained", "failed")
OK, ABSTAINED, FAILED = range(3)
TURN_BITS = 32  # of an item's number
STEP = 64  # conversations per batch
FINDING = "finding:"  # beginning of the signature of the rate of findings of a rule
Unit: TypeAlias = Literal["turn", "conversation"]
"""The rated unit: single turns, or whole conversations."""


class Ids:
    """Numbers of conversations, shared by the tables that are joined."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def item(self, conversation: str, turn: int | None) -> int:
        """Return the number of an item; an unknown conversation gets the next number."""
        number = self.numbers.setdefault(conversation, len(self.numbers))
        return (number << TURN_BITS) + (0 if turn is None else turn + 1)

    def of_file(self) -> Callable[[ScoreLine | Score, object], int]:
        """Return a function that numbers the items of one score file by score and input.

        A conversation with the id of one in an earlier input is named with its input.
        """
        inputs: dict[str, object] = {}

        def item(score: ScoreLine | Score, file: object) -> int:
            name = score.conversation
            known = file is None or inputs.setdefault(name, file) == file
            return self.item(name if known else f"{name} ({file})", score.turn)

        return item

    def names(self) -> list[str]:
        """Return the conversations by their numbers."""
        return list(self.numbers)

    def describe(self, item: int) -> str:
        """Return an item in words."""
        name, turn = self.names()[item >> TURN_BITS], turn_of(item)
        return f"conversation {name!r}" + ("" if turn is None else f", turn {turn}")


def turn_of(item: int) -> int | None:
    """Return the turn of an item; None for a whole conversation."""
    turn = item & ((1 << TURN_BITS) - 1)
    return turn - 1 if turn else None


class Column(NamedTuple):
    """One metric on the items of a rated set."""

    metric: str
    signature: str
    values: tuple[float | None, ...]  # one per item: neutral if it abstained, None if it failed
    abstained: int
    failed: int
    missing: int


class MetricScores(NamedTuple):
    """The rows of one metric, sorted by item, with every signature that occurs."""

    items: Integers
    given: Floats  # the value: neutral where the metric abstained, NaN where it failed
    statuses: NDArray[np.int8]  # indices in :data:`STATUSES`; -1 where there is no score
    signatures: tuple[str, ...]

    @property
    def values(self) -> Floats:
        """The values of status ``ok``; NaN for all others."""
        return np.where(self.statuses == OK, self.given, np.nan)

    @property
    def conversations(self) -> Integers:
        """Number of the conversation of each item."""
        return self.items >> TURN_BITS

    @property
    def turns(self) -> Integers:
        """Turn of each item; -1 for a whole conversation."""
        return (self.items & ((1 << TURN_BITS) - 1)) - 1

    @property
    def counts(self) -> dict[Status, int]:
        """Number of scores of each status."""
        counts = np.bincount(self.statuses, minlength=len(STATUSES)).tolist()
        return dict(zip(STATUSES, counts, strict=True))

    def at(self, rows: slice | NDArray[np.bool_]) -> MetricScores:
        """Return some of the rows."""
        columns = self.items[rows], self.given[rows], self.statuses[rows]
        return MetricScores(*columns, self.signatures)

    def on(self, items: Integers) -> MetricScores:
        """Return the rows of other sorted items, which include those here."""
        places = np.searchsorted(items, self.items)
        given, statuses = np.full(len(items), np.nan), np.full(len(items), -1, np.int8)
        given[places], statuses[places] = self.given, self.statuses
        return MetricScores(items, given, statuses, self.signatures)

    def per_unit(self, unit: Unit) -> MetricScores:
        """Return the scores of single turns, or one score per conversation.

        That is the mean of its scores with status ``ok``, else of the neutral values of those
        that abstained, and failed if a score failed and none is ``ok``.
        """
        if unit == "turn":
            return self.at(self.turns >= 0)
        numbers, codes = np.unique(self.conversations, return_inverse=True)
        ok, failed = (np.bincount(codes, self.statuses == s) > 0 for s in (OK, FAILED))
        statuses = np.select([ok, failed], [OK, FAILED], ABSTAINED).astype(np.int8)
        given = np.where(ok, _means(codes, self.values), _means(codes, self.given))
        return MetricScores(numbers << TURN_BITS, given, statuses, self.signatures)


def _means(codes: Integers, column: Floats) -> Floats:
    """Return the mean of each group without NaN; NaN for empty groups."""
    there = ~np.isnan(column)
    n = int(codes.max(initial=-1)) + 1
    counts = np.bincount(codes[there], minlength=n)
    sums = np.bincount(codes[there], column[there], minlength=n)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


class ScoreTable(NamedTuple):
    """Scores by metric and item."""

    source: str
    ids: Ids
    metrics: dict[str, MetricScores]

    def named(self, metric: str) -> MetricScores:
        """Return the scores of one metric."""
        if metric not in self.metrics:
            near = did_you_mean(metric, self.metrics)
            raise InputError(f"{self.source}: no scores of metric {metric!r}{near}")
        return self.metrics[metric]

    def signature(self, metric: str) -> str:
        """Return the one signature of a metric."""
        signatures = self.metrics[metric].signatures
        if len(signatures) > 1:
            raise InputError(
                f"{self.source}: {metric} was computed in {len(signatures)} ways; give scores of "
                f"one run: {'; '.join(signatures)}"
            )
        return signatures[0]

    def column(self, metric: str, rated: Rated) -> Column:
        """Return a metric's column on the items of a rated set.

        Of the rated reply, of the judged turns, or of the whole conversation; several scores of an
        item are averaged, neutral values of abstained replies included.
        """
        values: list[float | None] = []
        counts = Counter[str]()
        scores = self.metrics[metric]
        for item in rated.items:
            number = self.ids.numbers.get(item.conversation.id, -1)
            ends = np.searchsorted(scores.items, (number << TURN_BITS, (number + 1) << TURN_BITS))
            part, targets = scores.at(slice(*ends)), item.conversation.targets
            if targets is not None:
                part = part.at(np.isin(part.turns, (-1, *targets)))
            judged = ~np.isnan(part.given)
            given: list[float] = part.given[judged].tolist()
            values.append(sum(given) / len(given) if given else None)
            if not given:
                counts["failed" if len(part.items) else "missing"] += 1
            elif not (part.statuses[judged] == OK).any():
                counts["abstained"] += 1
        totals = counts["abstained"], counts["failed"], counts["missing"]
        return Column(metric, self.signature(metric), tuple(values), *totals)

    def conversation_means(self, metric: str) -> dict[str, float]:
        """Return the mean value of each conversation, neutral values included."""
        names, scores = self.ids.names(), self.metrics[metric]
        numbers, codes = np.unique(scores.conversations, return_inverse=True)
        means = zip(numbers.tolist(), _means(codes, scores.given).tolist(), strict=True)
        return {names[number]: mean for number, mean in means if not math.isnan(mean)}


class _Rows:
    """Growing columns of one metric."""

    def __init__(self, *signatures: str) -> None:
        self.items, self.values, self.statuses = array("q"), array("d"), array("b")
        self.signatures = dict.fromkeys(signatures)

    def sorted(self) -> MetricScores:
        items = np.array(self.items, np.int64)
        order = np.argsort(items, kind="stable")
        values, statuses = np.array(self.values), np.array(self.statuses, np.int8)
        return MetricScores(items[order], values[order], statuses[order], tuple(self.signatures))


def _table(
    lines: Iterable[tuple[ScoreLine | Score, object]],
    source: str,
    ids: Ids,
    signatures: Mapping[str, str],
) -> ScoreTable:
    """Return the table of scores, each with the file of its conversation."""
    rows = {name: _Rows(signature) for name, signature in signatures.items()}
    item = ids.of_file()
    for line, file in lines:
        row = rows.setdefault(line.metric, _Rows())
        row.items.append(item(line, file))
        value = line.value if line.status != "failed" else None
        row.values.append(float("nan") if value is None else value)
        row.statuses.append(STATUSES.index(line.status))
        row.signatures.setdefault(signatures.get(line.metric, line.signature))
    return ScoreTable(source, ids, {name: row.sorted() for name, row in rows.items()})


def read_table(file: str, ids: Ids | None = None) -> ScoreTable:
    """Return the table of a score file, each item once per metric."""
    lines = ((line, line.meta.file) for _, line in read_score_lines(file))
    table = _table(lines, file, ids or Ids(), {})
    for name, scores in table.metrics.items():
        twice = np.flatnonzero(scores.items[1:] == scores.items[:-1])
        if len(twice):
            item = table.ids.describe(int(scores.items[twice[0]]))
            raise InputError(
                f"{file}: {name} scores {item} more than once; give scores of one run "
                "over one input (score inputs with the same ids separately)"
            )
    return table


def table_of(scores: Iterable[Score], signatures: Mapping[str, str] = {}) -> ScoreTable:
    """Return the table of scores in memory; metrics with a signature have it, and maybe no row."""
    lines = ((score, score.meta.get("file")) for score in scores)
    return _table(lines, "the scores", Ids(), signatures)


def score_table(
    metrics: Grader, signatures: Mapping[str, str], conversations: Sequence[Conversation]
) -> ScoreTable:
    """Return the scores of loaded metrics on conversations."""
    windows = [conversations[i : i + STEP] for i in range(0, len(conversations), STEP)]
    parts = track(windows, "conversations", len(conversations), len)
    return table_of((score for talks in parts for score in metrics.score(talks)), signatures)


def metric_range(name: str, signature: str, *columns: Floats) -> Bounds | None:
    """Return the range of values of a metric or blend.

    None if a metric is not installed here, or if a column has values of another scale.
    """
    if signature.startswith(FINDING):
        return 0.0, 1.0
    from grice.metrics.declaration import find_metrics
    from grice.scoring.blended import written_column

    try:
        column = written_column(name, signature, find_metrics())
    except MetricError:
        return None
    inside = all(((column.low <= values) & (values <= column.high)).all() for values in columns)
    return (column.low, column.high) if inside else None
