"""Ratings of people, joined with scores of the same replies or conversations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from grice.errors import InputError, RecordError, did_you_mean, plural
from grice.evaluation.datasets import FIELDS, RATER, odd_text, ratings_of, understood
from grice.evaluation.scores import read_rows, read_table_rows
from grice.evaluation.table import TURN_BITS, Ids, MetricScores, ScoreTable, read_table
from grice.stats.estimate import FEW
from grice.stats.inputs import Floats, Integers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grice.records import Json

Unit: TypeAlias = Literal["turn", "conversation"]
"""What was rated: single turns, or whole conversations."""

NEAR = 1000
"""How many ids are looked through for one that is nearly the unknown one."""


CONVERSATION, TURN = ("conversation", "conversation_id", "id"), ("turn", "turn_index")
TABLES = (".csv", ".tsv")

LABEL = "a rating with conversation, rating and, of a single reply, turn"
"""What a line of labels is, for messages."""


class Label(NamedTuple):
    """One line of a file of labels; an item may have several, one per judge."""

    conversation: str
    turn: int | None
    ratings: tuple[float, ...]


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
    items = _items(wanted.values(), unit)
    columns, remarks = {}, []
    for name, metric_scores in wanted.items():
        table.signature(name)
        if unit == "turn" and not (metric_scores.turns >= 0).any():
            remarks.append(f"{name} scores whole conversations, turns were rated: left out")
        else:
            columns[name] = _joined(metric_scores, unit, items)
    if not columns:
        raise InputError(f"{scores}: no metric scores single turns, which {labels} rates")
    _check_known(labels, table, unit, items, numbers)
    missing = sum(not values for values in rated.values())
    if missing:
        remarks.append(
            f"{plural(missing, 'item')} of {labels} without a rating: taken as not rated"
        )
    ratings = np.full(len(items), np.nan)
    for item, values in rated.items():
        if values:
            ratings[np.searchsorted(items, item)] = sum(values) / len(values)
    _check_ratings(labels, ratings)
    return Aligned(unit, ids, items, ratings, columns, tuple(remarks))


def _read_labels(file: str, ids: Ids) -> tuple[Unit, dict[int, list[float]], dict[int, int]]:
    """Return what was rated, the ratings of each item, and the line that first names it."""
    rated: dict[int, list[float]] = {}
    numbers: dict[int, int] = {}
    units: dict[Unit, int] = {}
    known = len(ids.numbers)
    for number, label in _labels(file):
        if label.turn is not None and label.turn < 0:
            raise RecordError("a turn is counted from 0", file=file, line=number, field="turn")
        units.setdefault("conversation" if label.turn is None else "turn", number)
        if len(units) > 1:
            raise RecordError(
                f"line {min(units.values())} rates a "
                f"{'conversation' if label.turn is not None else 'turn'}, this one a "
                f"{'turn' if label.turn is not None else 'conversation'}; give them in two files",
                file=file,
                line=number,
                field="turn",
            )
        if ids.number(label.conversation) >= known:
            near = did_you_mean(label.conversation, list(ids.numbers)[: min(known, NEAR)])
            raise RecordError(
                f"there is no score of conversation {label.conversation!r}"
                f"{near if near.startswith('; did') else ''}; score the conversations that were "
                "rated, or drop this label",
                file=file,
                line=number,
                field="conversation",
            )
        item = ids.item(label.conversation, label.turn)
        numbers.setdefault(item, number)
        rated.setdefault(item, []).extend(label.ratings)
    return next(iter(units)), rated, numbers


def _labels(file: str) -> Iterator[tuple[int, Label]]:
    """Yield the labels of JSON lines, or of a table with a header, with their lines."""
    is_table = Path(file.removesuffix(".gz")).suffix.lower() in TABLES
    for number, fields in read_table_rows(file) if is_table else read_rows(file, dict, LABEL):
        yield number, _label(fields, file, number)


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
    return Label(str(conversation), turn, tuple(value for value in given if value is not None))


def _numbers(scores: MetricScores, unit: Unit) -> Integers:
    """Return the item that each score counts for; -1 for one that counts for none."""
    if unit == "conversation":
        return scores.conversations << TURN_BITS
    return np.where(scores.turns >= 0, scores.items, -1)


def _items(metrics: Iterable[MetricScores], unit: Unit) -> Integers:
    numbers = np.unique(np.concatenate([_numbers(scores, unit) for scores in metrics]))
    return np.asarray(numbers[numbers >= 0], np.int64)


def _joined(scores: MetricScores, unit: Unit, items: Integers) -> JoinedScores:
    numbers = _numbers(scores, unit)
    kept = numbers >= 0
    places = np.searchsorted(items, numbers[kept])
    values, given = (
        _means(places, column[kept], len(items)) for column in (scores.values, scores.given)
    )
    return JoinedScores(values, given, scores.signatures[0])


def _means(places: Integers, column: Floats, n: int) -> Floats:
    there = ~np.isnan(column)
    counts = np.bincount(places[there], minlength=n)
    sums = np.bincount(places[there], column[there], minlength=n)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _check_known(
    file: str, table: ScoreTable, unit: Unit, items: Integers, numbers: dict[int, int]
) -> None:
    for item, number in numbers.items():
        place = np.searchsorted(items, item)
        if place == len(items) or items[place] != item:
            raise RecordError(
                f"{table.source} has no score of {table.ids.describe(item)}; turns are "
                "counted from 0, and it holds only turns that were judged",
                file=file,
                line=number,
                field=unit,
            )


def _check_ratings(file: str, ratings: Floats) -> None:
    given = ratings[~np.isnan(ratings)]
    if len(given) < FEW:
        rated = plural(len(given), "item is rated", "items are rated")
        raise InputError(
            f"{file}: {rated}; at least {FEW} are needed, and "
            "with fewer than 30 an interval is wide"
        )
    if np.ptp(given) == 0:
        raise InputError(
            f"{file}: every rating is {given[0]:g}; nothing can be learned from ratings that "
            "never change"
        )
