"""``grice health``: can a metric be trusted on your file?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli._emit import emit
from grice.cli._status import PARTIAL
from grice.cli.options import add_metric_options, load_grader, positive
from grice.errors import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.health import HealthCard, HealthResult

HELP = "say in words how far metrics can be trusted on your file"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="your conversations")
    parser.add_argument("--format", metavar="NAME", help="format of the files (see grice list)")
    parser.add_argument(
        "--speaker", action="append", default=[], metavar="NAME", help="judge only this speaker"
    )
    parser.add_argument(
        "--most", type=positive, default=2000, metavar="N", help="conversations (default 2000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw (default 0)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Print a card per metric; the exit status is 4 if records could not be read, else 0."""
    from grice.cli._reading import conversations
    from grice.evaluation.health import health

    records = conversations(arguments.files, arguments.format)
    with load_grader(arguments, arguments.speaker) as grader:
        result = health(
            records,
            grader.scorer,
            most=arguments.most,
            seed=arguments.seed,
            encode=grader.encode,
        )
    emit(result, _print, as_json=arguments.json)
    return PARTIAL if result.broken else 0


def _print(result: HealthResult) -> None:
    from grice.cli.tables import print_limits, print_lines, print_table
    from grice.metrics.limits import summed_up

    print_lines([f"{result.conversations:,} of {counted(result.of, 'conversation')}"], style="bold")
    for card in result.cards:
        counts = ", ".join(f"{n:,} {status}" for status, n in card.counts.items() if n)
        print_lines(["", f"{card.metric}: {counts or 'nothing to judge'}"], style="bold")
        print_table(("", "figure", "95 % interval", "n"), _rows(card))
        if not card.warnings:
            print_lines([f"nothing found against {card.metric} on this file"], style="green")
        print_lines(card.warnings, style="bold red")
        print_lines(card.remarks, style="dim")
        print_limits({card.metric: summed_up(card.metric)})
    print_lines(result.problems, style="yellow")


def _rows(card: HealthCard) -> list[tuple[str, str, str, str]]:
    from grice.cli.tables import bounds

    rows = []
    for what, estimate, form in (
        ("mean", card.mean, ".3f"),
        ("Spearman with log length", card.length_bias, "+.2f"),
        ("Spearman with position", card.position_bias, "+.2f"),
        ("at the top", card.ceiling, ".1%"),
        ("at the bottom", card.floor, ".1%"),
        ("truncated", card.truncated, ".1%"),
        ("abstained", card.abstained, ".1%"),
        ("failed", card.failed, ".1%"),
        ("nearest known event", card.nearest_known, ".2f"),
        ("out of domain", card.outside, ".1%"),
    ):
        if estimate is not None:
            figure = format(estimate.value, form)
            rows.append((what, figure, bounds(estimate, form), f"{estimate.n:,}"))
    return rows
