"""Scores as one table: items down, metrics across, whether they were read or just computed.

Conversations are numbered once for all files that are evaluated together, so that an item is one
integer and joining two files is joining two sorted columns: 17 bytes per score, whatever
the order of the lines.
"""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from grice.errors import InputError, MetricError, RecordError, did_you_mean, plural
from grice.evaluation.datasets import FIELDS, RATER, odd_text, ratings_of, understood
from grice.evaluation.scores import ScoreLine, any_rows, read_score_lines
from grice.progress import track
from grice.records import Status
from grice.stats.estimate import FEW
from grice.stats.inputs import Floats, Integers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from grice.evaluation.datasets import Item, Rated
    from grice.records import Conversation, Json, Score
    from grice.stats.clusters import Bounds


STATUSES: tuple[Status, ...] = ("ok", "abstained", "failed")
OK = STATUSES.index("ok")
TURN_BITS = 32
"""Bits of an item's number that hold its turn."""
STEP = 64
"""Conversations scored at once: bounds what stands in memory beside the values."""

Reduce: TypeAlias = Literal["mean", "min", "last"]
"""How the scores of single replies become one of their conversation."""


class Scores(Protocol):
    """A scorer of conversations, such as :class:`grice.scoring.Grader`."""

    def score(self, talk: Sequence[Conversation]) -> list[Score]:
        """Return the scores of conversations."""
        ...


class Ids:
    """Numbers conversations in the order they are met."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, conversation: str) -> int:
        """Return the number of a conversation, a new one if it was not met before."""
        return self.numbers.setdefault(conversation, len(self.numbers))

    def item(self, conversation: str, turn: int | None) -> int:
        """Return the number of an item."""
        return (self.number(conversation) << TURN_BITS) + (0 if turn is None else turn + 1)

    def names(self) -> list[str]:
        """Return the conversations by their numbers."""
        return list(self.numbers)

    def describe(self, item: int) -> str:
        """Return an item in words."""
        name = self.names()[item >> TURN_BITS]
        turn = item & ((1 << TURN_BITS) - 1)
        return f"conversation {name!r}" + (f", turn {turn - 1}" if turn else "")


class Column(NamedTuple):
    """One metric on the items of a rated set.

    Attributes:
        values: One value per item: the neutral one where the metric abstained, None where it
            failed or no score is there.
        reduced: How scores of replies became one of a conversation; empty if they are one already.
    """

    metric: str
    signature: str
    values: tuple[float | None, ...]
    abstained: int
    failed: int
    missing: int
    reduced: str = ""


class MetricScores(NamedTuple):
    """The scores of one metric, sorted by item.

    Attributes:
        items: Numbers of the items, rising.
        given: The values as they stand: the neutral one where the metric abstained, NaN where it
            failed.
        statuses: Index of each status in :data:`STATUSES`.
        signatures: Every signature that occurs.
    """

    items: Integers
    given: Floats
    statuses: NDArray[np.int8]
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

    def of(self, conversation: int, targets: Sequence[int] | None = None) -> MetricScores:
        """Return the scores of a conversation, of its target turns where those are named."""
        start, end = np.searchsorted(
            self.items, (conversation << TURN_BITS, (conversation + 1) << TURN_BITS)
        )
        rows = slice(start, end)
        items, given, statuses = self.items[rows], self.given[rows], self.statuses[rows]
        part = MetricScores(items, given, statuses, self.signatures)
        if targets is None:
            return part
        kept = np.isin(part.turns, (-1, *targets))
        return MetricScores(items[kept], given[kept], statuses[kept], self.signatures)


class ScoreTable(NamedTuple):
    """Scores by item and metric."""

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
        """Return what exactly was computed for a metric."""
        signatures = self.metrics[metric].signatures
        if len(signatures) > 1:
            raise InputError(
                f"{self.source}: {metric} was computed in {len(signatures)} ways; give scores of "
                f"one run: {'; '.join(signatures)}"
            )
        return signatures[0]

    def check_unique(self) -> ScoreTable:
        """Return the table itself."""
        for name, scores in self.metrics.items():
            twice = np.flatnonzero(scores.items[1:] == scores.items[:-1])
            if len(twice):
                item = self.ids.describe(int(scores.items[twice[0]]))
                raise InputError(
                    f"{self.source}: {name} scores {item} more than once; give scores of one run "
                    "over one input (score inputs with the same ids each alone)"
                )
        return self

    def column(self, metric: str, rated: Rated, reduce: Reduce = "mean") -> Column:
        """Return a metric's column on the items of a rated set."""
        parts = [self._on(metric, item) for item in rated.items]
        reduced = rated.set.level == "dialogue" and any(
            len(part.items) > 1 or (part.turns >= 0).any() for part in parts
        )
        values, statuses = zip(*(_reduced(part, reduce) for part in parts), strict=True)
        return Column(
            metric,
            self.signature(metric) if metric in self.metrics else "",
            values,
            statuses.count("abstained"),
            statuses.count("failed"),
            statuses.count("missing"),
            reduce if reduced else "",
        )

    def covers(self, metric: str, rated: Rated) -> bool:
        """Return whether an item of a set has a score of the metric."""
        return any(len(self._on(metric, item).items) for item in rated.items)

    def _on(self, metric: str, item: Item) -> MetricScores:
        """Return the scores of the rated reply, or of the judged turns, or of the whole."""
        number = self.ids.numbers.get(item.conversation.id, -1)
        return self.metrics.get(metric, NOTHING).of(number, item.conversation.targets)


