"""``grice report``: the page of a run, from scores that are there."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._status import DONE
from grice.cli.output import print_json_lines

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

HELP = "write the HTML report of a run from its scores or a folder of shards"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument(
        "scores", metavar="OUT", help="what grice score wrote: a file, or a folder of shards"
    )
    parser.add_argument(
        "conversations", nargs="+", metavar="FILE", help="the conversations that were scored"
    )
    flags.add_output(parser, "OUT.html", "the page", required=True)
    flags.add_plugins(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the page, and print its summary."""
    from grice.cli.terminal import note, print_summary
    from grice.report.writer import report_scores
    from grice.scoring.summary import notes

    summary = report_scores(
        arguments.scores,
        arguments.conversations,
        arguments.output,
        plugins=arguments.plugin,
        command=shlex.join(["grice", *arguments.typed]),
    )
    for line in notes(summary):
        note(line)
    if arguments.json:
        print_json_lines([summary.record()])
    else:
        print_summary(summary)
    return DONE
