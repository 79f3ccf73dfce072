"""Encoder-decoders that learn to write a text after another one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from grice.training.published.checkpoint import Checkpoint
from grice.training.published.learner import Learner, learner_of, next_other

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.training.published.files import TrainingExample
    from grice.training.published.recipes import HyperParameters, Recipe

IGNORED = -100
"""Label of a place that counts for nothing."""


def open_writer(base: Path, recipe: Recipe, values: HyperParameters) -> Learner:
    """Open an encoder-decoder."""
    checkpoint = Checkpoint(base, "AutoModelForSeq2SeqLM", values)
    if recipe.kind == "comet":
        _add_pieces(checkpoint)
    prefix = recipe.prefix.get(checkpoint.config.model_type, "")
    measure = "share of held-out texts that are likelier than another one of their kind"
    return learner_of(checkpoint, measure, partial(_loss, prefix=prefix), next_other)


def _loss(checkpoint: Checkpoint, examples: Sequence[TrainingExample], prefix: str) -> Any:  # noqa: ANN401 - a tensor
    """Return the mean cross entropy of the pieces of the targets."""
    targets = checkpoint.ids([e.target for e in examples], checkpoint.values.max_target)
    sources = checkpoint.inputs([f"{prefix}{example.source}" for example in examples])
    return checkpoint.network(**sources, labels=checkpoint.padded(targets, IGNORED)).loss


def _add_pieces(checkpoint: Checkpoint) -> None:
    """Add the names of relations and ``[GEN]`` to the vocabulary, as pieces of their own."""
    from grice.knowledge.comet import GENERATE
    from grice.knowledge.schema import load_schema

    tokenizer, network = checkpoint.tokenizer, checkpoint.network
    added = tokenizer.add_tokens([GENERATE, *load_schema("atomic2020").relations])
    size = tokenizer.get_vocab_size()
    if added and size > network.config.vocab_size:
        network.resize_token_embeddings(size, mean_resizing=False)
