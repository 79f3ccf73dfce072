"""``grice sanity``: metrics against variants of your conversations that are known to be bad."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli._status import PARTIAL
from grice.cli.options import add_sampled_conversations, check_options, load_grader
from grice.cli.output import emit
from grice.errors import plural
from grice.tables import Lines, Table, bounds, number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.sanity import SanityResult, SanityRow
    from grice.tables import View

HELP = "check that metrics do not reward known-bad variants of your conversations"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    add_sampled_conversations(
        parser, words, about="ordinary conversations", most=500, draw="every choice"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the table; the exit status is 4 if records could not be read, else 0."""
    from grice.cli._reading import conversations
    from grice.evaluation.sanity import sanity

    check_options(arguments)
    records = conversations(arguments.files, arguments.format, arguments.columns)
    with load_grader(arguments, arguments.speaker) as grader:
        result = sanity(records, grader.scorer, most=arguments.most, seed=arguments.seed)
    emit(result, _view(result), as_json=arguments.json)
    return PARTIAL if result.broken else 0


LEGEND = (
    "rate: how often the bad variant scores lower, ties half; chance is 0.5",
    "≤: share that scores lower or equal, as every bad variant should",
    "discriminates: the interval of the rate lies above chance; rewarded: below it;",
    "blind: it holds chance",
)


def _view(result: SanityResult) -> View:
    of = plural(result.of, "conversation")
    yield Lines([f"{result.conversations:,} of {of}, one reply each"], style="bold")
    columns = ("variant", "rate", "interval", "≤", "<", "=", ">", "abst", "verdict")
    for metric in result.signatures:
        rows = [row for row in result.rows if row.metric == metric]
        yield Lines([metric], style="bold")
        yield Table(columns, map(_row, rows))
        failed = (
            f"{row.failed:,} of {row.variant!r} failed: left out" for row in rows if row.failed
        )
        yield Lines(failed, style="bold red", indent=2)
        if missing := result.unjudged[metric]:
            replies = plural(missing, "reply", "replies")
            yield Lines([f"{replies} not judged as said: left out"], indent=2)
    yield Lines(LEGEND, style="dim")
    yield Lines(result.problems, style="yellow")


def _row(row: SanityRow) -> Sequence[str]:
    counts = (f"{n:,}" for n in (row.lower, row.tied, row.higher, row.abstained))
    rate = row.rate.value if row.rate else None
    held = number(row.held.value if row.held else None, ".0%")
    return (row.variant, number(rate), bounds(row.rate, ".2f"), held, *counts, row.verdict)
