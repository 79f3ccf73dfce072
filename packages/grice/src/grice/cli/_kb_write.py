"""The actions of ``grice kb`` that change a file of your own: build, add, remove and edit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._kb_models import SHIPPED, below_of
from grice.cli._status import DONE, PARTIAL
from grice.cli.models import opened_models
from grice.cli.output import emit
from grice.errors import InputError, plural
from grice.tables import Lines

if TYPE_CHECKING:
    import argparse

    from grice.knowledge.build import Author, Below, Built
    from grice.knowledge.files import BuiltFile
    from grice.models.models import Models
    from grice.records import Triple
    from grice.tables import View


def build_file(arguments: argparse.Namespace) -> int:
    """Make a file of knowledge from files of triples; 4 if rows could not be used."""
    from grice.knowledge.files import build_files

    with opened_models(workers=1) as models:
        made = build_files(
            arguments.output,
            arguments.files,
            _by(arguments),
            format=arguments.format or "",
            schema=arguments.schema,
            below=None if arguments.on is None else below_of(models, arguments.on),
            replace=arguments.replace,
        )
    _print_built(arguments, made)
    return PARTIAL if made.built.broken else DONE


def _print_built(arguments: argparse.Namespace, made: BuiltFile) -> None:
    from grice.cli.terminal import note, warn

    built, schema = made.built, made.schema
    for name, form in made.formats:
        note(f"{name}: {form}, read with the relations of {schema}")
    row = {**built._asdict(), "output": str(arguments.output), "schema": schema}
    emit(row, _built_view(arguments.output, built), as_json=arguments.json)
    if built.broken:
        warn(f"{plural(built.broken, 'row')} could not be used")


def _built_view(output: Path, built: Built) -> View:
    yield Lines([f"{output}: {plural(built.triples, 'triple')}"], style="bold")
    left_out = {"said twice": built.repeated, **built.skipped}
    yield Lines(f"left out, {why}: {count:,}" for why, count in left_out.items() if count)
    yield Lines(built.problems, style="yellow")


def _by(arguments: argparse.Namespace) -> Author:
    from grice.knowledge.build import author

    return author(arguments.who, arguments.at)


def _target(arguments: argparse.Namespace) -> Path:
    if arguments.to is None or arguments.to.startswith("bundle:"):
        raise InputError(
            "the shipped knowledge is never changed: name a file of your own with --to MY.kb; if "
            "it is not there, it is made on top of the shipped one"
        )
    return Path(arguments.to.removeprefix("file:"))


def _base_of(models: Models, path: Path) -> Below | None:
    """Return what a file lies on, or would if it were made now."""
    from grice.knowledge.file import stated_base

    base = stated_base(path) if path.exists() else SHIPPED
    return below_of(models, base) if base else None


def add_triples(arguments: argparse.Namespace) -> int:
    """Add triples to your own file."""
    from grice.knowledge.edit import add
    from grice.knowledge.files import read_triples, schema_name
    from grice.records import Triple

    path, by = _target(arguments), _by(arguments)
    if bool(arguments.triple) == bool(arguments.source_file):
        raise InputError("give either HEAD RELATION TAIL or --from FILE")
    if arguments.triple and len(arguments.triple) != 3:
        raise InputError(
            f"HEAD RELATION TAIL are three, found {len(arguments.triple)}: put quotes around each"
        )
    renamed: dict[str, int] = {}
    skipped: dict[str, int] = {}
    with opened_models(workers=1) as models:
        below = _base_of(models, path)
        if arguments.source_file:
            schema = schema_name(path, below)
            triples, renamed, skipped = read_triples(
                arguments.source_file, schema, format=arguments.format or ""
            )
        else:
            head, relation, tail = arguments.triple
            triples = [Triple(head, relation, tail, source=arguments.source)]
        new = add(path, triples, by, below=below)
    lines = [f"{path}: {new:,} added, {len(triples) - new:,} were there"]
    lines += [f"renamed, {name}: {count:,}" for name, count in sorted(renamed.items())]
    lines += [f"left out, {why}: {count:,}" for why, count in sorted(skipped.items())]
    row = {
        "output": str(path),
        "added": new,
        "known": len(triples) - new,
        "renamed": renamed,
        "left_out": skipped,
    }
    emit(row, [Lines(lines)], as_json=arguments.json)
    return DONE


def _triple(arguments: argparse.Namespace) -> Triple:
    from grice.records import Triple

    return Triple(arguments.head, arguments.relation, arguments.tail)


def remove_triple(arguments: argparse.Namespace) -> int:
    """Take a triple out of your own file."""
    from grice.knowledge.edit import remove

    path = _target(arguments)
    with opened_models(workers=1) as models:
        remove(path, _triple(arguments), _by(arguments), below=_base_of(models, path))
    row = {"output": str(path), "removed": 1}
    emit(row, [Lines([f"{path}: taken out"])], as_json=arguments.json)
    return DONE


def edit_triple(arguments: argparse.Namespace) -> int:
    """Give a triple of your own file another tail."""
    from grice.knowledge.edit import edit

    path = _target(arguments)
    with opened_models(workers=1) as models:
        below = _base_of(models, path)
        edit(path, _triple(arguments), arguments.new, _by(arguments), below=below)
    row = {"output": str(path), "changed": 1}
    emit(row, [Lines([f"{path}: changed"])], as_json=arguments.json)
    return DONE
