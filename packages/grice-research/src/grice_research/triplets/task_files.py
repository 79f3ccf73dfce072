"""The released task files of CIDER: items of the experiments, folds, frozen negatives."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import RecordError
from grice_tasks.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Item(msgspec.Struct, frozen=True):
    """A triplet of the experiments, with what the released task files hold of it.

    Attributes:
        dialogue: Id of its dialogue.
        index: Its place among the dialogue's triplets of the experiments.
        head: Head span as annotated; may have blanks around it.
        relation: One of the 31 relations.
        tail: Tail span as annotated.
        head_lemma: The released form of the head: lemmas without stop words.
        tail_lemma: The released form of the tail.
        question: Rank of its question and character of the answer in context and appended text;
            None if it has no question.
        options: Four options after filtering; None if it has none.
        first_options: The same before filtering.
        label: Index of the right option in both.
    """

    dialogue: str
    index: int
    head: str
    relation: str
    tail: str
    head_lemma: str
    tail_lemma: str
    question: tuple[int, int] | None = None
    options: tuple[str, ...] | None = None
    first_options: tuple[str, ...] | None = None
    label: int | None = None


class _ItemRow(msgspec.Struct):
    d: str
    i: int
    h: str
    r: str
    t: str
    hl: str
    tl: str
    qa: tuple[int, int] | None = None
    mcq: tuple[str, ...] | None = None
    mcq0: tuple[str, ...] | None = None
    label: int | None = None


def read_items(path: Path) -> list[Item]:
    """Return the triplets of the experiments, with what the released task files hold of them."""
    decoder = msgspec.json.Decoder(_ItemRow)
    items = []
    for number, line in read_lines(path):
        try:
            row = decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise RecordError(str(error), file=str(path), line=number) from None
        items.append(
            Item(
                row.d,
                row.i,
                row.h,
                row.r,
                row.t,
                row.hl,
                row.tl,
                row.qa,
                row.mcq,
                row.mcq0,
                row.label,
            )
        )
    return items


def read_folds(path: Path) -> dict[str, int]:
    """Return the test fold of each dialogue of a table with ``dialogue`` and ``test_fold``."""
    return {row["dialogue"]: int(row["test_fold"]) for row in read_table(path)}


class Negative(NamedTuple):
    """A triplet that is not entailed, made from the one at ``number`` of its dialogue."""

    dialogue: str
    number: int
    strategy: str
    head: str
    relation: str
    tail: str
    train: bool


def read_negatives(path: Path) -> list[Negative]:
    """Return the frozen negatives of a table, whose columns are those of :class:`Negative`."""
    return [
        Negative(
            row["dialogue"],
            int(row["i"]),
            row["strategy"],
            row["h"],
            row["r"],
            row["t"],
            row["train"] == "1",
        )
        for row in read_table(path)
    ]


def read_table(path: Path) -> list[Mapping[str, str]]:
    """Return the rows of a table whose columns are parted by tabs and named in the first line."""
    lines = (line for _, line in read_lines(path))
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
