"""Training of a published system: from files and a checkpoint to a model folder."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from grice.errors import InputError
from grice.files import make_folder
from grice.models.folder import CardValue, check_folder, write_card
from grice.models.loader import find_model_type
from grice.stats.comparison import proportion
from grice.stats.estimate import Estimate
from grice_research.published_models.convert import checkpoint as opened_checkpoint
from grice_research.training.published.course import CURVE, Course, Point
from grice_research.training.published.examples import (
    TrainingExample,
    by_topic,
    in_order,
    read_examples,
)
from grice_research.training.published.learners import Learner, open_learner, torch_module
from grice_research.training.published.recipes import HyperParameters, Recipe
from grice_research.triplets.cider import FOLDS, read_folds


class Order(NamedTuple):
    """Training request; without held-out files it is measured on every tenth group."""

    recipe: Recipe
    files: Sequence[Path]
    base: Path  # a checkpoint in the layout of Hugging Face
    output: Path
    held_out: Sequence[Path] = ()
    changes: Sequence[str] = ()  # hyper-parameters that differ from the paper's, NAME=VALUE


class PublishedReport(msgspec.Struct, frozen=True):
    """Result of a training: the held-out measure before the first step and after the last."""

    recipe: str
    examples: int
    held_out: int
    before: Estimate
    after: Estimate
    measure: str
    values: HyperParameters
    changed: tuple[str, ...]
    curve: tuple[Point, ...]
    device: str


def train_published(order: Order) -> PublishedReport:
    """Train a published system and write it as a model folder in the run-time format.

    Beside it stays the folder ``NAME.training``: the checkpoint in the layout of Hugging Face, and
    the state with which the same call goes on where it was ended.
    """
    recipe, output = order.recipe, order.output
    check_folder(output)
    values = recipe.values(order.changes)
    learned, held = _split(order, values)
    validation: list[TrainingExample] = []
    if values.patience:  # not the held-out examples, on which the result is measured
        learned, validation = _divided(learned, "validation")
    work = output.with_name(f"{output.name}.training")
    torch_module()
    with opened_checkpoint(order.base) as base:
        learner = open_learner(recipe, base, values)
    learner.network.to(learner.device).eval()
    before = _measured(learner, held)
    curve = Course(learner, learned, work, validation).run()
    report = PublishedReport(
        recipe=recipe.name,
        examples=len(learned),
        held_out=len(held),
        before=before,
        after=_measured(learner, held),
        measure=learner.measure,
        values=values,
        changed=tuple(order.changes),
        curve=tuple(curve),
        device=learner.device,
    )
    make_folder(work / "checkpoint")
    learner.save(work / "checkpoint")
    with TemporaryDirectory(dir=work) as folder:
        _convert(order, report, work / "checkpoint", Path(folder))
        make_folder(output)
        for path in Path(folder).iterdir():
            shutil.move(path, output / path.name)
    shutil.copyfile(work / CURVE, output / CURVE)
    return report


def _split(
    order: Order, values: HyperParameters
) -> tuple[list[TrainingExample], list[TrainingExample]]:
    """Return what is learned from and what is held out; no group is in both."""
    name = order.recipe.name
    examples = in_order(read_examples(name, order.files), values)
    if values.split == "topics":
        examples = by_topic(examples)
    if values.fold:
        folds = read_folds(order.files[0] / FOLDS)
        held = [each for each in examples if folds[each.group] == values.fold]
        return [each for each in examples if folds[each.group] != values.fold], held
    if order.held_out:
        return examples, in_order(read_examples(name, order.held_out), values)
    return _divided(examples)


def _divided(
    examples: Sequence[TrainingExample], salt: str = ""
) -> tuple[list[TrainingExample], list[TrainingExample]]:
    """Return nine tenths and a tenth of examples, whole groups, by the hashes of their names."""
    learned: list[TrainingExample] = []
    held: list[TrainingExample] = []
    for example in examples:
        tenth = int(sha256(f"{salt}{example.group}".encode()).hexdigest(), 16) % 10 == 0
        (held if tenth else learned).append(example)
    if len(held) < 2 or not learned:
        raise InputError(f"{len(examples)} examples: too few to hold a tenth out; give --test FILE")
    return learned, held


def _measured(learner: Learner, held: Sequence[TrainingExample]) -> Estimate:
    groups: dict[str, list[float]] = {}
    for example, right in zip(held, learner.rights(held), strict=True):
        groups.setdefault(example.group, []).append(right)
    estimate = proportion(list(map(sum, groups.values())), list(map(len, groups.values())))
    if estimate is None:
        raise InputError("nothing is held out")
    return estimate


def _convert(order: Order, report: PublishedReport, checkpoint: Path, folder: Path) -> None:
    recipe, after = order.recipe, report.after
    stated = msgspec.to_builtins(report.values)
    changed = {change.partition("=")[0] for change in report.changed}
    facts: dict[str, CardValue] = {
        "name": order.output.resolve().name, "kind": recipe.kind, "version": "1",
        "summary": recipe.summary, "licence": "yours, as far as your data and the checkpoint allow",
    }  # fmt: skip
    selection = [
        f"{name} {stated[name]}: {hyper.source}"
        for name, hyper in recipe.hyperparameters.items()
        if name not in changed
    ]
    training: dict[str, CardValue] = {
        "data": [f"{report.examples} examples of {', '.join(path.name for path in order.files)}"],
        "selection": [*selection, *(f"{each}: not the paper's" for each in report.changed)],
        "excluded": f"{report.held_out} held-out examples",
        "command": f"grice train {recipe.name}",
        "seeds": [report.values.seed],
    }
    figure: dict[str, CardValue] = {"on": "held-out examples", "measure": report.measure}
    if after.low is not None and after.high is not None:
        figure |= {"value": after.value, "low": after.low, "high": after.high, "n": after.n}
        figure["note"] = f"{report.before.value:.3f} before training; chance is 0.5"
    kind = find_model_type(recipe.kind, recipe.name)
    assert kind.convert is not None, f"{recipe.kind} is made of checkpoints"
    settings = kind.convert(checkpoint, folder)
    files = sorted(path.name for path in folder.iterdir())
    quality = [figure] if "value" in figure else []
    write_card(folder, facts, training, settings, quality, files=files)
