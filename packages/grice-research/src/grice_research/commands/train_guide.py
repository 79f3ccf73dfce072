"""``grice train guide``: a guide that steers a language model towards what metrics ask for."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING

from grice.cli.derive import names
from grice.cli.options import check_options, conversations, loader, usable
from grice.cli.output import Output
from grice.errors import InputError, plural
from grice.tables import Lines, Table, number
from grice_tasks.steering.command import BASE, open_base

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.cli.derive import Count, Input, OutputPath, Scoring
    from grice.tables import View
    from grice_tasks.steering.guide_training import GuideReport


def guide(
    files: Sequence[str],
    *,
    base: str = BASE,
    contexts: Count | None = None,
    replies: Count = 4,
    threshold: float = 0.5,
    temperature: float = 0.7,
    consistency: float = 0.0,
    reading: Input,
    output: OutputPath,
    seed: int = 0,
    scoring: Scoring,
) -> Output:
    """Train a guide that steers a language model towards replies that metrics rate high.

    Args:
        files (FILE): conversations; of each the model answers up to 4 turns at a random position
        base (MODEL): the model to be steered
        contexts (N): the first N of them (default all)
        replies (N): replies drawn for each context
        threshold (X): a score from here on satisfies a metric
        temperature (T): of the base model
        consistency (W): how far a prefix is held to the expectation of its continuations, 0 to 1
        output (DIR): the folder of the guide
        seed: positions, replies, first weights
    """
    from grice.models.folder import check_folder
    from grice_tasks.steering.guide_training import (
        Fitting,
        Sampling,
        draw_contexts,
        labelled_samples,
        save_guide,
        train_guide,
    )

    metrics = names(scoring.metrics) or list(scoring.registry.defaults())
    check_options(scoring, metrics)
    fitting = Fitting(consistency=consistency, seed=seed)
    sampling = Sampling(replies=replies, temperature=temperature, threshold=threshold, seed=seed)
    check_folder(output)  # not after minutes of drawing
    drawn = list(usable(draw_contexts(conversations(files, reading), seed=seed), []))
    if not drawn:
        raise InputError(
            f"{', '.join(files)}: no context to learn from: conversations with turns are needed"
        )
    chosen = list(islice(drawn, contexts))
    with ExitStack() as stack:
        grader = stack.enter_context(loader(scoring)(metrics))
        model = open_base(scoring, base, stack)
        samples = labelled_samples(chosen, model, grader.scorer, sampling)
        trained, report = train_guide(samples, model, metrics, sampling, fitting)
    about = f"{report.replies} replies of {trained.settings.base} to {report.contexts} contexts"
    save_guide(output, trained, report, [about], seed=seed)
    return Output([report], _view(report, threshold, output))


def _view(report: GuideReport, threshold: float, output: Path) -> View:
    replies = plural(report.replies, "reply", "replies")
    contexts = plural(report.contexts, "context")
    yield Lines([f"{replies} to {contexts}, {report.positions:,} tokens"], style="bold")
    shares = (f"{name} {share:.0%}" for name, share in report.satisfied.items())
    yield Lines([f"at {threshold:g} or above: {', '.join(shares)}"])
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
            [
                "nothing was learned that holds for contexts left out: this guide changes nothing; "
                "give more contexts"
            ],
            style="yellow",
        )
    yield Lines([f"use it: grice steer --guide {output}"], style="dim")
