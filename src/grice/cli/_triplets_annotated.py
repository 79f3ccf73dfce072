"""``grice triplets stats`` and ``convert``: annotated links counted, and brought to other forms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._status import DONE, PARTIAL
from grice.cli.options import add_json
from grice.errors import plural

if TYPE_CHECKING:
    import argparse

    from grice.triplets.records import Dialogue
    from grice.triplets.statistics import Value

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser, action: str) -> None:
    """Declare the arguments of an action."""
    parser.add_argument("action", choices=(action,), help="count, or bring from and to brat")
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="CIDER's JSON lines, gzipped or not, or a folder of brat's .txt and .ann files",
    )
    parser.add_argument(
        "--invalid",
        choices=("refuse", "skip"),
        default="refuse",
        help="a triplet that cannot be ends the command (default), or is named and left out",
    )
    if action == "stats":
        add_json(parser)
        return
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="OUT",
        help="a name that ends in .jsonl or .jsonl.gz, or a folder for brat's files",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the action; the exit status is 4 if triplets were left out."""
    from grice.cli.terminal import warn
    from grice.triplets.annotated import read_annotated

    dialogues, problems = read_annotated(arguments.files, invalid=arguments.invalid)
    for problem in problems:
        warn(problem)
    act = _print_counts if arguments.action == "stats" else _convert
    act(arguments, dialogues)
    return PARTIAL if problems else DONE


def _print_counts(arguments: argparse.Namespace, dialogues: list[Dialogue]) -> None:
    """Print every count beside the printed one."""
    from grice.cli.output import print_json_lines
    from grice.cli.tables import print_lines, print_table
    from grice.triplets.statistics import compare_counts

    counts = compare_counts(dialogues)
    if arguments.json:
        print_json_lines(count._asdict() for count in counts)
        return
    marks = {None: "", True: "yes", False: "no"}
    print_table(
        ("count", "found", "CIDER's paper", "same"),
        [
            (count.name, _shown(count.found), _shown(count.printed), marks[count.same])
            for count in counts
        ],
    )
    print_lines(f"{count.name}: {count.why}" for count in counts if count.why)


def _shown(value: Value | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _convert(arguments: argparse.Namespace, dialogues: list[Dialogue]) -> None:
    """Write annotated dialogues in the other form."""
    from grice.cli.terminal import warn
    from grice.triplets.annotated import write_annotated

    write_annotated(arguments.output, dialogues)
    triplets = plural(sum(len(dialogue.triplets) for dialogue in dialogues), "triplet")
    warn(f"{arguments.output}: {plural(len(dialogues), 'dialogue')}, {triplets}")
