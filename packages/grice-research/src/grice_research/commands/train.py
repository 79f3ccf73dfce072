"""``grice train``: models of your own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from grice.cli.derive import add_extras
from grice.cli.output import emit
from grice.errors import InputError, plural
from grice.tables import Lines, Table, bounds, number
from grice_research.commands import train_guide
from grice_tasks import flags
from grice_tasks.flags import Action, add_actions, run_action

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.tables import View
    from grice_research.training.adapt import Report

HELP = "train your own metric or chatbot guide"

ANY = "fit any metric of replies or conversations to your own labels"
ADAPTED = "adapt {} to your own labelled conversations"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the models that can be trained, each with its arguments."""
    actions = [
        Action(name, ADAPTED.format(name), partial(_configure, name=name), _adapt)
        for name in ("engagement", "relevance")
    ]
    actions.append(Action("metric", ANY, partial(_configure, name=None), _adapt))
    guide = partial(train_guide.configure, words=words)
    actions.append(Action("guide", train_guide.ABOUT, guide, train_guide.run))
    add_actions(parser, actions)


run = run_action


def _configure(parser: argparse.ArgumentParser, name: str | None) -> None:
    if name is None:
        parser.add_argument("model", metavar="METRIC", help="a metric (grice list)")
    else:
        parser.set_defaults(model=name)
    parser.set_defaults(any=name is None)
    flags.add_files(parser, "conversations or single replies with labels")
    flags.add_output(parser, "MODEL", "the folder of the new model", required=True)
    flags.add_input(parser)
    parser.add_argument(
        "--label", default="label", metavar="NAME", help="field of the label (default label)"
    )
    flags.add_scale(parser, (0.0, 1.0))
    if name is None:
        parser.set_defaults(unlabelled=False)
    else:
        flags.add_switch(
            parser,
            "--unlabelled",
            "relevance only: set each reply against those of other conversations",
        )
    flags.add_seed(parser, "every split")
    flags.add_json(parser)
    add_extras(parser, "stats")


def _adapt(arguments: argparse.Namespace) -> int:
    """Check the data, fit, measure on what was left out, write the model."""
    from grice.cli.options import conversations, opened_models
    from grice_research.training.adapt import train, train_metric
    from grice_research.training.labelled import labelled_replies, true_and_false_replies

    if arguments.unlabelled and arguments.model != "relevance":
        raise InputError("--unlabelled: only relevance can be learned without labels")
    records = conversations(arguments.files, arguments)
    if arguments.unlabelled:
        data = true_and_false_replies(records, seed=arguments.seed)
    else:
        data = labelled_replies(records, label=arguments.label, scale=tuple(arguments.scale))
    with opened_models(keep=False) as models:
        given = arguments.model, data, models, arguments.output
        if arguments.any:
            report = train_metric(*given, seed=arguments.seed)
        else:
            report = train(*given, seed=arguments.seed)
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
    name, place = "relevance" if arguments.any else arguments.model, arguments.output
    yield Lines([f"use it: grice score FILE -m {name} --{name}-model file:{place}"], style="dim")
