"""``grice perturb``: conversations broken on purpose, with notes of what was broken."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._status import DONE, PARTIAL
from grice.cli.options import add_metric_options, check_options, load_grader
from grice.cli.output import emit, emit_rows
from grice.errors import plural
from grice.tables import Lines, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from grice.perturb import Material, Perturbation
    from grice.records import Conversation
    from grice.tables import View

HELP = "break conversations on purpose and record each change"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="conversations; list, or none, lists the kinds"
    )
    flags.add_input(parser)
    parser.add_argument(
        "--kind",
        action="append",
        metavar="NAME",
        help="perturbation or mixture, again for a further one; default deam",
    )
    flags.add_seed(parser, "every choice")
    parser.add_argument(
        "--score",
        dest="metrics",
        metavar="METRICS",
        help="print for each of these metrics the share of broken conversations that score lower",
    )
    flags.add_speaker(parser)
    flags.add_list(
        parser,
        "--resource",
        "NAME=VALUE",
        "file or model that a kind of a plug-in reads; may be repeated",
    )
    flags.add_output(parser, "FILE.jsonl", "a conversation a line; default: standard output")
    flags.add_json(parser)
    add_metric_options(parser, words, flag="--score")


def run(arguments: argparse.Namespace) -> int:
    """Write the broken conversations; the exit status is 4 if records could not be read."""
    from grice.cli.options import conversations
    from grice.cli.terminal import warn
    from grice.errors import RecordError
    from grice.files import write_lines
    from grice.perturb.run import material_for, named

    if arguments.files in ([], ["list"]):
        return _list(as_json=arguments.json)
    if arguments.metrics:
        check_options(arguments)
    kinds = [named(name) for name in arguments.kind or ["deam"]]
    records = list(conversations(arguments.files, arguments.format, arguments.columns))
    broken = [record for record in records if isinstance(record, RecordError)]
    sound = [record for record in records if not isinstance(record, RecordError)]
    material = material_for(kinds, sound, _resources(arguments.resource))
    lines = _lines(sound, kinds, arguments.seed, material)
    if arguments.output:
        write_lines(arguments.output, (line.encode() for line in lines))
    elif not arguments.metrics:
        sys.stdout.writelines(lines)
    if arguments.metrics:
        _score(arguments, kinds, sound, material)
    for error in broken:
        warn(str(error))
    return PARTIAL if broken else DONE


def _resources(words: Sequence[str]) -> dict[str, object]:
    from grice.errors import InputError

    resources: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise InputError(f"--resource {word}: write NAME=VALUE")
        resources[name] = value
    return resources


def _score(
    arguments: argparse.Namespace,
    kinds: Sequence[Perturbation],
    sound: Sequence[Conversation],
    material: Material,
) -> None:
    from grice.cli._meta import perturbed_view
    from grice.evaluation.perturbed import judge_pairs, perturbed_pairs

    name = ", ".join(arguments.files)
    pairs = perturbed_pairs(name, sound, kinds, seed=arguments.seed, material=material)
    with load_grader(arguments, arguments.speaker) as grader:
        block = judge_pairs(name, pairs, grader, f",seed:{arguments.seed}")
    emit(block, perturbed_view(block), as_json=arguments.json)


def _lines(
    sound: Sequence[Conversation], kinds: Sequence[Perturbation], seed: int, material: Material
) -> Iterator[str]:
    from grice.cli.terminal import note
    from grice.perturb.run import perturb_all
    from grice.records import to_json

    for kind in kinds:
        written = 0
        for perturbed in perturb_all(sound, kind, seed=seed, material=material):
            written += 1
            yield f"{to_json(perturbed)}\n"
        whole = len(sound) - written
        left = f"; nothing to break in {whole:,}: left out" if whole else ""
        note(f"{kind.name}: {written:,} of {plural(len(sound), 'conversation')} broken{left}")


def _list(*, as_json: bool) -> int:
    from grice.perturb.run import MIXTURES, find_perturbations, mixture

    kinds = list(find_perturbations().values())
    levels = dict.fromkeys(("text", "semantic", *(kind.level for kind in kinds)))
    groups = {level: [kind for kind in kinds if kind.level == level] for level in levels}
    groups["mixtures"] = [mixture(names) for names in MIXTURES.values()]
    rows = (
        {"name": kind.name, "level": level, "about": kind.summary}
        for level, group in groups.items()
        for kind in group
    )
    emit_rows(rows, _kinds_view(groups), as_json=as_json)
    return DONE


def _kinds_view(groups: Mapping[str, Sequence[Perturbation]]) -> View:
    for title, group in groups.items():
        yield Lines([title], style="bold")
        yield Table((), [(f"  {kind.name}", kind.summary) for kind in group])
