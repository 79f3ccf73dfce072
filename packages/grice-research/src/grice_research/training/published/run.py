"""From released files and a checkpoint to a model folder: what ``grice train NAME --from`` does."""

from __future__ import annotations

import shutil
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import InputError
from grice.files import make_folder, write_text
from grice.models.bundle import check_folder
from grice.models.store.get import Description, make_bundle
from grice.models.store.pickled import as_safetensors
from grice.stats.proportions import proportion
from grice_research.training.published.checkpoint import torch_module
from grice_research.training.published.course import run_course
from grice_research.training.published.curve import drawn_curve
from grice_research.training.published.examples import read_examples
from grice_research.training.published.networks import open_learner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.bundle import CardValue
    from grice.stats.estimate import Estimate
    from grice_research.training.published.course import Point
    from grice_research.training.published.files import TrainingExample
    from grice_research.training.published.learner import Learner
    from grice_research.training.published.recipes import HyperParameters, Recipe

TENTH = 10
CHANCE = 0.5
"""What both held-out measures give to a model that knows nothing."""


class Order(NamedTuple):
    """What is to be trained.

    Attributes:
        recipe: How.
        files: Examples.
        base: The checkpoint that training starts from, as a folder in the layout of Hugging Face.
        output: Where the model is written.
        held_out: Files of examples that it is measured on; none: those of every tenth group.
        changes: Hyper-parameters that differ from the paper's, as ``NAME=VALUE``.
        trust_pickle: Whether weights that are a pickle may be read.
    """

    recipe: Recipe
    files: Sequence[Path]
    base: Path
    output: Path
    held_out: Sequence[Path] = ()
    changes: Sequence[str] = ()
    trust_pickle: bool = False


class PublishedReport(msgspec.Struct, frozen=True):
    """What a training gave.

    Attributes:
        recipe: Its name.
        examples: Examples that were learned from.
        held_out: Examples that were not.
        before: The measure on these before the first step.
        after: The same of the trained model.
        measure: What is measured; 0.5 is chance.
        values: The hyper-parameters.
        changed: Those that differ from the paper's.
        curve: The loss.
        device: ``cpu`` or ``cuda``.
    """

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


def working_folder(output: Path) -> Path:
    """Return where an unfinished training and its checkpoint lie."""
    return output.with_name(f"{output.name}.training")


def train_published(order: Order) -> PublishedReport:
    """Train a published system and write it as a model folder in the run-time format.

    Beside it stays the folder ``NAME.training``: the checkpoint in the layout of Hugging Face, and
    the state with which the same call goes on where it was ended.

    Raises:
        InputError: If a file or hyper-parameter cannot be used, or nothing is left to learn from.
        BundleError: If the checkpoint is of another family or damaged.
        ModelError: If torch is missing, or the weights are a pickle that is not trusted.
        OutputError: If the folder cannot be written.
    """
    recipe = order.recipe
    check_folder(order.output)
    values = recipe.values(order.changes)
    learned, held = _split(order)
    work = working_folder(order.output)
    with TemporaryDirectory() as copy:
        torch_module()
        base = as_safetensors(order.base, Path(copy), trusted=order.trust_pickle)
        learner = open_learner(recipe, base, values)
    learner.network.to(learner.device).eval()
    before = _measured(learner, held)
    curve = run_course(learner, learned, values, work)
    report = PublishedReport(
        recipe.name,
        len(learned),
        len(held),
        before,
        _measured(learner, held),
        learner.measure,
        values,
        tuple(order.changes),
        tuple(curve),
        learner.device,
    )
    checkpoint = work / "checkpoint"
    make_folder(checkpoint)
    learner.save(checkpoint)
    _write(order, report, checkpoint)
    return report


def _split(order: Order) -> tuple[list[TrainingExample], list[TrainingExample]]:
    """Return what is learned from and what is held out; no group stands on both sides."""
    examples = read_examples(order.recipe.examples, order.files)
    if order.held_out:
        held = read_examples(order.recipe.examples, order.held_out)
        return examples, held
    held = [example for example in examples if _is_held_out(example.group)]
    learned = [example for example in examples if not _is_held_out(example.group)]
    if len(held) < 2 or not learned:
        raise InputError(f"{len(examples)} examples: too few to hold a tenth out; give --test FILE")
    return learned, held


def _is_held_out(group: str) -> bool:
    return int(sha256(group.encode()).hexdigest(), 16) % TENTH == 0


def _measured(learner: Learner, held: Sequence[TrainingExample]) -> Estimate:
    order = sorted(range(len(held)), key=lambda i: held[i].group)
    rights = learner.rights(held)
    groups = [list(places) for _, places in groupby(order, key=lambda i: held[i].group)]
    hits = [sum(rights[i] for i in places) for places in groups]
    estimate = proportion(hits, [len(places) for places in groups])
    if estimate is None:
        raise InputError("nothing is held out")
    return estimate


def _write(order: Order, report: PublishedReport, checkpoint: Path) -> None:
    recipe, output = order.recipe, order.output
    with TemporaryDirectory(dir=checkpoint.parent) as made:
        make_bundle(checkpoint, Path(made), _description(order, report))
        make_folder(output)
        for path in Path(made).iterdir():
            shutil.move(str(path), output / path.name)
    lines = [msgspec.json.encode(point).decode() for point in report.curve]
    write_text(output / "curve.jsonl", "".join(f"{line}\n" for line in lines))
    write_text(output / "curve.svg", drawn_curve(report.curve, f"{recipe.name}: loss"))


def _description(order: Order, report: PublishedReport) -> Description:
    recipe = order.recipe
    facts: dict[str, CardValue] = {
        "name": order.output.resolve().name,
        "kind": recipe.kind,
        "version": "1",
        "summary": recipe.summary,
        "licence": "yours, as far as your data and the checkpoint allow",
    }
    stated = msgspec.to_builtins(report.values)
    training: dict[str, CardValue] = {
        "data": [f"{report.examples} examples of {', '.join(path.name for path in order.files)}"],
        "selection": [
            *(
                f"{name} {stated[name]}: {hyper.source}"
                for name, hyper in recipe.hyperparameters.items()
                if not any(change.startswith(f"{name}=") for change in report.changed)
            ),
            *(f"{change}: not the paper's" for change in report.changed),
        ],
        "excluded": f"{report.held_out} held-out examples",
        "command": f"grice train {recipe.name}",
        "seeds": [report.values.seed],
    }
    return Description(facts, training, {}, _quality(report))


def _quality(report: PublishedReport) -> list[dict[str, CardValue]]:
    after = report.after
    if after.low is None or after.high is None:
        return []
    return [
        {
            "on": "held-out examples",
            "measure": report.measure,
            "value": after.value,
            "low": after.low,
            "high": after.high,
            "n": after.n,
            "note": f"{report.before.value:.3f} before training; chance is {CHANCE}",
        }
    ]
