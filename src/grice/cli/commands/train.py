"""``grice train``: a shipped model made to know your replies, or a published system itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli.flags import (
    add_extras,
    add_format,
    add_json,
    add_output,
    add_scale,
    add_seed,
    add_trust_pickle,
)
from grice.cli.output import emit
from grice.errors import InputError, plural
from grice.tables import Lines, Table, bounds, number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.tables import View
    from grice.training.adapt import Report
    from grice.training.published.recipes import Recipe
    from grice.training.published.run import PublishedReport

HELP = "adapt relevance or engagement to your own labels, or train a published system"

MODELS = ("engagement", "relevance")
PUBLISHED = ("accent", "comet", "deam")
"""Recipes of published systems, as ``grice/data/recipes`` has them."""


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument(
        "model",
        choices=(*MODELS, *PUBLISHED),
        help="what is adapted to your labels, or the published system that is trained",
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="conversations or single replies with labels; for a published system its examples",
    )
    _configure_published(parser)
    add_output(parser, "MODEL", "the folder of the new model", required=True)
    add_format(parser)
    parser.add_argument(
        "--label", default="label", metavar="NAME", help="field of the label (default label)"
    )
    add_scale(parser, (0.0, 1.0))
    parser.add_argument(
        "--unlabelled",
        action="store_true",
        help="relevance only: set each reply against those of other conversations",
    )
    add_seed(parser, "every split")
    add_json(parser)
    add_extras(parser, "stats", "train")


def _configure_published(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "published systems",
        "with the hyper-parameters of the paper, each printed with its source; "
        "a training that was interrupted goes on with the same command",
    )
    group.add_argument(
        "--from",
        dest="base",
        type=Path,
        metavar="FOLDER",
        help="the checkpoint to start from: config.json, *.safetensors, tokenizer.json",
    )
    group.add_argument(
        "--test",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="examples to measure on; default: every tenth conversation of the others",
    )
    group.add_argument(
        "--set",
        dest="changes",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another hyper-parameter than the paper's; may be repeated",
    )
    add_trust_pickle(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check the data, fit, measure on what was left out, write the model."""
    if arguments.model in PUBLISHED:
        return _run_published(arguments)
    from grice.cli._reading import conversations
    from grice.cli.models import opened_models
    from grice.evaluation.trained import record_texts
    from grice.training.labelled import labelled_replies, true_and_false_replies
    from grice.training.own import train

    if arguments.unlabelled and arguments.model != "relevance":
        raise InputError("--unlabelled: only relevance can be learned without labels")
    if arguments.base or arguments.test or arguments.changes:
        raise InputError(f"--from, --test and --set are for {', '.join(PUBLISHED)}")
    records = conversations(arguments.files, arguments.format)
    if arguments.unlabelled:
        data = true_and_false_replies(records, seed=arguments.seed)
    else:
        data = labelled_replies(records, label=arguments.label, scale=tuple(arguments.scale))
    with opened_models(keep=False) as models:
        report = train(arguments.model, data, models, arguments.output, seed=arguments.seed)
    record_texts(
        arguments.output, {text for pair in data.pairs for text in (*pair.left, pair.right)}
    )
    emit(report, _view(report, arguments), as_json=arguments.json)
    return 0


def _view(report: Report, arguments: argparse.Namespace) -> View:
    replies = plural(report.n, "labelled reply", "labelled replies")
    conversations = plural(report.conversations, "conversation")
    half = f"{report.positive:.0%} at or above the middle of the scale"
    yield Lines([f"{replies} of {conversations}, {half}"], style="bold")
    rows = [
        (
            measured.measure.capitalize(),
            number(measured.before.value),
            bounds(measured.before),
            number(measured.after.value),
            bounds(measured.after),
        )
        for measured in report.measured
    ]
    columns = ("on conversations left out", "shipped", "95 % interval", "yours", "95 % interval")
    yield Table(columns, rows)
    yield Lines(report.says)
    gain = report.measured[0].gain
    if gain is not None:
        outcome = "it helps" if report.helps else "that it helps is not shown at this n"
        figures = f"{gain.value:+.3f} [{bounds(gain, '+.3f')}]"
        style = "green" if report.helps else "yellow"
        yield Lines([f"gain in Spearman {figures}: {outcome}"], style=style)
    name, place = arguments.model, arguments.output
    yield Lines([f"use it: grice score FILE -m {name} --{name}-model file:{place}"], style="dim")


def _run_published(arguments: argparse.Namespace) -> int:
    from grice.cli.output import show
    from grice.training.published.recipes import find_recipe
    from grice.training.published.run import Order, train_published

    recipe = find_recipe(arguments.model)
    if arguments.base is None:
        raise InputError(
            f"{recipe.name}: name the checkpoint to start from, --from FOLDER; the paper starts "
            f"from {recipe.base}"
        )
    order = Order(
        recipe,
        [Path(file) for file in arguments.files],
        arguments.base,
        arguments.output,
        arguments.test,
        arguments.changes,
        arguments.trust_pickle,
    )
    recipe.values(order.changes)  # before anything is printed
    if not arguments.json:
        show(_recipe_view(recipe, order.changes))
    report = train_published(order)
    emit(report, _published_view(report, arguments), as_json=arguments.json)
    return 0


def _recipe_view(recipe: Recipe, changes: Sequence[str]) -> View:
    changed = {name: value for name, _, value in (change.partition("=") for change in changes)}
    rows = [
        (name, str(changed.get(name, stated.value)), _source(stated.source, name in changed))
        for name, stated in recipe.hyperparameters.items()
    ]
    yield Lines([recipe.summary], style="bold")
    yield Table(("hyper-parameter", "value", "where it is stated"), rows, words=2)


def _source(source: str, changed: bool) -> str:  # noqa: FBT001
    return f"yours; {source}" if changed else source


def _published_view(report: PublishedReport, arguments: argparse.Namespace) -> View:
    first, last = report.curve[0], report.curve[-1]
    yield Lines(
        [
            f"{plural(report.examples, 'example')} on {report.device}: loss {first.loss:.3f} to "
            f"{last.loss:.3f} in {plural(last.step, 'step')}"
        ],
        style="bold",
    )
    rows = [
        ("before", number(report.before.value), bounds(report.before)),
        ("after", number(report.after.value), bounds(report.after)),
    ]
    yield Table((f"{report.held_out} held out", "measure", "95 % interval"), rows)
    yield Lines([f"{report.measure}; chance is 0.5"])
    yield Lines([f"model: file:{arguments.output}; curve: curve.svg in it"], style="dim")
