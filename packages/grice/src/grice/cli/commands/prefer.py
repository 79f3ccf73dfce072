"""``grice prefer``: preference pairs for training, from candidates that metrics judge."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._candidates import add_candidates, ranked_candidates
from grice.cli._status import DONE, PARTIAL
from grice.cli.output import emit_rows
from grice.errors import plural
from grice.tables import Lines, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.tables import View
    from grice_tasks.steering.prefer import Preference

HELP = "make preference pairs for training from candidates, by metrics"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    add_candidates(parser, words, "a pair a line: prompt, chosen, rejected")
    flags.add_number(parser, "--margin", "M", "least difference of the two values", 0.1, type=float)
    parser.add_argument(
        "--length-ratio",
        type=float,
        default=math.inf,
        metavar="R",
        help="the longer reply has at most R times the words of the shorter one",
    )
    flags.add_switch(parser, "--agreement", "no metric may prefer the rejected reply")


def run(arguments: argparse.Namespace) -> int:
    """Write the pairs; the exit status is 4 if records could not be used."""
    from grice.files import write_lines
    from grice.records import json_line
    from grice_tasks.steering.prefer import Filters, preferences

    filters = Filters(arguments.margin, arguments.length_ratio, arguments.agreement)
    filters.check()
    ranking = ranked_candidates(arguments)
    refused: Counter[str] = Counter()
    pairs = list(preferences(ranking.ranked, filters, refused))
    if arguments.output is not None:
        write_lines(arguments.output, (json_line(pair) + b"\n" for pair in pairs))
    emit_rows(pairs, _view(pairs, refused), as_json=arguments.json)
    return PARTIAL if ranking.broken else DONE


def _view(pairs: Sequence[Preference], refused: Counter[str]) -> View:
    of = plural(len(pairs) + refused.total(), "context")
    yield Lines([f"{plural(len(pairs), 'pair')} from {of}"], style="bold")
    yield Lines([f"{count:,} left out: {why}" for why, count in refused.most_common()], indent=2)
    if pairs:
        longer = sum(
            len(pair.chosen[0]["content"].split()) > len(pair.rejected[0]["content"].split())
            for pair in pairs
        )
        margins = sorted(pair.margin for pair in pairs)
        yield Table(
            (),
            [
                ("median margin", f"{margins[len(margins) // 2]:.3f}"),
                ("the chosen reply is the longer one", f"{longer / len(pairs):.0%}"),
            ],
        )
