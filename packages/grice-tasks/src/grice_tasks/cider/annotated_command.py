"""``grice triplets stats`` and ``convert``: annotated links counted, and brought to other forms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._status import DONE, PARTIAL
from grice.cli.output import emit_rows
from grice.errors import plural
from grice.tables import Lines, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.tables import View
    from grice_tasks.cider.records import Dialogue
    from grice_tasks.cider.statistics import Counted, Value


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
        flags.add_json(parser)
        return
    about = "dialogues under a name in .jsonl or .jsonl.gz, or a folder of brat's files"
    flags.add_output(parser, "OUT", about, required=True)


def run(arguments: argparse.Namespace) -> int:
    """Run the action; the exit status is 4 if triplets were left out."""
    from grice.cli.terminal import warn
    from grice_tasks.cider.annotated import read_annotated

    dialogues, problems = read_annotated(arguments.files, invalid=arguments.invalid)
    for problem in problems:
        warn(problem)
    act = _print_counts if arguments.action == "stats" else _convert
    act(arguments, dialogues)
    return PARTIAL if problems else DONE


def _print_counts(arguments: argparse.Namespace, dialogues: list[Dialogue]) -> None:
    """Print every count beside the printed one."""
    from grice_tasks.cider.statistics import compare_counts

    counts = compare_counts(dialogues)
    rows = (count._asdict() for count in counts)
    emit_rows(rows, _counts_view(counts), as_json=arguments.json)


def _counts_view(counts: Sequence[Counted]) -> View:
    marks = {None: "", True: "yes", False: "no"}
    rows = [
        (count.name, _shown(count.value), _shown(count.printed), marks[count.same])
        for count in counts
    ]
    yield Table(("count", "found", "CIDER's paper", "same"), rows)
    yield Lines(f"{count.name}: {count.why}" for count in counts if count.why)


def _shown(value: Value | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _convert(arguments: argparse.Namespace, dialogues: list[Dialogue]) -> None:
    """Write annotated dialogues in the other form."""
    from grice.cli.terminal import note
    from grice_tasks.cider.annotated import write_annotated

    write_annotated(arguments.output, dialogues)
    triplets = plural(sum(len(dialogue.triplets) for dialogue in dialogues), "triplet")
    note(f"{arguments.output}: {plural(len(dialogues), 'dialogue')}, {triplets}")
