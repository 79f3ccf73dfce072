"""``grice train``: models of your own."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Literal

from grice.cli.options import conversations, opened_models
from grice.cli.output import Output
from grice.errors import plural
from grice.tables import Lines, Table, bounds, value_and_bounds
from grice_research.commands.train_guide import guide
from grice_research.commands.train_published import published_actions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from grice.cli.derive import Input, OutputPath, Scale
    from grice.tables import View
    from grice_research.training.adapt import Report

HELP = "train your own metric, chatbot guide or published system"


def metric(
    model: str,
    files: Sequence[str],
    *,
    output: OutputPath,
    reading: Input,
    label: str = "label",
    scale: Scale = (0.0, 1.0),
    seed: int = 0,
) -> Output:
    """Fit any metric of replies or conversations to your own labels.

    Args:
        model (METRIC): name of a metric (grice list)
        files (FILE): conversations or single replies with labels
        output (MODEL): the folder of the new model
        label (NAME): field of the label
        seed: every split
    """
    from grice_research.training.adapt import train_metric
    from grice_research.training.labelled import labelled_replies

    data = labelled_replies(conversations(files, reading), label=label, scale=scale)
    with opened_models(keep=False) as models:
        report = train_metric(model, data, models, output, seed=seed)
    return Output([report], _view(report, "relevance", output))


def _action_of(name: str) -> Callable[..., object]:
    """Return :func:`_adapted` for a metric; relevance alone can be taught without labels."""

    def adapt(**given: object) -> object:
        return _adapted(name, **given)  # type: ignore[arg-type] # as the parser read them

    known = list(inspect.signature(_adapted).parameters.values())[1:]
    taken = [each for each in known if each.name != "unlabelled" or name == "relevance"]
    adapt.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    adapt.__name__ = name
    about = f"Adapt {name} to your own labelled conversations."
    adapt.__doc__ = f"{about}\n\n{(_adapted.__doc__ or '').partition(chr(10))[2]}"
    return adapt


def _adapted(
    name: Literal["engagement", "relevance"],
    files: Sequence[str],
    *,
    output: OutputPath,
    reading: Input,
    label: str = "label",
    scale: Scale = (0.0, 1.0),
    unlabelled: bool = False,
    seed: int = 0,
) -> Output:
    """Check the data, fit, measure on what was left out, write the model.

    Args:
        files (FILE): conversations or single replies with labels
        output (MODEL): the folder of the new model
        label (NAME): field of the label
        unlabelled: set each reply against those of other conversations
        seed: every split
    """
    from grice_research.training.adapt import train
    from grice_research.training.labelled import labelled_replies, true_and_false_replies

    records = conversations(files, reading)
    if unlabelled:
        data = true_and_false_replies(records, seed=seed)
    else:
        data = labelled_replies(records, label=label, scale=scale)
    with opened_models(keep=False) as models:
        report = train(name, data, models, output, seed=seed)
    return Output([report], _view(report, name, output))


def reward(
    model: str,
    files: Sequence[str],
    *,
    output: OutputPath,
    reading: Input,
    label: str = "label",
    scale: Scale = (0.0, 1.0),
    seed: int = 0,
) -> Output:
    """Fit the map from a judge's reward to a probability to your own labels.

    Args:
        model (MODEL): a reward model, such as model:NAME (docs/concepts/models.md)
        files (FILE): conversations or single replies with labels
        output (MODEL): the folder of the model with its map
        label (NAME): field of the label
        seed: every split
    """
    from grice_research.training.labelled import labelled_replies
    from grice_research.training.rewards import calibrate_reward

    data = labelled_replies(conversations(files, reading), label=label, scale=scale)
    with opened_models(keep=False) as models:
        report = calibrate_reward(model, data, models, output, seed=seed)
    rows = [(name, *value_and_bounds(error)) for name, error in report.errors.items()]
    title = "squared error on conversations left out"
    outcome = "it helps" if report.gain.side(0) == "above" else "that it helps is not shown"
    figures = f"{report.gain.value:+.3f} [{bounds(report.gain, '+.3f')}]"
    gain = f"gain of fitted over the mean label {figures}: {outcome}"
    use = f"use it: grice score FILE -m sensibleness --sensibleness-model file:{output}"
    lines = Lines([*report.says, gain, use])
    return Output([report], [Table((title, "mean", "95 % interval"), rows), lines])


def ACTIONS() -> list[Callable[..., object]]:  # noqa: N802 - the name that commands have
    """Return the actions, those of published systems included."""
    adapted = map(_action_of, ("engagement", "relevance"))
    return [*adapted, metric, reward, guide, *published_actions()]


def _view(report: Report, name: str, place: Path) -> View:
    replies = plural(report.n, "labelled reply", "labelled replies")
    conversations = plural(report.conversations, "conversation")
    half = f"{report.positive:.0%} at or above the middle of the scale"
    yield Lines([f"{replies} of {conversations}, {half}"], style="bold")
    rows = [
        (
            measured.measure.capitalize(),
            *value_and_bounds(measured.before),
            *value_and_bounds(measured.after),
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
    yield Lines([f"use it: grice score FILE -m {name} --{name}-model file:{place}"], style="dim")
