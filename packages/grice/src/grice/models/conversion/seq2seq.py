"""Published encoder-decoders, T5 and BART, written in the run-time format with numpy alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation

from grice.errors import BundleError
from grice.models.conversion.checkpoint import FAMILIES
from grice.models.conversion.huggingface import tokens_of
from grice.models.conversion.written import convert_family, needed, set_fused, set_linear, set_norm

if TYPE_CHECKING:
    from pathlib import Path

    from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
    from ctranslate2.specs.transformer_spec import (
        TransformerDecoderLayerSpec,
        TransformerDecoderSpec,
        TransformerEncoderLayerSpec,
        TransformerEncoderSpec,
    )

    from grice.models.conversion.checkpoint import Tensor
    from grice.models.conversion.huggingface import Published
    from grice.models.conversion.written import Quantization

ACTIVATIONS = {
    "relu": Activation.RELU,
    "gelu": Activation.GELU,
    "gelu_new": Activation.GELUTanh,
    "silu": Activation.SWISH,
}
BART_OFFSET = 2
"""Rows of BART's table of positions that stand for none."""
UNLIMITED = 0


class Converted(NamedTuple):
    """What the card of a converted encoder-decoder states.

    Attributes:
        positions: Tokens that it can read or write at once; 0 if there is no such limit.
        first: Piece that every output begins with; empty if there is none.
    """

    positions: int
    first: str


def convert_seq2seq(
    source: Path, target: Path, *, quantization: Quantization = "float32"
) -> Converted:
    """Write a published encoder-decoder in the run-time format.

    Raises:
        BundleError: If the source is of another family, cut off or damaged.
    """
    families = {"t5": _t5, "bart": _bart}
    what = f"decoders of type {', '.join(FAMILIES)} and encoder-decoders"
    return convert_family(source, target, families, what, quantization=quantization)


def _t5(published: Published) -> tuple[TransformerSpec, Converted]:
    config = published.config
    stated = str(config.get("feed_forward_proj", "relu"))
    gated = stated.startswith("gated-")
    activation = "gelu_new" if stated == "gated-gelu" else stated.removeprefix("gated-")
    spec = TransformerSpec.from_config(
        (int(config["num_layers"]), int(config.get("num_decoder_layers", config["num_layers"]))),
        int(config["num_heads"]),
        pre_norm=True,
        activation=activation_of(activation),
        ffn_glu=gated,
        relative_attention_bias=True,
        rms_norm=True,
    )
    shared = needed(published, "shared.weight")
    _t5_stack(published, spec.encoder, "encoder", shared)
    _t5_stack(published, spec.decoder, "decoder", shared)
    tied = bool(config.get("tie_word_embeddings", True))
    head = published.tensor("lm_head.weight")
    spec.decoder.projection.weight = shared if head is None else head
    if config.get("scale_decoder_outputs", tied):
        spec.decoder.scale_outputs = np.dtype("float32").type(int(config["d_model"]) ** -0.5)
    return spec, _register(spec, published, len(shared), UNLIMITED)


def _t5_stack(
    published: Published,
    stack: TransformerEncoderSpec | TransformerDecoderSpec,
    name: str,
    shared: Tensor,
) -> None:
    embeddings = stack.embeddings[0] if isinstance(stack.embeddings, list) else stack.embeddings
    embeddings.weight = shared
    stack.scale_embeddings = False
    stack.layer_norm.gamma = needed(published, f"{name}.final_layer_norm.weight")
    first = f"{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    bias = needed(published, first)
    distance = int(published.config.get("relative_attention_max_distance", 128))
    for i, layer in enumerate(stack.layer):
        block = f"{name}.block.{i}.layer"
        own = layer.self_attention
        _t5_attention(published, own, f"{block}.0.SelfAttention", f"{block}.0.layer_norm", own=True)
        own.relative_attention_bias = bias
        own.relative_attention_max_distance = np.dtype("int32").type(distance)
        feed = 1
        if name == "decoder":
            feed = 2
            _t5_attention(
                published,
                layer.attention,
                f"{block}.1.EncDecAttention",
                f"{block}.1.layer_norm",
                own=False,
            )
        dense = f"{block}.{feed}.DenseReluDense"
        if hasattr(layer.ffn, "linear_0_noact"):
            layer.ffn.linear_0.weight = needed(published, f"{dense}.wi_0.weight")
            layer.ffn.linear_0_noact.weight = needed(published, f"{dense}.wi_1.weight")
        else:
            layer.ffn.linear_0.weight = needed(published, f"{dense}.wi.weight")
        layer.ffn.linear_1.weight = needed(published, f"{dense}.wo.weight")
        layer.ffn.layer_norm.gamma = needed(published, f"{block}.{feed}.layer_norm.weight")


