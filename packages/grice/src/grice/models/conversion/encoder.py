"""Published encoders, BERT and RoBERTa, written in the run-time format with numpy alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from ctranslate2.specs import TransformerEncoderModelSpec, TransformerEncoderSpec
from ctranslate2.specs.common_spec import EmbeddingsMerge

from grice.errors import BundleError
from grice.models.conversion.huggingface import Published, tokens_of
from grice.models.conversion.seq2seq import activation_of
from grice.models.conversion.written import convert_family, needed, set_fused, set_linear, set_norm

if TYPE_CHECKING:
    from pathlib import Path

    from ctranslate2.specs.transformer_spec import TransformerEncoderLayerSpec

    from grice.models.conversion.written import Quantization

FAMILIES = ("bert", "roberta")


class Reader(NamedTuple):
    """What the card of a converted encoder states.

    Attributes:
        positions: Tokens that it reads at once.
    """

    positions: int
    hidden: int
    layers: int


def convert_encoder(
    source: Path, target: Path, *, drop: int = 0, quantization: Quantization = "float32"
) -> Reader:
    """Write a published encoder in the run-time format, without any head that stands on it.

    Args:
        drop: Layers left out at the top.

    Raises:
        BundleError: If the source is of another family, cut off or damaged.
    """
    families = {family: partial(_specification, family=family, drop=drop) for family in FAMILIES}
    return convert_family(source, target, families, "encoders", quantization=quantization)


def _specification(
    published: Published, family: str, drop: int
) -> tuple[TransformerEncoderModelSpec, Reader]:
    config = published.config
    layers = int(config["num_hidden_layers"]) - drop
    if layers < 1:
        raise BundleError(f"{drop} layers cannot be left out of {config['num_hidden_layers']}")
    encoder = TransformerEncoderSpec(
        layers,
        int(config["num_attention_heads"]),
        pre_norm=False,
        activation=activation_of(str(config["hidden_act"])),
        layernorm_embedding=True,
        num_source_embeddings=2,
        embeddings_merge=EmbeddingsMerge.ADD,
    )
    encoder.scale_embeddings = False
    # The weights of a model with a head stand under the name of the family.
    root = (
        f"{family}."
        if published.tensor(f"{family}.embeddings.LayerNorm.weight") is not None
        else ""
    )
    names = f"{root}embeddings"
    words = needed(published, f"{names}.word_embeddings.weight")
    encoder.embeddings[0].weight = words
    encoder.embeddings[1].weight = needed(published, f"{names}.token_type_embeddings.weight")
    positions = needed(published, f"{names}.position_embeddings.weight")
    if family == "roberta":  # its count begins behind the padding
        positions = positions[int(config.get("pad_token_id") or 0) + 1 :]
    encoder.position_encodings.encodings = np.ascontiguousarray(positions)
    set_norm(published, encoder.layernorm_embedding, f"{names}.LayerNorm")
    for i, layer in enumerate(encoder.layer):
        _layer(published, layer, f"{root}encoder.layer.{i}")
    spec = TransformerEncoderModelSpec(encoder)
    spec.register_vocabulary(tokens_of(published.tokenizer, len(words)))
    unknown = published.tokenizer.get("model", {}).get("unk_token")
    spec.config.unk_token = str(unknown or tokens_of(published.tokenizer, len(words))[0])
    spec.config.layer_norm_epsilon = float(config.get("layer_norm_eps", 1e-12))
    return spec, Reader(len(positions), int(config["hidden_size"]), layers)


def _layer(published: Published, layer: TransformerEncoderLayerSpec, name: str) -> None:
    read = [f"{name}.attention.self.{which}" for which in ("query", "key", "value")]
    set_fused(published, layer.self_attention.linear[0], read)
    set_linear(published, layer.self_attention.linear[1], f"{name}.attention.output.dense")
    set_norm(published, layer.self_attention.layer_norm, f"{name}.attention.output.LayerNorm")
    set_linear(published, layer.ffn.linear_0, f"{name}.intermediate.dense")
    set_linear(published, layer.ffn.linear_1, f"{name}.output.dense")
    set_norm(published, layer.ffn.layer_norm, f"{name}.output.LayerNorm")
