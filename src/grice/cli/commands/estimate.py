"""``grice estimate``: the mean rating of everything, from a few labels and a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli._emit import emit, names

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.estimate import EstimateResult

HELP = "estimate the mean rating of all conversations from ratings of a few"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument("labels", metavar="LABELS.jsonl", help="ratings of a random sample")
    parser.add_argument("scores", metavar="OUT.jsonl", help="what grice score wrote, of all")
    parser.add_argument("-m", "--metrics", metavar="NAMES", help="comma-separated; default all")
    parser.add_argument(
        "--scale", nargs=2, type=float, metavar=("LOW", "HIGH"), help="lowest and highest rating"
    )
    parser.add_argument(
        "--next", type=int, default=10, metavar="N", help="conversations to suggest (default 10)"
    )
    parser.add_argument("--level", type=float, default=0.95, help="confidence level (default 0.95)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the suggestions (default 0)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the mean beside what the labels alone give."""
    from grice.evaluation.estimate import estimate

    result = estimate(
        arguments.labels,
        arguments.scores,
        metrics=names(arguments.metrics),
        scale=None if arguments.scale is None else tuple(arguments.scale),
        suggest=arguments.next,
        level=arguments.level,
        seed=arguments.seed,
    )
    emit(result, _print, as_json=arguments.json)
    return 0


def _print(result: EstimateResult) -> None:
    from grice.cli.tables import bounds, number, print_lines, print_table

    print_lines(
        [f"{result.labelled:,} rated and {result.unlabelled:,} other {result.unit}s"], style="bold"
    )
    alone = result.labels_only
    rows = [("labels alone", number(alone.value), bounds(alone), "", "")]
    for metric in result.metrics:
        saved = number(metric.labels_saved, "+.0f")
        figures = (number(metric.mean.value), bounds(metric.mean), saved, f"{metric.weight:.2f}")
        rows.append((f"with {metric.metric}", *figures))
    level = f"{alone.level:.0%} interval"
    print_table(("mean rating", "", level, "labels saved", "weight"), rows)
    for metric in result.metrics:
        print_lines(metric.says)
    if alone.note:
        print_lines([alone.note], style="yellow")
    print_lines(result.remarks, style="yellow")
    if result.next:
        print_lines(["", f"to label next, by {result.by}"], style="bold")
        print_lines(
            (f"{item.conversation}  ({item.low:.3f} – {item.high:.3f})" for item in result.next),
            indent=2,
        )
        print_lines([result.rule], style="dim")
