"""Annotated dialogues of several files, in CIDER's form or brat's, by what a path looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_tasks.cider.brat import read_brat, write_brat
from grice_tasks.cider.files import read_dialogues, write_dialogues

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Literal

    from grice_tasks.cider.records import Dialogue


def read_annotated(
    paths: Sequence[Path], *, invalid: Literal["refuse", "skip"] = "refuse"
) -> tuple[list[Dialogue], list[str]]:
    """Return the annotated dialogues of all files, and what is wrong with what was left out.

    Args:
        paths: CIDER's JSON lines, or folders of brat's ``.txt`` and ``.ann`` files.
        invalid: A triplet that cannot be is refused, or left out.
    """
    dialogues: list[Dialogue] = []
    problems: list[str] = []
    for path in paths:
        read = read_brat if path.is_dir() else read_dialogues
        of_path, wrong = read(path, invalid=invalid)
        dialogues += of_path
        problems += [f"{path}: {problem}" for problem in wrong]
    return dialogues, problems


def write_annotated(path: Path, dialogues: Sequence[Dialogue]) -> None:
    """Write dialogues as JSON lines if the name says so, else into a folder of brat's files."""
    write = write_dialogues if path.name.endswith((".jsonl", ".jsonl.gz")) else write_brat
    write(path, dialogues)
