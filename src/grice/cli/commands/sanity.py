"""``grice sanity``: metrics against variants of your conversations that are known to be bad."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli._emit import emit
from grice.cli._status import PARTIAL
from grice.cli.options import add_metric_options, load_grader, positive
from grice.errors import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.sanity import SanityResult, SanityRow

HELP = "check that metrics do not reward known-bad variants of your conversations"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="ordinary conversations")
    parser.add_argument("--format", metavar="NAME", help="format of the files (see grice list)")
    parser.add_argument(
        "--speaker", action="append", default=[], metavar="NAME", help="judge only this speaker"
    )
    parser.add_argument(
        "--most", type=positive, default=500, metavar="N", help="conversations (default 500)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of every choice (default 0)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Print the table; the exit status is 4 if records could not be read, else 0."""
    from grice.cli._reading import conversations
    from grice.evaluation.sanity import sanity

    records = conversations(arguments.files, arguments.format)
    with load_grader(arguments, arguments.speaker) as grader:
        result = sanity(records, grader.scorer, most=arguments.most, seed=arguments.seed)
    emit(result, _print, as_json=arguments.json)
    return PARTIAL if result.broken else 0


def _print(result: SanityResult) -> None:
    from grice.cli.tables import print_lines, print_table

    of = counted(result.of, "conversation")
    print_lines([f"{result.conversations:,} of {of}, one reply each"], style="bold")
    columns = ("variant", "rate", "interval", "≤", "<", "=", ">", "abst", "verdict")
    for metric in result.signatures:
        print_lines([f"\n{metric}"], style="bold")
        print_table(columns, (_row(row) for row in result.rows if row.metric == metric))
        lost = (row for row in result.rows if row.metric == metric and row.failed)
        failed = (f"{row.failed:,} of {row.variant!r} failed: left out" for row in lost)
        print_lines(failed, style="bold red", indent=2)
        if missing := result.unjudged[metric]:
            replies = counted(missing, "reply", "replies")
            print_lines([f"{replies} not judged as said: left out"], indent=2)
    print_lines(
        [
            "rate: how often the bad variant scores lower, ties half; chance is 0.5",
            "≤: share that scores lower or equal, as every bad variant should",
            "told apart: the interval of the rate lies above chance; rewarded: below it;",
            "blind: it holds chance",
        ],
        style="dim",
    )
    print_lines(result.problems, style="yellow")


def _row(row: SanityRow) -> Sequence[str]:
    from grice.cli.tables import bounds, number

    counts = (f"{n:,}" for n in (row.lower, row.tied, row.higher, row.abstained))
    rate = row.rate.value if row.rate else None
    held = number(row.held.value if row.held else None, ".0%")
    return (row.variant, number(rate), bounds(row.rate, ".2f"), held, *counts, row.verdict)
