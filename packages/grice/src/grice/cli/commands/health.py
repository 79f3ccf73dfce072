"""``grice health``: can a metric be trusted on your file?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli._limits import limits_view
from grice.cli._status import PARTIAL
from grice.cli.options import add_sampled_conversations, check_options, load_grader
from grice.cli.output import emit
from grice.errors import plural
from grice.tables import Lines, Table, bounds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.health import HealthResult
    from grice.evaluation.health_card import HealthCard
    from grice.tables import View

HELP = "say in words how far metrics can be trusted on your file"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    add_sampled_conversations(parser, words, about="your conversations", most=2000, draw="the draw")
    parser.add_argument(
        "--scores",
        action="append",
        default=[],
        metavar="FILE",
        help="judge the scores in here (what grice score wrote; of another tool: FILE#COLUMN) "
        "instead of computing them",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print a card per metric; the exit status is 4 if records could not be read, else 0."""
    from grice.cli._reading import conversations
    from grice.evaluation.health import health
    from grice.evaluation.recorded import RecordedScores

    check_options(arguments)
    records = conversations(arguments.files, arguments.format, arguments.columns)
    most, seed = arguments.most, arguments.seed
    if arguments.scores:
        result = health(records, RecordedScores(arguments.scores), most=most, seed=seed)
    else:
        with load_grader(arguments, arguments.speaker) as grader:
            result = health(records, grader.scorer, most=most, seed=seed, encode=grader.encode)
    emit(result, _view(result), as_json=arguments.json)
    return PARTIAL if result.broken else 0


def _view(result: HealthResult) -> View:
    yield Lines([f"{result.conversations:,} of {plural(result.of, 'conversation')}"], style="bold")
    for card in result.cards:
        counts = ", ".join(f"{n:,} {status}" for status, n in card.counts.items() if n)
        yield Lines(["", f"{card.metric}: {counts or 'nothing to judge'}"], style="bold")
        yield Table(("", "figure", "95 % interval", "n"), _rows(card))
        if not card.warnings:
            yield Lines([f"nothing found against {card.metric} on this file"], style="green")
        yield Lines(card.warnings, style="bold red")
        yield Lines(card.remarks, style="dim")
        yield from limits_view([card.metric])
    yield Lines(result.problems, style="yellow")


def _rows(card: HealthCard) -> list[tuple[str, str, str, str]]:
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
