"""``grice estimate``: the mean rating of everything, from a few labels and a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.options import names
from grice.cli.output import emit
from grice.tables import Lines, Table, bounds, number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.estimate import EstimateResult
    from grice.tables import View

HELP = "estimate the mean rating of all conversations from a few ratings"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument("labels", metavar="LABELS", help="ratings of a random sample")
    parser.add_argument(
        "scores",
        metavar="OUT.jsonl",
        help="what grice score wrote, of all; of another tool: FILE#COLUMN",
    )
    flags.add_metrics(parser)
    flags.add_scale(parser)
    flags.add_level(parser, 0.95)
    flags.add_json(parser)
    flags.add_extras(parser, "stats")


def run(arguments: argparse.Namespace) -> int:
    """Print the mean beside what the labels alone give."""
    from grice.evaluation.estimate import estimate

    result = estimate(
        arguments.labels,
        arguments.scores,
        metrics=names(arguments.metrics),
        scale=None if arguments.scale is None else tuple(arguments.scale),
        level=arguments.level,
    )
    emit(result, _view(result), as_json=arguments.json)
    return 0


def _view(result: EstimateResult) -> View:
    rated, others = f"{result.labelled:,} rated", f"{result.unlabelled:,} other {result.unit}s"
    yield Lines([f"{rated} and {others}"], style="bold")
    alone = result.labels_only
    rows = [("labels alone", number(alone.value), bounds(alone), "", "")]
    for metric in result.metrics:
        saved = number(metric.labels_saved, "+.0f")
        figures = (number(metric.mean.value), bounds(metric.mean), saved, f"{metric.weight:.2f}")
        rows.append((f"with {metric.metric}", *figures))
    yield Table(("mean rating", "", f"{alone.level:.0%} interval", "labels saved", "weight"), rows)
    yield Lines(line for metric in result.metrics for line in metric.says)
    yield Lines([*([alone.note] if alone.note else []), *result.remarks], style="yellow")
