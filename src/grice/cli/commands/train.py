"""``grice train``: a shipped model made to know your replies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grice.errors import InputError, counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.training.adapt import Report

HELP = "adapt relevance or engagement to your own labelled conversations"

MODELS = ("engagement", "relevance")


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument("model", choices=MODELS, help="what is adapted")
    parser.add_argument(
        "--data",
        required=True,
        action="append",
        metavar="FILE",
        help="conversations or single replies with labels; may be repeated",
    )
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="MODEL", help="folder of the new model"
    )
    parser.add_argument("--format", metavar="NAME", help="format of the files (see grice list)")
    parser.add_argument(
        "--label", default="label", metavar="NAME", help="field of the label (default label)"
    )
    parser.add_argument(
        "--scale",
        nargs=2,
        type=float,
        default=(0.0, 1.0),
        metavar=("LOW", "HIGH"),
        help="lowest and highest label (default 0 1)",
    )
    parser.add_argument(
        "--unlabelled",
        action="store_true",
        help="relevance only: set each reply against those of other conversations",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of every split (default 0)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Check the data, fit, measure on what was left out, write the model."""
    from grice.cli._reading import conversations
    from grice.evaluation.trained import record_texts
    from grice.records import to_json
    from grice.runtime.models import Models, default_workers
    from grice.training.labelled import labelled_replies, true_and_false_replies
    from grice.training.own import train

    if arguments.unlabelled and arguments.model != "relevance":
        raise InputError("--unlabelled: only relevance can be learned without labels")
    records = conversations(arguments.data, arguments.format)
    if arguments.unlabelled:
        data = true_and_false_replies(records, seed=arguments.seed)
    else:
        data = labelled_replies(records, label=arguments.label, scale=tuple(arguments.scale))
    models = Models(mode="fast", workers=default_workers(), cache=None)
    try:
        report = train(arguments.model, data, models, arguments.output, seed=arguments.seed)
    finally:
        models.close()
    record_texts(
        arguments.output, {text for pair in data.pairs for text in (*pair.left, pair.right)}
    )
    if arguments.json:
        sys.stdout.write(to_json(report) + "\n")
    else:
        _print(report, arguments)
    return 0


def _print(report: Report, arguments: argparse.Namespace) -> None:
    from grice.cli.tables import bounds, number, print_lines, print_table

    print_lines(
        [
            f"{counted(report.n, 'labelled reply', 'labelled replies')} of "
            f"{counted(report.conversations, 'conversation')}, "
            f"{report.positive:.0%} at or above the middle of the scale"
        ],
        style="bold",
    )
    print_table(
        ("on conversations left out", "shipped", "95 % interval", "yours", "95 % interval"),
        [
            (
                one.measure.capitalize(),
                number(one.before.value, ".3f"),
                bounds(one.before, ".3f"),
                number(one.after.value, ".3f"),
                bounds(one.after, ".3f"),
            )
            for one in report.measured
        ],
    )
    print_lines(report.says)
    gain = report.measured[0].gain
    if gain is not None:
        outcome = "it helps" if report.helps else "that it helps is not shown at this n"
        print_lines(
            [f"gain in Spearman {gain.value:+.3f} [{bounds(gain, '+.3f')}]: {outcome}"],
            style="green" if report.helps else "yellow",
        )
    name, place = arguments.model, arguments.output
    print_lines([f"use it: grice score FILE -m {name} --{name}-model file:{place}"], style="dim")
