"""CIDER as its four tasks: everything a bench or a recipe needs, from the released files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice_research.triplets.choices import Choice
from grice_research.triplets.task_files import read_folds, read_items, read_negatives
from grice_tasks.cider.files import read_dialogues

if TYPE_CHECKING:
    from pathlib import Path

    from grice_research.triplets.task_files import Item, Negative
    from grice_tasks.cider.records import Dialogue


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
