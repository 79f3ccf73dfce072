"""Hyper-parameters of published systems: every value beside the place that states it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib import resources
from typing import Literal, NamedTuple

import msgspec

from grice.errors import InputError, did_you_mean


class Stated(NamedTuple):
    """A value and where it is stated."""

    value: float | int | str
    source: str


class HyperParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values themselves; those after ``clip``, but ``patience``, belong to some recipes."""

    epochs: int
    batch: int
    learning_rate: float  # of Adam with decoupled weight decay
    seed: int  # of the order of examples, of dropout, and of new weights
    max_source: int  # tokens that are read
    precision: Literal["float32", "bfloat16"]  # of products; weights and sums are float32
    schedule: Literal["linear", "constant"]  # the rate falls to 0 in a line, or stays
    warmup_steps: int  # over which the rate rises first
    weight_decay: float  # of all weights but biases and norms
    clip: float  # largest norm of the gradient; 0 leaves it
    max_target: int = 0  # tokens that are written
    pooling: Literal["max", "mean"] = "mean"  # of the states of tokens to one vector
    layer: int = -1  # of the frozen encoder; -1 is the last
    hidden: str = ""  # widths of the layers of a network on it, comma-separated
    dropout: float = 0.0  # after each of them
    loss: Literal["cross-entropy", "ranking"] = "cross-entropy"  # of RUBER
    margin: float = 0.5  # of the ranking loss
    patience: int = 0  # epochs without a better validation before the end; 0 trains all
    select: Literal["loss", "rouge-2"] = "loss"  # what is better in validation
    negatives: Literal["batch", "set"] = "batch"  # a shift of the batch, or drawn for each pair
    weights: Literal["batch", "set"] = "batch"  # of labels: by their counts in the batch or in all
    fold: int = 0  # of CIDER's dialogues, 1 to 5, that is held out; 0: as with other data
    order: Literal["depth-first", "topological", "random"] = "depth-first"  # of facts
    split: Literal["beliefs", "topics"] = "beliefs"  # that a part of ExplaGraphs has to itself


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Training of a published system."""

    summary: str
    paper: str
    task: Literal["text-to-text", "classification", "choice", "span", "replies"]
    kind: str  # type of the model that is made
    base: str  # checkpoint that the paper starts from
    families: tuple[str, ...]  # types of checkpoints that it may start from
    data: str
    hyperparameters: dict[str, Stated]
    labels: tuple[str, ...] = ()  # in the order of the head
    name: str = ""

    def values(self, changes: Sequence[str] = ()) -> HyperParameters:
        """Return the values, some changed by ``NAME=VALUE``."""
        values: dict[str, float | int | str] = {
            "patience": 0,
            **({"fold": 0} if self.name.startswith("cider-") else {}),
            **({"split": "beliefs"} if self.name.startswith("explagraphs-") else {}),
        }
        values |= {name: stated.value for name, stated in self.hyperparameters.items()}
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
            above = "epochs, batch, max_source and learning_rate are above 0"
            raise InputError(f"hyper-parameters of {self.name}: {above}")
        return given


def recipes() -> dict[str, Recipe]:
    """Return all recipes by name."""
    text = (resources.files("grice_research") / "data" / "recipes.toml").read_text("utf-8")
    stated = {name: {**table, "name": name} for name, table in tomllib.loads(text).items()}
    return msgspec.convert(stated, dict[str, Recipe])
