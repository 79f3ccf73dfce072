"""CIDER as its four tasks: everything a bench or a recipe needs, from the released files."""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import RecordError
from grice_tasks.cider.files import read_dialogues
from grice_tasks.cider.reading import locate
from grice_tasks.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from grice_tasks.cider.records import Dialogue

KEYS = {
    "dialogue": "d",
    "index": "i",
    "head": "h",
    "relation": "r",
    "tail": "t",
    "head_lemma": "hl",
    "tail_lemma": "tl",
    "question": "qa",
    "options": "mcq",
    "first_options": "mcq0",
}
"""What the released file calls the fields of an item."""


class Item(msgspec.Struct, frozen=True, rename=KEYS):
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


def read_items(path: Path) -> list[Item]:
    """Return the triplets of the experiments, with what the released task files hold of them."""
    decoder = msgspec.json.Decoder(Item)
    items = []
    for number, line in read_lines(path):
        try:
            items.append(decoder.decode(line))
        except msgspec.MsgspecError as error:
            raise RecordError(str(error), file=str(path), line=number) from None
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


OPTIONS = 4


class Choice(NamedTuple):
    """One item: a question and its options.

    Attributes:
        id: Name of the item.
        text: What the options are spans of.
        head: The head span.
        relation: The relation asked for.
        options: The options.
        label: Index of the right one.
    """

    id: str
    text: str
    head: str
    relation: str
    options: tuple[str, ...]
    label: int


def nearest(choice: Choice) -> int:
    """Return the option whose first place is nearest to the head's; the first among equals."""
    far = _distances(choice)
    return far.index(min(far))


def _distances(choice: Choice) -> list[int]:
    head = locate(choice.text, choice.head)
    distances = []
    for option in choice.options:
        place = locate(choice.text, option)
        missing = head is None or place is None
        distances.append(len(choice.text) if missing else abs(place[0] - head[0]))  # type: ignore[index]
    return distances


def distance_balanced(choices: Sequence[Choice]) -> list[Choice]:
    """Return the items whose right option is as often nearest to the head as second, third, last.

    Of each rank as many are kept as the rarest has, those of the smallest hash of their id, so
    that answering by distance alone is right in one of four.
    """
    by_rank: list[list[Choice]] = [[] for _ in range(OPTIONS)]
    for choice in choices:
        far = _distances(choice)
        order = sorted(range(len(far)), key=lambda i: (far[i], i))
        by_rank[order.index(choice.label)].append(choice)
    most = min(map(len, by_rank))
    chosen = {
        choice.id
        for rank in by_rank
        for choice in sorted(rank, key=lambda c: hashlib.sha256(c.id.encode()).hexdigest())[:most]
    }
    return [choice for choice in choices if choice.id in chosen]


class Question(NamedTuple):
    """One question of task 2.

    Attributes:
        item: The triplet it asks for.
        start: First character of the answer in context and appended text.
        pasted: Whether the answer stands in the appended text alone.
        valid: Every valid tail of this head and relation in the dialogue, the asked one first.
    """

    item: Item
    start: int
    pasted: bool
    valid: tuple[str, ...]


class Cider(NamedTuple):
    """The released experiments.

    Attributes:
        dialogues: By id, those that take part.
        items: The 4,386 triplets in order.
        folds: Test fold of each dialogue.
        negatives: The frozen negatives of task 1.
    """

    dialogues: dict[str, Dialogue]
    items: list[Item]
    folds: dict[str, int]
    negatives: list[Negative]

    def text(self, dialogue: str) -> str:
        """Return context and appended text: what questions are asked about."""
        stored = self.dialogues[dialogue]
        return (stored.context or "") + (stored.appended or "")

    def questions(self) -> list[Question]:
        """Return the questions of task 2 in order."""
        tails: dict[tuple[str, str, str], dict[str, None]] = {}
        for item in self.items:
            key = item.dialogue, item.head.strip().lower(), item.relation
            tails.setdefault(key, {})[item.tail.strip()] = None
        asked = []
        for item in self.items:
            if item.question is None:
                continue
            key = item.dialogue, item.head.strip().lower(), item.relation
            tail, start = item.tail.strip(), item.question[1]
            others = (other for other in tails[key] if other != tail)
            pasted = start >= len(self.dialogues[item.dialogue].context or "")
            asked.append(Question(item, start, pasted, (tail, *others)))
        return asked

    def choices(self) -> list[Choice]:
        """Return the items of task 3 in order, as they are after filtering."""
        return [
            Choice(
                f"{item.dialogue}-triplet-{item.question[0]}",
                self.text(item.dialogue),
                item.head.strip(),
                item.relation,
                item.options,
                item.label,
            )
            for item in self.items
            if item.options is not None and item.label is not None and item.question is not None
        ]


def load_cider(folder: Path) -> Cider:
    """Read the released files of a folder."""
    dialogues = read_dialogues(folder / "dialogues.jsonl.gz").dialogues
    return Cider(
        {dialogue.id: dialogue for dialogue in dialogues if dialogue.context is not None},
        read_items(folder / "experiment.jsonl.gz"),
        read_folds(folder / "folds.tsv"),
        read_negatives(folder / "nli_frozen_negatives.tsv.gz"),
    )
