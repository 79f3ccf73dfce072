"""The texts of every data set at hand, each once, for the commands that fuzz.

Conversations come through grice's own readers. Of files that hold none, such as tables of
statements, every cell or field of two words or more is taken.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import sys
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from msgspec.structs import replace

from grice.errors import GriceError
from grice.readers import read
from grice.records import Conversation, Turn

STATEMENTS = (".jsonl", ".json", ".tsv", ".txt", ".amr")
TOGETHER = 8
"""Statements that are put together as turns, where a metric needs some before it."""


def folder(given: Path | None) -> Path:
    """Return where the data sets are; ends the program where nobody says so."""
    stated = given or os.environ.get("GRICE_DATA")
    if not stated or not Path(stated).is_dir():
        sys.exit("name the folder of the data sets: --data DIR, or GRICE_DATA")
    return Path(stated)


def conversations(root: Path, *, statements: bool = False) -> Iterator[Conversation]:
    """Yield conversations whose targets are the turns that did not stand in any one before.

    Args:
        root: The folder of the data sets.
        statements: Also put the texts of files without conversations together as turns.
    """
    seen: set[bytes] = set()
    for path in sorted(path for path in root.rglob("*") if path.is_file() and path.suffix != ".md"):
        name = path.relative_to(root).as_posix()
        conversations_here = _read(path)
        if conversations_here is None:
            conversations_here = _joined(_cells(path)) if statements else ()
        for conversation in conversations_here:
            fresh = tuple(
                i for i, turn in enumerate(conversation.turns) if _is_new(turn.text, seen)
            )
            if fresh:
                yield replace(conversation, id=f"{name}#{conversation.id}", targets=fresh, meta={})


def shuffled(conversation: Conversation, seed: int) -> Conversation:
    """Return the conversation with the words of each turn in random order."""
    rng = random.Random(f"{seed} {conversation.id}")
    turns = []
    for turn in conversation.turns:
        words = turn.text.split()
        rng.shuffle(words)
        turns.append(replace(turn, text=" ".join(words)))
    return replace(conversation, turns=tuple(turns))


def _is_new(text: str, seen: set[bytes]) -> bool:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    fresh = digest not in seen
    seen.add(digest)
    return fresh


def _read(path: Path) -> Iterable[Conversation] | None:
    """Return the conversations of a file; None if it holds none in a known format."""
    try:
        with read(path) as reading:
            first = next(iter(reading), None)
    except GriceError:
        return None
    if first is None:
        return None
    return (record for record in read(path) if isinstance(record, Conversation))


def _cells(path: Path) -> Iterator[str]:
    if not set(path.suffixes) & set(STATEMENTS):
        return
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        if {".jsonl", ".json"} & set(path.suffixes):
            cells = (text for line in lines for text in _strings(json.loads(line)))
        else:
            rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            cells = (text for row in rows for text in row)
        yield from (text for text in cells if len(text.split(maxsplit=2)) > 1)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


def _joined(texts: Iterable[str]) -> Iterator[Conversation]:
    turns: list[Turn] = []
    number = 0
    for text in texts:
        turns.append(Turn("AB"[len(turns) % 2], text))
        if len(turns) == TOGETHER:
            yield Conversation(str(number), tuple(turns))
            number += 1
            turns = []
    if turns:
        yield Conversation(str(number), tuple(turns))