def _reduced(part: MetricScores, reduce: Reduce) -> tuple[float | None, str]:
    """Return the value of an item and its status."""
    if not len(part.items):
        return None, "missing"
    # The neutral value of an abstained reply counts: the metric found nothing to say of it.
    judged = ~np.isnan(part.given)
    if not judged.any():
        return None, "failed"
    values: list[float] = part.given[judged].tolist()
    status = "ok" if (part.statuses[judged] == OK).any() else "abstained"
    if reduce == "min":
        return min(values), status
    if reduce == "last":
        return values[int(np.argmax(part.turns[judged]))], status
    return sum(values) / len(values), status


class _Rows:
    """The scores of one metric while they come in."""

    def __init__(self) -> None:
        self.items = array("q")
        self.values = array("d")
        self.statuses = array("b")
        self.signatures: dict[str, None] = {}

    def sorted(self) -> MetricScores:
        items = np.array(self.items, np.int64)
        order = np.argsort(items, kind="stable")
        return MetricScores(
            items[order],
            np.array(self.values, np.float64)[order],
            np.array(self.statuses, np.int8)[order],
            tuple(self.signatures),
        )


NOTHING = _Rows().sorted()
"""The scores of a metric that is not there."""


def _table(
    lines: Iterable[ScoreLine | Score], source: str, ids: Ids, names: Iterable[str] = ()
) -> ScoreTable:
    rows = {name: _Rows() for name in names}
    for line in lines:
        row = rows.setdefault(line.metric, _Rows())
        row.items.append(ids.item(line.conversation, line.turn))
        value = line.value if line.status != "failed" else None
        row.values.append(float("nan") if value is None else value)
        row.statuses.append(STATUSES.index(line.status))
        row.signatures[line.signature] = None
    return ScoreTable(source, ids, {name: row.sorted() for name, row in rows.items()})


def read_table(file: str, ids: Ids | None = None) -> ScoreTable:
    """Return what ``grice score`` wrote."""
    lines = (line for _, line in read_score_lines(file))
    return _table(lines, file, Ids() if ids is None else ids)


def score_table(metrics: Scores, signatures: Mapping[str, str], rated: Rated) -> ScoreTable:
    """Return the scores of loaded metrics on the items of a set."""
    conversations = [item.conversation for item in rated.items]
    starts = range(0, len(conversations), STEP)
    windows = (conversations[start : start + STEP] for start in starts)
    parts = track(windows, "conversations", len(conversations), len)
    scores = (score for talks in parts for score in metrics.score(talks))
    table = _table(scores, "", Ids(), signatures)
    stated = {
        name: scores._replace(signatures=(signatures.get(name, ""),))
        for name, scores in table.metrics.items()
    }
    return table._replace(metrics=stated)


