"""The actions of ``grice kb`` that change a file of your own: build, add, remove and edit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._kb_open import SHIPPED, below_of, opened_models, print_json
from grice.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.knowledge.edit import Below, Built, Stamp
    from grice.records import Triple
    from grice.scoring.models import Models

__all__ = ["add_triples", "build_file", "edit_triple", "remove_triple"]


def build_file(arguments: argparse.Namespace) -> int:
    """Make a file of knowledge from files of triples; 2 if rows could not be used."""
    from grice.knowledge.edit import build
    from grice.knowledge.sources import open_triples

    first = open_triples(arguments.files[0], format=arguments.format, schema=arguments.schema)
    # One file has one inventory: that of the first source, unless another was stated.
    named = arguments.schema or first.schema.name
    rest = (open_triples(one, format=arguments.format, schema=named) for one in arguments.files[1:])
    files = [first, *rest]
    with opened_models() as models:
        built = build(
            arguments.output,
            files,
            first.schema,
            _by(arguments),
            below=None if arguments.on is None else below_of(models, arguments.on),
            replace=arguments.replace,
        )
    return _report(arguments, built, [f"{one.name}: {one.format}" for one in files], named)


def _report(arguments: argparse.Namespace, built: Built, files: Sequence[str], schema: str) -> int:
    from grice.cli._tables import print_lines
    from grice.cli._terminal import warn

    for line in files:
        warn(f"{line}, read with the relations of {schema}")
    if arguments.json:
        print_json({**built._asdict(), "output": str(arguments.output), "schema": schema})
    else:
        print_lines([f"{arguments.output}: {built.triples:,} triples"], style="bold")
        left_out = {"said twice": built.repeated, **built.skipped}
        print_lines([f"left out, {why}: {count:,}" for why, count in left_out.items() if count])
        print_lines(built.problems, style="yellow")
    if built.broken:
        warn(f"{built.broken:,} rows could not be used")
    return 2 if built.broken else 0


def _by(arguments: argparse.Namespace) -> Stamp:
    from grice.knowledge.edit import stamp

    return stamp(arguments.who, arguments.at)


def _target(arguments: argparse.Namespace) -> Path:
    if arguments.to is None or arguments.to.startswith("bundle:"):
        raise InputError(
            "the shipped knowledge is never changed: name a file of your own with --to MY.kb; if "
            "it is not there, it is made on top of the shipped one"
        )
    return Path(arguments.to.removeprefix("file:"))


def _beneath(models: Models, path: Path) -> Below | None:
    """Return what a file lies on, or would if it were made now."""
    from grice.knowledge.file import stated_base

    base = stated_base(path) if path.exists() else SHIPPED
    return below_of(models, base) if base else None


def add_triples(arguments: argparse.Namespace) -> int:
    """Add triples to your own file."""
    from grice.cli._tables import print_lines
    from grice.knowledge.edit import add
    from grice.records import Triple

    path, by = _target(arguments), _by(arguments)
    if bool(arguments.triple) == bool(arguments.source_file):
        raise InputError("give either HEAD RELATION TAIL or --from FILE")
    if arguments.triple and len(arguments.triple) != 3:
        raise InputError(
            f"HEAD RELATION TAIL are three, found {len(arguments.triple)}: put quotes around each"
        )
    said: list[str] = []
    with opened_models() as models:
        below = _beneath(models, path)
        if arguments.source_file:
            triples, said = _read_triples(arguments, _schema_of(path, below))
        else:
            head, relation, tail = arguments.triple
            triples = [Triple(head, relation, tail, source=arguments.source)]
        new = add(path, triples, by, below=below)
    print_lines([f"{path}: {new:,} added, {len(triples) - new:,} were there"])
    print_lines(said)
    return 0


def _read_triples(arguments: argparse.Namespace, schema: str) -> tuple[list[Triple], list[str]]:
    """Return the triples of a file in a store's relations, and what became of other relations."""
    from collections import Counter

    from grice.errors import RecordError
    from grice.knowledge.mapping import find_mapping
    from grice.knowledge.sources import open_triples

    opened = open_triples(arguments.source_file, format=arguments.format, into=schema)
    mapping = find_mapping(opened.schema.name, schema)
    triples: list[Triple] = []
    renamed: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    for row in opened.rows:
        if isinstance(row, RecordError):
            opened.close()
            raise row
        if row.skipped:
            continue
        relation = row.triple.relation
        found = row.triple if mapping is None else mapping.renamed(row.triple)
        if found is None:
            dropped[relation] += 1
            continue
        if found.relation != relation:
            renamed[f"{relation} as {found.relation}"] += 1
        triples.append(found)
    said = [f"renamed, {name}: {count:,}" for name, count in sorted(renamed.items())]
    for name, count in sorted(dropped.items()):
        why = "" if mapping is None else mapping.dropped[name]
        said.append(f"left out, {schema} has no {name}: {count:,} ({why})")
    return triples, said


def _schema_of(path: Path, below: Below | None) -> str:
    from contextlib import closing

    from grice.knowledge.file import KnowledgeFile

    if not path.exists() and below is not None:
        return below.shelf.schema.name
    with closing(KnowledgeFile(path)) as file:
        return file.schema.name


def remove_triple(arguments: argparse.Namespace) -> int:
    """Take a triple out of your own file."""
    from grice.cli._tables import print_lines
    from grice.knowledge.edit import remove
    from grice.records import Triple

    path = _target(arguments)
    with opened_models() as models:
        remove(path, Triple(*arguments.triple), _by(arguments), below=_beneath(models, path))
    print_lines([f"{path}: taken out"])
    return 0


def edit_triple(arguments: argparse.Namespace) -> int:
    """Give a triple of your own file another tail."""
    from grice.cli._tables import print_lines
    from grice.knowledge.edit import edit
    from grice.records import Triple

    path = _target(arguments)
    with opened_models() as models:
        below = _beneath(models, path)
        edit(path, Triple(*arguments.triple), arguments.new, _by(arguments), below=below)
    print_lines([f"{path}: changed"])
    return 0
