"""``grice train`` of a published system, with the hyper-parameters of its paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli.output import Output
from grice.errors import InputError, plural
from grice.tables import Lines, Table, bounds, number
from grice_research.training.published.recipes import recipes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from grice.cli.derive import OutputPath
    from grice.tables import View
    from grice_research.training.published.recipes import Recipe
    from grice_research.training.published.run import Order


def published_actions() -> list[Callable[..., object]]:
    """Return an action for each recipe."""
    return list(map(_action_of, recipes().values()))


def _action_of(recipe: Recipe) -> Callable[..., object]:
    def train(
        files: Sequence[Path],
        *,
        from_: Path | None = None,
        test: Sequence[Path] = (),
        set_: Sequence[str] = (),
        output: OutputPath,
    ) -> Output:
        """Train a system.

        Args:
            files (FILE): examples, in the layout of the paper's data
            from_ (FOLDER): the checkpoint to start from: config.json, *.safetensors, tokenizer.json
            test (FILE): examples to measure on; default: every tenth of the others; may be repeated
            set_ (NAME=VALUE): another hyper-parameter than the paper's; may be repeated
            output (MODEL): the folder of the new model
        """
        from grice_research.training.published.run import Order, train_published

        if from_ is None:
            raise InputError(
                f"{recipe.name}: name the checkpoint to start from, --from FOLDER; the paper "
                f"starts from {recipe.base}"
            )
        recipe.values(set_)  # before anything is printed
        order = Order(recipe, files, from_, output, test, set_)
        # Trained as the rows or the view are read, so that the hyper-parameters are shown first.
        return Output((train_published(order) for _ in range(1)), _view(order))

    train.__name__ = recipe.name
    arguments = (train.__doc__ or "").partition("\n")[2]
    train.__doc__ = f"Train {recipe.summary}\n{arguments}"
    return train


def _view(order: Order) -> View:
    from grice_research.training.published.run import train_published

    recipe = order.recipe
    changed = {name: value for name, _, value in (each.partition("=") for each in order.changes)}
    rows = [
        (name, changed.get(name, str(stated.value)), "yours; " * (name in changed) + stated.source)
        for name, stated in recipe.hyperparameters.items()
    ]
    yield Lines([recipe.summary], style="bold")
    yield Table(("hyper-parameter", "value", "where it is stated"), rows, words=3)
    report = train_published(order)
    first, last = report.curve[0], report.curve[-1]
    fell = f"loss {first.loss:.3f} to {last.loss:.3f} in {plural(last.step, 'step')}"
    learned = plural(report.examples, "example")
    yield Lines([f"{learned} on {report.device}: {fell}"], style="bold")
    measured = (("before", report.before), ("after", report.after))
    shares = [(when, number(share.value), bounds(share)) for when, share in measured]
    yield Table((f"{report.held_out} held out", "measure", "95 % interval"), shares)
    yield Lines([f"{report.measure}; chance is 0.5"])
    yield Lines([f"model: file:{order.output}; losses: curve.jsonl in it"], style="dim")