def _t5_attention(
    published: Published, attention: MultiHeadAttentionSpec, name: str, norm: str, *, own: bool
) -> None:
    attention.queries_scale = 1.0
    attention.layer_norm.gamma = needed(published, f"{norm}.weight")
    _attention(published, attention, [f"{name}.{part}" for part in "qkvo"], own=own)


def _bart(published: Published) -> tuple[TransformerSpec, Converted]:
    config = published.config
    spec = TransformerSpec.from_config(
        (int(config["encoder_layers"]), int(config["decoder_layers"])),
        int(config["encoder_attention_heads"]),
        pre_norm=bool(config.get("normalize_before", False)),
        activation=activation_of(str(config.get("activation_function", "gelu"))),
        layernorm_embedding=bool(config.get("normalize_embedding", True)),
    )
    shared = needed(published, "model.shared.weight")
    scale = math.sqrt(int(config["d_model"])) if config.get("scale_embedding") else 1.0
    for name, stack in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        embeddings = stack.embeddings[0] if isinstance(stack.embeddings, list) else stack.embeddings
        own = f"model.{name}.embed_tokens.weight"  # another table, if what is written is not tied
        embeddings.weight = shared if published.tensor(own) is None else needed(published, own)
        stack.scale_embeddings = scale
        positions = needed(published, f"model.{name}.embed_positions.weight")[BART_OFFSET:]
        stack.position_encodings.encodings = positions
        set_norm(published, stack.layernorm_embedding, f"model.{name}.layernorm_embedding")
        for i, layer in enumerate(stack.layer):
            _bart_layer(published, layer, f"model.{name}.layers.{i}")
    head = published.tensor("lm_head.weight")
    spec.decoder.projection.weight = shared if head is None else head
    bias = published.tensor("final_logits_bias")
    if bias is not None and bias.any():
        spec.decoder.projection.bias = bias.reshape(-1)
    return spec, _register(spec, published, len(shared), int(config["max_position_embeddings"]))


def _bart_layer(
    published: Published,
    layer: TransformerEncoderLayerSpec | TransformerDecoderLayerSpec,
    name: str,
) -> None:
    parts = ("q_proj", "k_proj", "v_proj", "out_proj")
    attentions = [("self_attn", layer.self_attention)]
    if name.startswith("model.decoder"):
        attentions.append(("encoder_attn", layer.attention))
    for which, attention in attentions:
        names = [f"{name}.{which}.{part}" for part in parts]
        _attention(published, attention, names, own=which == "self_attn")
        set_norm(published, attention.layer_norm, f"{name}.{which}_layer_norm")
    set_linear(published, layer.ffn.linear_0, f"{name}.fc1")
    set_linear(published, layer.ffn.linear_1, f"{name}.fc2")
    set_norm(published, layer.ffn.layer_norm, f"{name}.final_layer_norm")


def _attention(
    published: Published, attention: MultiHeadAttentionSpec, names: list[str], *, own: bool
) -> None:
    """Set queries, keys, values and output; attention to the input keeps its queries apart."""
    if own:
        set_fused(published, attention.linear[0], names[:3])
    else:
        set_fused(published, attention.linear[0], names[:1])
        set_fused(published, attention.linear[1], names[1:3])
    set_linear(published, attention.linear[-1], names[3])


def activation_of(name: str) -> Activation:
    """Return an activation by the name that ``config.json`` gives it."""
    if name not in ACTIVATIONS:
        raise BundleError(f"the activation {name!r} is not known here")
    return ACTIVATIONS[name]


def _register(
    spec: TransformerSpec, published: Published, vocabulary: int, positions: int
) -> Converted:
    config = published.config
    tokens = tokens_of(published.tokenizer, vocabulary)
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    end = tokens[int(config["eos_token_id"])]
    spec.config.bos_token = tokens[int(config.get("bos_token_id") or config["pad_token_id"])]
    spec.config.eos_token = end
    spec.config.unk_token = str(published.tokenizer.get("model", {}).get("unk_token") or "<unk>")
    start = config.get("decoder_start_token_id")
    spec.config.decoder_start_token = tokens[
        int(config["pad_token_id"] if start is None else start)
    ]
    epsilon = config.get("layer_norm_epsilon")
    if epsilon is not None:
        spec.config.layer_norm_epsilon = float(epsilon)
    first = config.get("forced_bos_token_id")
    return Converted(positions, "" if first is None else tokens[int(first)])
