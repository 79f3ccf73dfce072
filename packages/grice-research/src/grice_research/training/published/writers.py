"""Networks that learn to write a text after another one.

An encoder-decoder reads the one and writes the other, as published. A decoder alone reads the one
and a separator, and goes on; it learns from the pieces that it is to write and from no others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from grice.errors import BundleError
from grice.models.batching import groups
from grice.models.conversion.checkpoint import FAMILIES
from grice.models.conversion.huggingface import read_config
from grice.models.store.published import SEPARATOR
from grice_research.training.published.checkpoint import Checkpoint
from grice_research.training.published.learner import Learner, learner_of, next_other

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice_research.training.published.files import TrainingExample
    from grice_research.training.published.recipes import HyperParameters, Recipe

IGNORED = -100
"""Label of a place that counts for nothing."""
ALIKE = 16
"""Rows of a batch whose lengths differ by less are padded to one another, others read apart."""


def open_writer(base: Path, recipe: Recipe, values: HyperParameters) -> Learner:
    """Open an encoder-decoder, or a decoder alone.

    Raises:
        BundleError: If a decoder alone has no piece that ends a text.
    """
    config = read_config(base)
    alone = config["model_type"] in FAMILIES
    if alone and config.get("eos_token_id") is None:
        raise BundleError(
            f"{base}: config.json states no eos_token_id, the piece that a decoder alone is to end "
            "its texts with; add it"
        )
    auto = "AutoModelForCausalLM" if alone else "AutoModelForSeq2SeqLM"
    checkpoint = Checkpoint(base, auto, values)
    if recipe.kind == "comet":
        _add_pieces(checkpoint)
    prefix = recipe.prefix.get(checkpoint.config.model_type, "")
    measure = "share of held-out texts that are likelier than another one of their kind"
    loss = partial(_loss_of_decoder if alone else _loss, prefix=prefix)
    return learner_of(checkpoint, measure, loss, next_other)


def _loss(checkpoint: Checkpoint, examples: Sequence[TrainingExample], prefix: str) -> Any:  # noqa: ANN401 - a tensor
    """Return the mean cross entropy of the pieces of the targets."""
    targets = checkpoint.ids([e.target for e in examples], checkpoint.values.max_target)
    sources = checkpoint.inputs([f"{prefix}{example.source}" for example in examples])
    return checkpoint.network(**sources, labels=checkpoint.padded(targets, IGNORED)).loss


def _loss_of_decoder(
    checkpoint: Checkpoint, examples: Sequence[TrainingExample], prefix: str
) -> Any:  # noqa: ANN401 - a tensor
    """Return the mean cross entropy of the pieces of the targets and of those that end them."""
    values, network, end = checkpoint.values, checkpoint.network, checkpoint.config.eos_token_id
    sources = checkpoint.ids([f"{prefix}{e.source}" for e in examples], values.max_source)
    targets = checkpoint.ids([e.target for e in examples], values.max_target - 1, special=False)
    (separator,) = checkpoint.ids([SEPARATOR], values.max_source, special=False)
    wanted = [[*target, end[0] if isinstance(end, list) else end] for target in targets]
    before = [[*source, *separator] for source in sources]
    rows = [[*first, *last] for first, last in zip(before, wanted, strict=True)]
    kept, pieces = [], []
    for alike in groups([len(row) // ALIKE for row in rows]):
        # What fills a row stands behind it, where nothing that counts can see it.
        read = checkpoint.padded([rows[i] for i in alike], 0)
        states = network.base_model(input_ids=read).last_hidden_state
        for place, i in enumerate(alike):
            # Logits of the other places, a large part of the work, would be thrown away.
            kept.append(states[place, len(before[i]) - 1 : len(rows[i]) - 1])
            pieces += wanted[i]
    logits = network.get_output_embeddings()(checkpoint.torch.cat(kept))
    return checkpoint.cross_entropy(logits, pieces)


def _add_pieces(checkpoint: Checkpoint) -> None:
    """Add the names of relations and ``[GEN]`` to the vocabulary, as pieces of their own."""
    from grice.knowledge.schema import load_schema
    from grice_research.metrics.comet import GENERATE

    tokenizer, network = checkpoint.tokenizer, checkpoint.network
    added = tokenizer.add_tokens([GENERATE, *load_schema("atomic2020").relations])
    size = tokenizer.get_vocab_size()
    if added and size > network.config.vocab_size:
        network.resize_token_embeddings(size, mean_resizing=False)