def metric_range(name: str, signature: str, *columns: Floats) -> Bounds | None:
    """Return the least and the greatest value of a metric, or of a blend of metrics.

    None if a metric is not installed here, or if a column has values of another scale.
    """
    from grice.metrics.registry import find_metrics
    from grice.scoring.blended import written_column

    try:
        column = written_column(name, signature, find_metrics())
    except MetricError:
        return None
    inside = all(((column.low <= values) & (values <= column.high)).all() for values in columns)
    return (column.low, column.high) if inside else None


Unit: TypeAlias = Literal["turn", "conversation"]
"""The rated unit: single turns, or whole conversations."""

NEAR = 1000
"""How many ids are looked through for one that is nearly the unknown one."""


CONVERSATION, TURN = ("conversation", "conversation_id", "id"), ("turn", "turn_index")

Label: TypeAlias = tuple[str, int | None, tuple[float, ...]]
"""Conversation, turn and ratings of a line of labels, one rating per judge."""
LABEL = "a rating with conversation, rating and, of a single reply, turn"
"""A line of labels in words, for messages."""


class JoinedScores(NamedTuple):
    """One metric over all items of a file of scores.

    Attributes:
        values: Its value; NaN unless ``ok``. Of a conversation, the mean over its replies.
        given: Its value, the neutral one where it abstained; NaN where it failed.
    """

    values: Floats
    given: Floats
    signature: str


class Aligned(NamedTuple):
    """Ratings and scores over the same items.

    Attributes:
        items: Number of every item of the file of scores, rising.
        ratings: Mean rating of each; NaN where nobody rated it.
    """

    unit: Unit
    ids: Ids
    items: Integers
    ratings: Floats
    columns: dict[str, JoinedScores]
    remarks: tuple[str, ...]

    @property
    def conversations(self) -> Integers:
        """Number of the conversation of each item."""
        return self.items >> TURN_BITS

    def groups(self, places: Integers) -> list[int] | None:
        """Return the conversation of some items; None if each item is one of its own."""
        if self.unit == "conversation":
            return None
        return [int(number) for number in self.conversations[places]]

    @property
    def rated(self) -> Integers:
        """Places of the rated items."""
        return np.flatnonzero(~np.isnan(self.ratings))


def align(labels: str, scores: str, metrics: Sequence[str] = ()) -> Aligned:
    """Join a file of ratings with a file that ``grice score`` wrote."""
    ids = Ids()
    table = read_table(scores, ids).check_unique()
    unit, rated, numbers = _read_labels(labels, ids)
    wanted = {name: table.named(name) for name in metrics} if metrics else table.metrics
    numbered = np.unique(np.concatenate([_numbers(each, unit) for each in wanted.values()]))
    items = np.asarray(numbered[numbered >= 0], np.int64)
    columns, remarks = {}, []
    for name, metric_scores in wanted.items():
        table.signature(name)
        if unit == "turn" and not (metric_scores.turns >= 0).any():
            remarks.append(f"{name} scores whole conversations, turns were rated: left out")
        else:
            numbers_of = _numbers(metric_scores, unit)
            kept = numbers_of >= 0
            places = np.searchsorted(items, numbers_of[kept])
            columns[name] = JoinedScores(
                _means(places, metric_scores.values[kept], len(items)),
                _means(places, metric_scores.given[kept], len(items)),
                metric_scores.signatures[0],
            )
    if not columns:
        raise InputError(f"{scores}: no metric scores single turns, which {labels} rates")
    for item, number in numbers.items():
        place = np.searchsorted(items, item)
        if place == len(items) or items[place] != item:
            raise RecordError(
                f"{scores} has no score of {ids.describe(item)}; turns are "
                "counted from 0, and it holds only turns that were judged",
                file=labels,
                line=number,
                field=unit,
            )
    missing = sum(not values for values in rated.values())
    if missing:
        remarks.append(
            f"{plural(missing, 'item')} of {labels} without a rating: taken as not rated"
        )
    ratings = np.full(len(items), np.nan)
    for item, values in rated.items():
        if values:
            ratings[np.searchsorted(items, item)] = sum(values) / len(values)
    there = ratings[~np.isnan(ratings)]
    if len(there) < FEW:
        few = plural(len(there), "item is rated", "items are rated")
        raise InputError(
            f"{labels}: {few}; at least {FEW} are needed, and "
            "with fewer than 30 an interval is wide"
        )
    if np.ptp(there) == 0:
        raise InputError(
            f"{labels}: every rating is {there[0]:g}; nothing can be learned from ratings that "
            "never change"
        )
    return Aligned(unit, ids, items, ratings, columns, tuple(remarks))


