"""An example of a published system, and the lines and records of the files that hold them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import InputError, RecordError
from grice_tasks.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator


class TrainingExample(NamedTuple):
    """What a model learns from.

    Attributes:
        source: What it reads.
        target: What it writes; the label where it classifies; the number of the right option where
            it chooses; first and last character, ``12:20``, where it finds a span.
        group: What must not stand on both sides of a split: a conversation, a belief, a head.
        kind: Among which others it is compared where it is held out, such as a relation.
        options: What is read behind the source as a second text; several to choose among.
    """

    source: str
    target: str
    group: str
    kind: str = ""
    options: tuple[str, ...] = ()


def text_field(path: Path, number: int, record: dict[str, object], name: str) -> str:
    """Return a text of a record; a :class:`~grice.errors.RecordError` says that it is missing."""
    if not isinstance(record.get(name), str):
        raise RecordError(f"a text is needed as {name!r}", file=str(path), line=number, field=name)
    return str(record[name])


def records_of(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of JSON lines, or of a file that is one list, with their numbers."""
    lines = list(read_lines(path))
    if lines and lines[0][1].lstrip().startswith("["):
        try:
            objects = json.loads("\n".join(line for _, line in lines))
        except ValueError as error:
            raise InputError(f"{path}: no JSON: {error}") from None
        yield from enumerate(objects, 1)
        return
    for number, line in lines:
        try:
            record = json.loads(line)
        except ValueError as error:
            raise RecordError(f"no JSON: {error}", file=str(path), line=number) from None
        if not isinstance(record, dict):
            raise RecordError("an object is needed", file=str(path), line=number)
        yield number, record


def binary(path: Path, number: int, record: dict[str, object], name: str = "label") -> str:
    """Return a label that is 1 or 0.

    Raises:
        RecordError: If it is neither.
    """
    value = record.get(name)
    if value not in (0, 1, "0", "1", True, False):
        raise RecordError(
            f"{name} is 1 or 0, found {value!r}", file=str(path), line=number, field=name
        )
    return "1" if value in (1, "1") else "0"
