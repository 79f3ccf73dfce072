"""``grice train`` of a published system, with the hyper-parameters of its paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli.output import emit, show
from grice.errors import InputError, plural
from grice.tables import Lines, Table, bounds, number
from grice_tasks import flags

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.tables import View
    from grice_research.training.published.recipes import Recipe
    from grice_research.training.published.run import PublishedReport


def configure(parser: argparse.ArgumentParser, recipe: Recipe) -> None:
    """Declare the arguments."""
    parser.set_defaults(recipe=recipe)
    flags.add_files(parser, "examples, in the layout of the paper's data")
    about = "the checkpoint to start from: config.json, *.safetensors, tokenizer.json"
    parser.add_argument("--from", dest="base", type=Path, metavar="FOLDER", help=about)
    about = "examples to measure on; default: every tenth of the others"
    flags.add_list(parser, "--test", "FILE", about)
    about = "another hyper-parameter than the paper's; may be repeated"
    parser.add_argument(
        "--set", dest="changes", action="append", default=[], metavar="NAME=VALUE", help=about
    )
    flags.add_output(parser, "MODEL", "the folder of the new model", required=True)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train, measure on what was left out, write the model; goes on where it was interrupted."""
    from grice_research.training.published.run import Order, train_published

    recipe: Recipe = arguments.recipe
    if arguments.base is None:
        asked = f"{recipe.name}: name the checkpoint to start from, --from FOLDER"
        raise InputError(f"{asked}; the paper starts from {recipe.base}")
    files = [Path(file) for file in arguments.files]
    folders = arguments.base, arguments.output
    order = Order(
        recipe, files, *folders, [Path(file) for file in arguments.test], arguments.changes
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
        (name, changed.get(name, str(stated.value)), "yours; " * (name in changed) + stated.source)
        for name, stated in recipe.hyperparameters.items()
    ]
    yield Lines([recipe.summary], style="bold")
    yield Table(("hyper-parameter", "value", "where it is stated"), rows, words=2)


def _published_view(report: PublishedReport, arguments: argparse.Namespace) -> View:
    first, last = report.curve[0], report.curve[-1]
    fell = f"loss {first.loss:.3f} to {last.loss:.3f} in {plural(last.step, 'step')}"
    learned = plural(report.examples, "example")
    yield Lines([f"{learned} on {report.device}: {fell}"], style="bold")
    rows = [
        ("before", number(report.before.value), bounds(report.before)),
        ("after", number(report.after.value), bounds(report.after)),
    ]
    yield Table((f"{report.held_out} held out", "measure", "95 % interval"), rows)
    yield Lines([f"{report.measure}; chance is 0.5"])
    yield Lines([f"model: file:{arguments.output}; curve: curve.svg in it"], style="dim")
