"""Networks of transformers that learn, by the task of a recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import BundleError
from grice.models.conversion.checkpoint import FAMILIES
from grice.models.conversion.huggingface import read_config
from grice_research.training.published.checkpoint import torch_module
from grice_research.training.published.classifiers import (
    open_chooser,
    open_classifier,
    open_span_reader,
)
from grice_research.training.published.frozen import open_reply_network
from grice_research.training.published.writers import open_writer

if TYPE_CHECKING:
    from pathlib import Path

    from grice_research.training.published.learner import Learner
    from grice_research.training.published.recipes import HyperParameters, Recipe


def open_learner(recipe: Recipe, base: Path, values: HyperParameters) -> Learner:
    """Open the checkpoint that training starts from.

    Args:
        recipe: What is trained.
        base: A folder with ``config.json``, ``*.safetensors`` and ``tokenizer.json``.
        values: The hyper-parameters.

    Raises:
        ModelError: If torch is missing.
        BundleError: If a file is missing, or the checkpoint is of another family.
    """
    family = str(read_config(base).get("model_type"))
    families = (*recipe.families, *(FAMILIES if recipe.task == "text-to-text" else ()))
    if family not in families:
        raise BundleError(
            f"{base}: {recipe.name} starts from {' or '.join(families)} ({recipe.base} in "
            f"the paper), not from {family!r}"
        )
    if not any(base.glob("*.safetensors")):
        raise BundleError(f"{base}: *.safetensors is missing")
    if not (base / "tokenizer.json").is_file():
        raise BundleError(f"{base}: tokenizer.json is missing")
    torch = torch_module()
    torch.manual_seed(values.seed)
    if recipe.task == "text-to-text":
        return open_writer(base, recipe, values)
    if recipe.task == "classification":
        return open_classifier(base, recipe, values)
    if recipe.task == "replies":
        return open_reply_network(base, recipe, values)
    opened = open_chooser if recipe.task == "choice" else open_span_reader
    return opened(base, values)
