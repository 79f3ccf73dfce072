"""The actions of ``grice kb`` that change a file of your own: build, add, remove and edit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._kb_open import SHIPPED, below_of, opened_models
from grice.cli._status import PARTIAL
from grice.cli.output import print_json
from grice.errors import InputError, counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.knowledge.edit import Below, Built, Stamp
    from grice.records import Triple
    from grice.runtime.models import Models

__all__ = ["add_triples", "build_file", "edit_triple", "remove_triple"]


def build_file(arguments: argparse.Namespace) -> int:
    """Make a file of knowledge from files of triples; 2 if rows could not be used."""
    from grice.knowledge.edit import build
    from grice.knowledge.schema import schema_names
    from grice.knowledge.sources import open_triples

    with opened_models() as models:
        below = None if arguments.on is None else below_of(models, arguments.on)
        theirs = "" if below is None else below.shelf.schema.name
        # What lies on other knowledge has its relations; else one file has one inventory: that
        # of the first source, unless another was stated.
        into = theirs if theirs in schema_names() and not arguments.schema else ""
        first = open_triples(
            arguments.files[0], format=arguments.format, schema=arguments.schema, into=into
        )
        if below is not None and first.schema.name != theirs:
            first.close()
            raise InputError(
                f"{arguments.on} has the relations of {theirs}, not of {first.schema.name}: leave "
                f"out --schema, or --on for a file that stands alone"
            )
        named = arguments.schema or first.schema.name
        rest = (
            open_triples(one, format=arguments.format, schema="" if into else named, into=into)
            for one in arguments.files[1:]
        )
        files = [first, *rest]
        built = build(
            arguments.output,
            files,
            first.schema,
            _by(arguments),
            below=below,
            replace=arguments.replace,
        )
    return _report(arguments, built, [f"{one.name}: {one.format}" for one in files], named)


def _report(arguments: argparse.Namespace, built: Built, files: Sequence[str], schema: str) -> int:
    from grice.cli.tables import print_lines
    from grice.cli.terminal import warn

    for line in files:
        warn(f"{line}, read with the relations of {schema}")
    if arguments.json:
        print_json({**built._asdict(), "output": str(arguments.output), "schema": schema})
    else:
        print_lines([f"{arguments.output}: {counted(built.triples, 'triple')}"], style="bold")
        left_out = {"said twice": built.repeated, **built.skipped}
        print_lines([f"left out, {why}: {count:,}" for why, count in left_out.items() if count])
        print_lines(built.problems, style="yellow")
    if built.broken:
        warn(f"{counted(built.broken, 'row')} could not be used")
    return PARTIAL if built.broken else 0


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
    from grice.cli.tables import print_lines
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
    """Return the triples of a file in a store's relations, and what became of the others."""
    from collections import Counter

    from grice.errors import RecordError
    from grice.knowledge.sources import open_triples

    opened = open_triples(arguments.source_file, format=arguments.format, into=schema)
    triples: list[Triple] = []
    renamed: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for row in opened.rows:
        if isinstance(row, RecordError):
            opened.close()
            raise row
        if row.skipped:
            left_out[row.skipped] += 1
            continue
        if row.renamed:
            renamed[f"{row.renamed} as {row.triple.relation}"] += 1
        triples.append(row.triple)
    said = [f"renamed, {name}: {count:,}" for name, count in sorted(renamed.items())]
    said += [f"left out, {why}: {count:,}" for why, count in sorted(left_out.items())]
    return triples, said


def _schema_of(path: Path, below: Below | None) -> str:
    from contextlib import closing

    from grice.knowledge.file import KnowledgeFile

    if not path.exists() and below is not None:
        return below.shelf.schema.name
    with closing(KnowledgeFile(path)) as file:
        return file.schema.name


def _triple(arguments: argparse.Namespace) -> Triple:
    from grice.records import Triple

    return Triple(arguments.head, arguments.relation, arguments.tail)


def remove_triple(arguments: argparse.Namespace) -> int:
    """Take a triple out of your own file."""
    from grice.cli.tables import print_lines
    from grice.knowledge.edit import remove

    path = _target(arguments)
    with opened_models() as models:
        remove(path, _triple(arguments), _by(arguments), below=_beneath(models, path))
    print_lines([f"{path}: taken out"])
    return 0


def edit_triple(arguments: argparse.Namespace) -> int:
    """Give a triple of your own file another tail."""
    from grice.cli.tables import print_lines
    from grice.knowledge.edit import edit

    path = _target(arguments)
    with opened_models() as models:
        below = _beneath(models, path)
        edit(path, _triple(arguments), arguments.new, _by(arguments), below=below)
    print_lines([f"{path}: changed"])
    return 0
