"""What a published system is trained with: every value beside the place that states it."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from grice.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence


class Stated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value and where it is stated."""

    value: float | int | str
    source: str


class HyperParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values themselves.

    Attributes:
        epochs: How often every example is seen.
        batch: Examples a step.
        learning_rate: Of Adam with decoupled weight decay.
        seed: Of the order of examples, of dropout, and of new weights.
        max_source: Most pieces that are read.
        precision: Of the products of matrices; weights and sums are float32 with either.
        max_target: Most pieces that are written; 0 where nothing is.
        pooling: Of a network on a frozen encoder: how the states of pieces become one vector.
        layer: Of such a network: the layer it stands on; -1 is the last.
        hidden: Of such a network: widths of its layers, with commas between.
        dropout: Of such a network, behind each layer.
        loss: Of RUBER: true against false replies by a margin, or by cross entropy.
        margin: Of the ranking loss.
        schedule: The rate falls to 0 in a line, or stays.
        warmup_steps: Steps over which the rate rises first.
        weight_decay: Of all weights but biases and norms.
        clip: Largest norm of the gradient; 0 leaves it.
    """

    epochs: int
    batch: int
    learning_rate: float
    seed: int
    max_source: int
    precision: Literal["float32", "bfloat16"]
    schedule: Literal["linear", "constant"]
    warmup_steps: int
    weight_decay: float
    clip: float
    max_target: int = 0
    pooling: Literal["max", "mean"] = "mean"
    layer: int = -1
    hidden: str = ""
    dropout: float = 0.0
    loss: Literal["cross-entropy", "ranking"] = "cross-entropy"
    margin: float = 0.5


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a published system is trained.

    Attributes:
        summary: What it is.
        paper: Where it is from.
        task: What is learned: ``text-to-text``, ``classification`` of texts or pairs, ``choice``
            among options, ``span`` of a text, or ``replies`` by a network on a frozen encoder.
        examples: Name of the reader of its files.
        kind: Kind of the bundle that is made.
        base: The checkpoint that the paper starts from.
        families: Architectures that it may start from, by ``model_type``; one that writes texts may
            start from a decoder alone as well.
        data: What its files hold.
        hyperparameters: By name, each with its source.
        labels: Of a classification, in the order of its head.
        prefix: What an architecture reads before every text.
        name: Its name.
    """

    summary: str
    paper: str
    task: Literal["text-to-text", "classification", "choice", "span", "replies"]
    examples: str
    kind: str
    base: str
    families: tuple[str, ...]
    data: str
    hyperparameters: dict[str, Stated]
    labels: tuple[str, ...] = ()
    prefix: dict[str, str] = {}
    name: str = ""

    def values(self, changes: Sequence[str] = ()) -> HyperParameters:
        """Return the values, some changed by ``NAME=VALUE``.

        Raises:
            InputError: If there is none of that name, or a value is no such value.
        """
        values = {name: stated.value for name, stated in self.hyperparameters.items()}
        for change in changes:
            name, equals, value = change.partition("=")
            if not equals or name not in values:
                near = did_you_mean(name, values)
                raise InputError(f"--set {change}: NAME=VALUE with a hyper-parameter{near}")
            values[name] = value
        try:
            given = msgspec.convert(values, HyperParameters, strict=False)
        except msgspec.ValidationError as error:
            raise InputError(f"hyper-parameters of {self.name}: {error}") from None
        if min(given.epochs, given.batch, given.max_source) < 1 or given.learning_rate <= 0:
            raise InputError(
                f"hyper-parameters of {self.name}: epochs, batch, max_source and learning_rate "
                "are above 0"
            )
        return given


def recipe_names() -> list[str]:
    """Return the names of all recipes."""
    return sorted(path.stem for path in _folder().glob("*.toml"))


def find_recipe(name: str) -> Recipe:
    """Return a recipe by name.

    Raises:
        InputError: If there is none.
    """
    if name not in recipe_names():
        raise InputError(f"no recipe {name!r}{did_you_mean(name, recipe_names())}")
    stated = tomllib.loads((_folder() / f"{name}.toml").read_text("utf-8"))
    return msgspec.structs.replace(msgspec.convert(stated, Recipe), name=name)


def _folder() -> Path:
    return Path(str(resources.files("grice_research"))) / "data" / "recipes"
