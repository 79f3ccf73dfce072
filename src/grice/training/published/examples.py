"""The examples that published systems are trained on, out of the files that were released."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import InputError, RecordError, os_reason
from grice.knowledge.comet import query
from grice.metrics.accent import PROMPTS, extraction_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["TrainingExample", "read_examples"]

GZIP = b"\x1f\x8b"


class TrainingExample(NamedTuple):
    """What a model learns from.

    Attributes:
        source: What it reads.
        target: What it writes; a label, ``0`` or ``1``, where it classifies.
        group: What must not stand on both sides of a split: a conversation, a belief, a head.
        kind: Among which others it is compared where it is held out, such as a relation.
    """

    source: str
    target: str
    group: str
    kind: str = ""


def read_examples(name: str, files: Sequence[Path]) -> list[TrainingExample]:
    """Return the examples of files, in their order.

    Args:
        name: A reader: ``accent``, ``comet`` or ``deam``.
        files: JSON lines, a JSON list, tab-separated or plain lines, gzipped or not.

    Raises:
        InputError: If a file cannot be read, or none holds an example.
        RecordError: If a record lacks what is needed.
    """
    examples = [example for path in files for example in _READERS[name](path)]
    if not examples:
        raise InputError(f"{', '.join(map(str, files))}: no example for {name}")
    return examples


def _accent(path: Path) -> Iterator[TrainingExample]:
    """Yield the triples of DECO, and samples that hold none of a relation."""
    for number, record in _records(path):
        if "relation" in record:
            relation = _relation(path, number, record["relation"])
            history = _field(path, number, record, "context")
            reply = _field(path, number, record, "response")
            source = extraction_source(relation, history, reply)
            yield TrainingExample(source, "None", history, relation)
            continue
        history = _field(path, number, record, "history")
        reply = _field(path, number, record, "response")
        for triple in _triples(record):
            if not isinstance(triple, list) or len(triple) < 3:
                raise RecordError("a triple is [head, relation, tail]", file=str(path), line=number)
            head, relation, tail = (str(part) for part in triple[:3])
            _relation(path, number, relation)
            target = f"event1: {head.strip()}; event2: {tail.strip()}"
            source = extraction_source(relation, history, reply)
            yield TrainingExample(source, target, history, relation)


def _triples(record: dict[str, object]) -> Iterator[object]:
    """Yield the triples of a record of the training part, or of the test part."""
    for name in ("tuples_single", "tuples_pair"):
        stated = record.get(name)
        yield from stated if isinstance(stated, list) else ()
    by_relation = record.get("tuples")
    for triples in by_relation.values() if isinstance(by_relation, dict) else ():
        yield from triples


def _relation(path: Path, number: int, relation: object) -> str:
    if relation not in PROMPTS:
        raise RecordError(
            f"{relation!r} is none of ACCENT's relations: {', '.join(PROMPTS)}",
            file=str(path),
            line=number,
        )
    return str(relation)


def _comet(path: Path) -> Iterator[TrainingExample]:
    """Yield tails of heads: lines of head, relation and tail; further columns may follow."""
    for number, line in _lines(path):
        parts = line.split("\t")
        if len(parts) < 3:
            raise RecordError(
                "head, relation and tail are needed, with tabs between",
                file=str(path),
                line=number,
            )
        head, relation, tail, *more = parts
        if (head, relation) == ("head", "relation") or more[:1] == ["0"]:
            continue  # the names of the columns; a triple that people call implausible
        if tail.strip():
            yield TrainingExample(query(head, relation), tail, head, relation)


def _deam(path: Path) -> Iterator[TrainingExample]:
    """Yield conversations with their label: utterances ended by ``</UTT>``, then a number."""
    for number, line in _lines(path):
        *utterances, label = line.split("</UTT>")
        try:
            positive = round(float(label)) == 1
        except ValueError:
            raise RecordError(
                f"the last field is a label, 1 or 0, found {label[:30]!r}",
                file=str(path),
                line=number,
            ) from None
        text = " ".join(utterances)
        # A conversation and its manipulated copy stand one after the other.
        yield TrainingExample(text, str(int(positive)), str((number - 1) // 2))


def _field(path: Path, number: int, record: dict[str, object], name: str) -> str:
    if not isinstance(record.get(name), str):
        raise RecordError(f"a text is needed as {name!r}", file=str(path), line=number, field=name)
    return str(record[name])


def _records(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of JSON lines, or of a file that is one list, with their numbers."""
    lines = list(_lines(path))
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


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if content.startswith(GZIP) else content).decode()
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read: {os_reason(error)}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: no UTF-8: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield number, line


_READERS: dict[str, Callable[[Path], Iterator[TrainingExample]]] = {
    "accent": _accent,
    "comet": _comet,
    "deam": _deam,
}
