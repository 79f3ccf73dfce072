"""CIDER as its four tasks: everything a bench or a recipe needs, from the released files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.triplets.files import read_dialogues, read_folds, read_items, read_negatives
from grice_research.triplets.choices import Choice

if TYPE_CHECKING:
    from pathlib import Path

    from grice.triplets.records import Dialogue, Item
    from grice_research.surface import Negative

__all__ = ["Cider", "Question", "load_cider"]


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
        one = self.dialogues[dialogue]
        return (one.context or "") + (one.appended or "")

    def questions(self) -> list[Question]:
        """Return the questions of task 2 in order."""
        tails: dict[tuple[str, str, str], dict[str, None]] = {}
        for one in self.items:
            key = one.dialogue, one.head.strip().lower(), one.relation
            tails.setdefault(key, {})[one.tail.strip()] = None
        found = []
        for one in self.items:
            if one.question is None:
                continue
            key = one.dialogue, one.head.strip().lower(), one.relation
            asked, start = one.tail.strip(), one.question[1]
            others = (tail for tail in tails[key] if tail != asked)
            pasted = start >= len(self.dialogues[one.dialogue].context or "")
            found.append(Question(one, start, pasted, (asked, *others)))
        return found

    def choices(self) -> list[Choice]:
        """Return the items of task 3 in order, as they are after filtering."""
        return [
            Choice(
                f"{one.dialogue}-triplet-{one.question[0]}",
                self.text(one.dialogue),
                one.head.strip(),
                one.relation,
                one.options,
                one.label,
            )
            for one in self.items
            if one.options is not None and one.label is not None and one.question is not None
        ]


def load_cider(folder: Path) -> Cider:
    """Read the released files of a folder.

    Raises:
        InputError: If one cannot be read.
    """
    dialogues = read_dialogues(folder / "dialogues.jsonl.gz").dialogues
    return Cider(
        {one.id: one for one in dialogues if one.context is not None},
        read_items(folder / "experiment.jsonl.gz"),
        read_folds(folder / "folds.tsv"),
        read_negatives(folder / "nli_frozen_negatives.tsv.gz"),
    )