def _read_labels(file: str, ids: Ids) -> tuple[Unit, dict[int, list[float]], dict[int, int]]:
    """Return what was rated, the ratings of each item, and the line that first names it."""
    rated: dict[int, list[float]] = {}
    numbers: dict[int, int] = {}
    units: dict[Unit, int] = {}
    known = len(ids.numbers)
    for number, fields in any_rows(file, LABEL):
        conversation, turn, ratings = _label(fields, file, number)
        if turn is not None and turn < 0:
            raise RecordError("a turn is counted from 0", file=file, line=number, field="turn")
        unit: Unit = "conversation" if turn is None else "turn"
        unlike = "turn" if turn is None else "conversation"
        units.setdefault(unit, number)
        if len(units) > 1:
            raise RecordError(
                f"line {min(units.values())} rates a {unlike}, this one a {unit}; give them in two "
                "files",
                file=file,
                line=number,
                field="turn",
            )
        if ids.number(conversation) >= known:
            near = did_you_mean(conversation, list(ids.numbers)[: min(known, NEAR)])
            raise RecordError(
                f"there is no score of conversation {conversation!r}"
                f"{near if near.startswith('; did') else ''}; score the conversations that were "
                "rated, or drop this label",
                file=file,
                line=number,
                field="conversation",
            )
        item = ids.item(conversation, turn)
        numbers.setdefault(item, number)
        rated.setdefault(item, []).extend(ratings)
    return next(iter(units)), rated, numbers


def _label(fields: Mapping[str, Json], file: str, line: int) -> Label:

    def refuse(problem: str, field: str) -> RecordError:
        return RecordError(f"{problem}; {LABEL} is expected", file=file, line=line, field=field)

    conversation = next((fields[name] for name in CONVERSATION if name in fields), None)
    if isinstance(conversation, bool) or not isinstance(conversation, str | int):
        raise refuse(f"missing or no text; found {', '.join(fields) or 'no field'}", "conversation")
    turn = next((fields[name] for name in TURN if name in fields), None)
    if isinstance(turn, str) and re.fullmatch(r"\s*-?\d+\s*", turn):
        turn = int(turn)
    if turn == "":
        turn = None
    if isinstance(turn, bool) or not isinstance(turn, int | None):
        raise refuse(f"expected a whole number, found {turn!r}", "turn")
    ratings = ratings_of(fields)
    for name, value in fields.items():
        is_rating = name.strip().casefold() in FIELDS or RATER.fullmatch(name.strip())
        if is_rating and (odd := odd_text(value)) is not None:
            raise refuse(f"expected a number, found {odd!r}", name)
    if len(ratings) > 1:
        raise refuse(f"one rating is expected, found {', '.join(ratings)}", "ratings")
    if not ratings and not any(name.strip().casefold() in FIELDS for name in fields):
        raise refuse(understood(fields), "rating")
    [given] = ratings.values() or [()]
    return str(conversation), turn, tuple(value for value in given if value is not None)


def _numbers(scores: MetricScores, unit: Unit) -> Integers:
    """Return the item that each score counts for; -1 for one that counts for none."""
    if unit == "conversation":
        return scores.conversations << TURN_BITS
    return np.where(scores.turns >= 0, scores.items, -1)


def _means(places: Integers, column: Floats, n: int) -> Floats:
    there = ~np.isnan(column)
    counts = np.bincount(places[there], minlength=n)
    sums = np.bincount(places[there], column[there], minlength=n)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
