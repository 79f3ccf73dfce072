"""CIDER's released files as what ``grice train cider-...`` reads, one fold at a time.

    python -m grice_research.recipes.published.cider --data DATA --fold 1 FOLDER

Written are ``TASK-train.jsonl`` of the other four folds and ``TASK-test.jsonl`` of this one, for
each task of :data:`TASKS`. As in the release the spans of entailment and relations are their
lemmas, questions are asked about context and appended text, and where a task is told without the
dialogue, :data:`NO_DIALOGUE` stands in its place. Negatives are the frozen ones; training has two
of a triplet.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from grice.files import make_folder, write_text
from grice_research.triplets.cider import load_cider

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from grice_research.triplets.cider import Cider
    from grice_research.triplets.task_files import Item

    Record = dict[str, str | int | list[str]]

TASKS = ("entailment", "spans", "choices", "choices-alone", "relations", "relations-alone")
"""Tasks 1 to 4; 3 and 4 once more without the dialogue."""
NO_DIALOGUE = "fake_sent1"
"""What the released code puts in the place of the dialogue."""
FOLDS = (1, 2, 3, 4, 5)


def write_fold(cider: Cider, fold: int, folder: Path) -> None:
    """Write the files of all tasks for one test fold.

    Raises:
        OutputError: If one cannot be written.
    """
    make_folder(folder)
    test = {name for name, number in cider.folds.items() if number == fold}
    sides = {"train": cider.folds.keys() - test, "test": test}
    for task in TASKS:
        for side, names in sides.items():
            lines = [json.dumps(record) for record in records(cider, task, names, side == "train")]
            write_text(folder / f"{task}-{side}.jsonl", "".join(f"{line}\n" for line in lines))


def records(
    cider: Cider,
    task: str,
    names: Collection[str],
    train: bool,  # noqa: FBT001
) -> Iterator[Record]:
    """Yield the records of a task in the dialogues of some names."""
    items = [item for item in cider.items if item.dialogue in names]
    context = {name: dialogue.context or "" for name, dialogue in cider.dialogues.items()}
    alone = task.endswith("-alone")
    if task == "entailment":
        yield from _entailment(cider, names, context, train=train)
    for item in items:
        read = NO_DIALOGUE if alone else context[item.dialogue]
        if task.startswith("relations"):
            yield _record(item, read, item.head_lemma, item.tail_lemma)
        elif task == "spans" and item.question is not None:
            record = _record(item, cider.text(item.dialogue), item.head.strip(), item.tail.strip())
            yield record | {"start": item.question[1]}
        elif task.startswith("choices") and item.options and item.label is not None:
            read = NO_DIALOGUE if alone else cider.text(item.dialogue).replace('"', "'")
            record = _record(item, read, item.head.strip(), item.tail.strip())
            yield record | {"options": list(item.options), "answer": item.label}


def _entailment(
    cider: Cider, names: Collection[str], context: dict[str, str], *, train: bool
) -> Iterator[Record]:
    lemmas = {item.head.strip(): item.head_lemma for item in cider.items}
    lemmas |= {item.tail.strip(): item.tail_lemma for item in cider.items}
    for item in cider.items:
        if item.dialogue in names:
            read = context[item.dialogue]
            yield _record(item, read, item.head_lemma, item.tail_lemma) | {"label": 1}
    for negative in cider.negatives:
        if negative.dialogue in names and (negative.train or not train):
            yield {
                "dialogue": negative.dialogue,
                "context": context[negative.dialogue],
                "head": lemmas[negative.head.strip()],
                "relation": negative.relation,
                "tail": lemmas[negative.tail.strip()],
                "label": 0,
            }


def _record(item: Item, context: str, head: str, tail: str) -> Record:
    return {
        "dialogue": item.dialogue,
        "context": context,
        "head": head,
        "relation": item.relation,
        "tail": tail,
    }


def main() -> None:
    """Read the arguments and write the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--fold", type=int, choices=FOLDS, default=1)
    options = parser.parse_args()
    write_fold(load_cider(options.data / "cider"), options.fold, options.folder)


if __name__ == "__main__":
    main()
