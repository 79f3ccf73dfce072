"""``grice perturb``: conversations broken on purpose, with notes of what was broken."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._status import PARTIAL
from grice.errors import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.perturb import Material, Perturbation, Perturbed
    from grice.records import Conversation

HELP = "break conversations on purpose, and note what was broken where"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="conversations; none lists kinds")
    parser.add_argument("--format", metavar="NAME", help="format of the files (see grice list)")
    parser.add_argument(
        "--kind", action="append", metavar="NAME",
        help="perturbation or mixture, again for a further one; default deam",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="seed of every choice (default 0)")
    parser.add_argument(
        "--graphs", metavar="FILE.amr",
        help="AMR graphs of the turns; changed turns are written as graphs. Without it, the "
        "kinds amr-… need amrlib",
    )  # fmt: skip
    parser.add_argument("-o", "--output", metavar="FILE", help="write here instead of to stdout")


def run(arguments: argparse.Namespace) -> int:
    """Write the broken conversations; the exit status is 4 if records could not be read."""
    from grice.cli._reading import conversations
    from grice.cli.terminal import warn
    from grice.errors import RecordError
    from grice.files import write_lines
    from grice.perturb.run import named

    if not arguments.files:
        return _list()
    kinds = [named(name) for name in arguments.kind or ["deam"]]
    records = list(conversations(arguments.files, arguments.format))
    broken = [record for record in records if isinstance(record, RecordError)]
    sound = [record for record in records if not isinstance(record, RecordError)]
    lines = _lines(sound, kinds, arguments.seed, _material(arguments, kinds, sound))
    if arguments.output:
        write_lines(Path(arguments.output), (line.encode() for line in lines))
    else:
        sys.stdout.writelines(lines)
    for error in broken:
        warn(str(error))
    return PARTIAL if broken else 0


def _material(
    arguments: argparse.Namespace, kinds: Sequence[Perturbation], others: Sequence[Conversation]
) -> Material:
    from grice.perturb import Material

    material = Material(others)
    if all(kind.level != "amr" for kind in kinds):
        return material
    from grice.perturb.meaning import amrlib_models, graphs_of_file

    if arguments.graphs:
        graphs = graphs_of_file(Path(arguments.graphs))
        return material._replace(graphs=graphs.get, sentences=lambda graph: graph)
    parsed, said = amrlib_models()
    return material._replace(graphs=parsed, sentences=said)


def _lines(
    sound: Sequence[Conversation], kinds: Sequence[Perturbation], seed: int, material: Material
) -> Iterator[str]:
    from grice.cli.terminal import warn
    from grice.perturb.run import perturb
    from grice.records import to_json

    for kind in kinds:
        made = 0
        for conversation in sound:
            found = perturb(conversation, kind, seed=seed, material=material)
            if found is not None:
                made += 1
                yield f"{to_json(_noted(conversation, kind, found, seed))}\n"
        nothing = len(sound) - made
        left = f"; nothing to break in {nothing:,}: left out" if nothing else ""
        warn(f"{kind.name}: {made:,} of {counted(len(sound), 'conversation')} broken{left}")


def _noted(
    conversation: Conversation, kind: Perturbation, found: Perturbed, seed: int
) -> Conversation:
    """Return the broken conversation with notes, under an id of its own."""
    from msgspec import to_builtins
    from msgspec.structs import replace

    notes = {
        "original": conversation.id,
        "perturbation": kind.name,
        "seed": seed,
        "changes": to_builtins(found.changes),
    }
    made = found.conversation
    return replace(made, id=f"{made.id}/{kind.name}", meta={**made.meta, **notes})


def _list() -> int:
    from rich.table import Table

    from grice.cli.terminal import console
    from grice.perturb.mixture import MIXTURES, mixture
    from grice.perturb.registry import find_perturbations

    kinds = list(find_perturbations().values())
    groups = {level: [kind for kind in kinds if kind.level == level]
              for level in ("text", "semantic", "amr")}  # fmt: skip
    groups["mixtures"] = [mixture(one) for one in MIXTURES.values()]
    table = Table.grid(padding=(0, 2))
    for title, group in groups.items():
        table.add_row(title, style="bold")
        for kind in group:
            table.add_row(f"  {kind.name}", kind.summary)
    console().print(table)
    return 0
