"""``grice train guide``: a guide that steers a language model towards what metrics ask for."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING

from grice.cli.derive import names
from grice.cli.options import add_metric_options, check_options, loader
from grice.cli.output import emit
from grice.cli.streams import warn
from grice.errors import InputError, RecordError, plural
from grice.tables import Lines, Table, number
from grice_tasks import flags
from grice_tasks.steering.command import BASE, open_base

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.data import Conversation
    from grice.tables import View
    from grice_tasks.steering.guide_training import GuideReport

ABOUT = "train a guide that steers a language model towards replies that metrics rate high"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    flags.add_files(
        parser, "conversations; of each the model answers up to 4 turns at a random position"
    )
    parser.add_argument(
        "--base", default=BASE, metavar="MODEL", help=f"the model to be steered (default {BASE})"
    )
    flags.add_number(parser, "--contexts", "N", "the first N of them (default all)")
    flags.add_number(parser, "--replies", "N", "replies drawn for each context", 4)
    flags.add_number(
        parser, "--threshold", "X", "a score from here on satisfies a metric", 0.5, type=float
    )
    flags.add_number(parser, "--temperature", "T", "of the base model", 0.7, type=float)
    flags.add_number(
        parser,
        "--consistency",
        "W",
        "how far a prefix is held to the expectation of its continuations, 0 to 1",
        0.0,
        type=float,
    )
    flags.add_input(parser)
    flags.add_output(parser, "DIR", "the folder of the guide", required=True)
    flags.add_seed(parser, "positions, replies, first weights")
    flags.add_json(parser)
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Draw replies, label them, fit, write the guide."""
    from grice.models.folder import check_folder
    from grice_tasks.steering.guide_training import (
        Fitting,
        Sampling,
        labelled_samples,
        save_guide,
        train_guide,
    )

    metrics = names(arguments.metrics) or list(arguments.registry.defaults())
    check_options(arguments, metrics)
    fitting = Fitting(consistency=arguments.consistency, seed=arguments.seed)
    sampling = Sampling(
        replies=arguments.replies,
        temperature=arguments.temperature,
        threshold=arguments.threshold,
        seed=arguments.seed,
    )
    check_folder(arguments.output)  # not after minutes of drawing
    contexts = _contexts(arguments)
    with ExitStack() as stack:
        grader = stack.enter_context(loader(arguments)(metrics))
        base = open_base(arguments, arguments.base, stack)
        samples = labelled_samples(contexts, base, grader.scorer, sampling)
        guide, report = train_guide(samples, base, metrics, sampling, fitting)
    about = f"{report.replies} replies of {guide.settings.base} to {report.contexts} contexts"
    save_guide(arguments.output, guide, report, [about], seed=arguments.seed)
    emit(report, _view(report, arguments), as_json=arguments.json)
    return 0


def _contexts(arguments: argparse.Namespace) -> list[Conversation]:
    from grice.cli.options import conversations
    from grice_tasks.steering.guide_training import draw_contexts

    contexts = []
    records = conversations(arguments.files, arguments)
    for record in draw_contexts(records, seed=arguments.seed):
        if isinstance(record, RecordError):
            warn(str(record))
        else:
            contexts.append(record)
    if not contexts:
        raise InputError(
            f"{', '.join(arguments.files)}: no context to learn from: conversations with turns "
            "are needed"
        )
    return list(islice(contexts, arguments.contexts))


def _view(report: GuideReport, arguments: argparse.Namespace) -> View:
    replies = plural(report.replies, "reply", "replies")
    contexts = plural(report.contexts, "context")
    yield Lines([f"{replies} to {contexts}, {report.positions:,} tokens"], style="bold")
    shares = (f"{name} {share:.0%}" for name, share in report.satisfied.items())
    yield Lines([f"at {arguments.threshold:g} or above: {', '.join(shares)}"])
    epochs = range(1, len(report.training_loss) + 1)
    printed = {1, 2, 3, 5, 10, 20, 30, report.epoch, len(epochs)}
    yield Table(
        ("epoch", "cross entropy", "on contexts left out"),
        [
            ("0, the share alone", "–", number(report.prior_loss)),
            *(
                (f"{epoch}{', kept' * (epoch == report.epoch)}", number(learned), number(left_out))
                for epoch, learned, left_out in zip(
                    epochs, report.training_loss, report.validation_loss, strict=True
                )
                if epoch in printed
            ),
        ],
    )
    if report.auc:
        areas = (f"{name} {area:.2f}" for name, area in report.auc.items())
        yield Lines([f"area under the curve, by part of the reply: {', '.join(areas)}"])
    if report.epoch == 0:
        yield Lines(
            ["nothing was learned that holds for contexts left out: this guide changes nothing; "
             "give more contexts"],
            style="yellow",
        )  # fmt: skip
    yield Lines([f"use it: grice steer --guide {arguments.output}"], style="dim")
