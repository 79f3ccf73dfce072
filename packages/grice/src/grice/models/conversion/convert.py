"""A published decoder, written in the run-time format: CTranslate2, int8."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np
from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs import TransformerDecoderModelSpec
from ctranslate2.specs.common_spec import Activation, LinearSpec

from grice.errors import BundleError
from grice.models.conversion.gguf import read_gguf
from grice.models.conversion.huggingface import read_folder
from grice.models.conversion.saturation import desaturate
from grice.models.conversion.tokenizer import with_first_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from ctranslate2.specs import ModelSpec
    from ctranslate2.specs.common_spec import LayerNormSpec
    from ctranslate2.specs.transformer_spec import TransformerDecoderLayerSpec

    from grice.models.conversion.checkpoint import Checkpoint, Shape, Tensor

Quantization: TypeAlias = Literal["int8", "float32"]


def convert(source: Path, target: Path, *, quantization: Quantization = "int8") -> Shape:
    """Write a published causal language model in the run-time format."""
    checkpoint = _read(source)
    return _write(source, target, checkpoint, _specification, quantization)


def convert_states(
    source: Path,
    target: Path,
    layers: int,
    exponents: Sequence[int],
    *,
    vocabulary: int | None = None,
    quantization: Quantization = "int8",
) -> Shape:
    """Write the first layers of a causal language model, which give states in place of tokens.

    See :func:`convert`. The states are normalized as by the model's last norm, whose weights give
    way to powers of two, so that the states of all dimensions are of one size before they are
    rounded to int8.
    """
    checkpoint = _read(source)
    if vocabulary is not None:
        checkpoint = with_first_tokens(checkpoint, vocabulary)
    shape = checkpoint.shape
    if not 0 < layers <= shape.layers or len(exponents) != shape.hidden:
        raise BundleError(
            f"{source}: {layers} layers and {len(exponents)} exponents are asked for; the model "
            f"has {shape.layers} layers of {shape.hidden} dimensions"
        )

    def specification(checkpoint: Checkpoint) -> TransformerDecoderModelSpec:
        spec = _specification(checkpoint)
        spec.decoder.layer_norm.gamma = np.exp2(np.array(exponents, np.float32))
        spec.decoder.projection.weight = np.eye(shape.hidden, dtype=np.float32)
        return spec

    shorter = checkpoint._replace(shape=shape._replace(layers=layers))
    return _write(source, target, shorter, specification, quantization)


def _read(source: Path) -> Checkpoint:
    return read_folder(source) if source.is_dir() else read_gguf(source)


def _write(
    source: Path,
    target: Path,
    checkpoint: Checkpoint,
    specify: Callable[[Checkpoint], TransformerDecoderModelSpec],
    quantization: Quantization,
) -> Shape:
    try:
        spec = specify(checkpoint)
    except BundleError as error:
        raise BundleError(f"{source}: {error}") from None
    write_network(spec, checkpoint.tokenizer, target, quantization=quantization)
    return checkpoint.shape


def _specification(checkpoint: Checkpoint) -> TransformerDecoderModelSpec:
    shape = checkpoint.shape
    spec = TransformerDecoderModelSpec.from_config(
        shape.layers,
        shape.heads,
        activation=Activation.SWISH,
        pre_norm=True,
        ffn_glu=True,
        rms_norm=True,
        rotary_dim=shape.head_size,
        rotary_interleave=False,
        rotary_base=shape.rope_base,
        num_heads_kv=None if shape.key_heads == shape.heads else shape.key_heads,
        head_dim=shape.head_size,
        qk_norm=shape.family == "qwen3",
    )
    decoder = spec.decoder
    decoder.scale_embeddings = False
    embedding = needed(checkpoint, "model.embed_tokens.weight")
    decoder.embeddings.weight = embedding
    set_scale(checkpoint, decoder.layer_norm, "model.norm")
    head = checkpoint.tensor("lm_head.weight")
    decoder.projection.weight = embedding if head is None else head
    for i, layer in enumerate(decoder.layer):
        _layer(checkpoint, layer, f"model.layers.{i}")
    spec.register_vocabulary(checkpoint.tokens)
    spec.config.bos_token = checkpoint.begin or checkpoint.end
    spec.config.eos_token = checkpoint.end
    spec.config.unk_token = checkpoint.end
    spec.config.layer_norm_epsilon = shape.epsilon
    return spec


def _layer(checkpoint: Checkpoint, layer: TransformerDecoderLayerSpec, name: str) -> None:
    attention, feed = layer.self_attention, layer.ffn
    set_scale(checkpoint, attention.layer_norm, f"{name}.input_layernorm")
    set_scale(checkpoint, feed.layer_norm, f"{name}.post_attention_layernorm")
    if checkpoint.shape.family == "qwen3":
        set_scale(checkpoint, attention.q_norm, f"{name}.self_attn.q_norm")
        set_scale(checkpoint, attention.k_norm, f"{name}.self_attn.k_norm")
    set_fused(checkpoint, attention.linear[0], [f"{name}.self_attn.{x}_proj" for x in "qkv"])
    set_linear(checkpoint, attention.linear[1], f"{name}.self_attn.o_proj")
    set_linear(checkpoint, feed.linear_0, f"{name}.mlp.gate_proj")
    set_linear(checkpoint, feed.linear_0_noact, f"{name}.mlp.up_proj")
    set_linear(checkpoint, feed.linear_1, f"{name}.mlp.down_proj")


def write_network(
    spec: ModelSpec, tokenizer: str, target: Path, *, quantization: Quantization
) -> None:
    """Write a network and its tokenizer in the run-time format."""
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(target))
    if quantization == "int8":
        desaturate(target / "model.bin")
    (target / "tokenizer.json").write_text(tokenizer, "utf-8")


class Weights(Protocol):
    """What gives weights by the names they have in transformers; None where there is none."""

    @property
    def tensor(self) -> Callable[[str], Tensor | None]:
        """Return a weight, a matrix of shape ``(outputs, inputs)``."""
        ...


def needed(weights: Weights, name: str) -> Tensor:
    """Return a weight; a :class:`~grice.errors.BundleError` says that it is missing."""
    values = weights.tensor(name)
    if values is None:
        raise BundleError(f"weight {name} is missing")
    if not np.isfinite(values).all():
        raise BundleError(f"weight {name} holds values that are not finite")
    return np.ascontiguousarray(values)


def set_linear(weights: Weights, spec: LinearSpec, name: str) -> None:
    """Set a matrix, and its bias where there is one."""
    spec.weight = needed(weights, f"{name}.weight")
    bias = weights.tensor(f"{name}.bias")
    if bias is not None:
        spec.bias = bias


def set_fused(weights: Weights, spec: LinearSpec, names: Iterable[str]) -> None:
    """Set the matrices of several names as one, such as those of queries, keys and values."""
    parts = []
    for name in names:
        parts.append(LinearSpec())
        set_linear(weights, parts[-1], name)
    fuse_linear(spec, parts)


def set_scale(weights: Weights, spec: LayerNormSpec, name: str) -> None:
    """Set a norm that has no bias."""
    spec.gamma = needed(weights, f"{name}.weight")
