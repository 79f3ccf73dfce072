"""A published decoder, written in the run-time format: CTranslate2, int8."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs import TransformerDecoderModelSpec
from ctranslate2.specs.common_spec import Activation, LinearSpec

from grice.errors import ModelFolderError
from grice.models.conversion.checkpoint import EMBEDDING, HEAD, needed, read_checkpoint
from grice.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ctranslate2.specs import ModelSpec
    from ctranslate2.specs.transformer_spec import TransformerDecoderLayerSpec
    from numpy.typing import NDArray

    from grice.models.conversion.checkpoint import Checkpoint, Shape, Tensors

Quantization: TypeAlias = Literal["int8", "float32"]


def convert(source: Path, target: Path, *, quantization: Quantization = "int8") -> Shape:
    """Write a published causal language model in the run-time format."""
    checkpoint = read_checkpoint(source)
    try:
        spec = decoder_network(checkpoint)
    except ModelFolderError as error:
        raise ModelFolderError(f"{source}: {error}") from None
    write_network(spec, checkpoint.tokenizer, target, quantization)
    return checkpoint.shape


def convert_states(source: Path, target: Path, layers: int, exponents: Sequence[int]) -> Shape:
    """Write the first layers of a causal language model, which return hidden states."""
    checkpoint = read_checkpoint(source)
    try:
        spec = state_network(checkpoint, layers, exponents)
    except ModelFolderError as error:
        raise ModelFolderError(f"{source}: {error}") from None
    write_network(spec, checkpoint.tokenizer, target)
    return checkpoint.shape


def write_network(
    spec: ModelSpec,
    tokenizer: str,
    target: Path,
    quantization: Quantization = "int8",
    finish: Callable[[ModelSpec], None] | None = None,
) -> None:
    """Write a network and its tokenizer; int8 matrices are finished by :func:`desaturate`."""
    spec.validate()
    spec.optimize(quantization=quantization)
    if quantization == "int8":
        (finish or desaturate)(spec)
    spec.save(str(target))
    (target / "tokenizer.json").write_text(tokenizer, "utf-8")


def state_network(
    checkpoint: Checkpoint, layers: int, exponents: Sequence[int]
) -> TransformerDecoderModelSpec:
    """Return a network of the first layers, which returns hidden states in place of logits.

    The states are normalized as by the model's last norm, whose weights become powers of two, so
    that the states of all dimensions are of one size before they are rounded to int8.
    """
    shape = checkpoint.shape
    if not 0 < layers <= shape.layers or len(exponents) != shape.hidden:
        raise ModelFolderError(
            f"{layers} layers and {len(exponents)} exponents are asked for; the model has "
            f"{shape.layers} layers of {shape.hidden} dimensions"
        )
    spec = decoder_network(checkpoint._replace(shape=shape._replace(layers=layers)))
    spec.decoder.layer_norm.gamma = np.exp2(np.array(exponents, np.float32))
    spec.decoder.projection.weight = np.eye(shape.hidden, dtype=np.float32)
    return spec


def decoder_network(checkpoint: Checkpoint) -> TransformerDecoderModelSpec:
    """Return the network of a checkpoint."""
    shape, tensors = checkpoint.shape, checkpoint.tensors
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
    embedding = needed(tensors, EMBEDDING)
    decoder.embeddings.weight = embedding
    decoder.layer_norm.gamma = needed(tensors, "model.norm.weight")
    decoder.projection.weight = tensors[HEAD]() if HEAD in tensors else embedding
    for i, layer in enumerate(decoder.layer):
        _set_layer(layer, tensors, f"model.layers.{i}")
    spec.register_vocabulary(checkpoint.tokens)
    spec.config.bos_token = checkpoint.begin or checkpoint.end
    spec.config.eos_token = checkpoint.end
    spec.config.unk_token = checkpoint.end
    spec.config.layer_norm_epsilon = shape.epsilon
    return spec


def _set_layer(layer: TransformerDecoderLayerSpec, tensors: Tensors, name: str) -> None:
    attention, feed = layer.self_attention, layer.ffn
    norms = {
        "input_layernorm": attention.layer_norm,
        "post_attention_layernorm": feed.layer_norm,
        "self_attn.q_norm": getattr(attention, "q_norm", None),
        "self_attn.k_norm": getattr(attention, "k_norm", None),
    }
    for part, norm in norms.items():
        if norm is not None:
            norm.gamma = needed(tensors, f"{name}.{part}.weight")
    linears = {
        "self_attn.q_proj": LinearSpec(),
        "self_attn.k_proj": LinearSpec(),
        "self_attn.v_proj": LinearSpec(),
        "self_attn.o_proj": attention.linear[1],
        "mlp.gate_proj": feed.linear_0,
        "mlp.up_proj": feed.linear_0_noact,
        "mlp.down_proj": feed.linear_1,
    }
    for part, linear in linears.items():
        linear.weight = needed(tensors, f"{name}.{part}.weight")
        if f"{name}.{part}.bias" in tensors:
            linear.bias = tensors[f"{name}.{part}.bias"]()
    fuse_linear(attention.linear[0], list(linears.values())[:3])


MAX_PAIR = 128
"""Largest sum of two neighbouring weights of one sign: 255 * 128 is below 32,767."""
SCALES = np.arange(1.0, 0.49, -0.05)
ROWS = 128
"""Rows that are lowered together, few enough for the processor's cache."""


def desaturate(spec: ModelSpec) -> None:
    """Change int8 matrices in place so that integer sums are equal on every processor.

    Processors without vector neural network instructions multiply unsigned by signed bytes and add
    each two neighbouring products in 16 bits (``vpmaddubsw``), which saturates at 32,767: 255 times
    the sum of two neighbouring weights must stay below. So in every row weights are scaled, and of
    two neighbours of one sign that are together above 128 both are lowered, whichever scale from 1
    to 1/2 gives the smallest squared error. Of all-MiniLM-L6-v2 rows move by 0.9 % (7-bit weights:
    1.5 to 2 %).
    """
    blocks = [
        (weights[row : row + ROWS], scales[row : row + ROWS])
        for weights, scales in int8_matrices(spec)
        for row in range(0, len(weights), ROWS)
    ]
    total = sum(rows.size for rows, _ in blocks)
    for rows, scales in track(blocks, "weights", total, size=lambda block: block[0].size):
        if largest_pair(rows) > MAX_PAIR:
            rows[:], factors = without_saturation(rows)
            scales *= factors


def int8_matrices(spec: ModelSpec) -> list[tuple[NDArray[np.int8], NDArray[np.float32]]]:
    """Return each int8 matrix with the scales of its rows; both can be changed in place."""
    # Of variables that are equal one has the values, the others its name.
    arrays = {name: v.numpy() for name, v in spec.variables().items() if not isinstance(v, str)}
    return [
        (weights, arrays[f"{name}_scale"])
        for name, weights in arrays.items()
        if f"{name}_scale" in arrays
    ]


def largest_pair(weights: NDArray[np.int8]) -> int:
    """Return the largest absolute sum of two neighbouring weights of one sign."""
    pairs = weights.astype(np.int32).reshape(len(weights), -1, 2)
    return int(np.maximum(np.abs(pairs.sum(axis=2)), np.abs(pairs).max(axis=2)).max())


def without_saturation(rows: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return weights whose neighbours cannot saturate, and the factor of each row."""
    exact = rows.astype(np.float32)
    error = np.full(len(rows), np.inf, np.float32)
    best, scale = rows.copy(), np.ones(len(rows), np.float32)
    for factor in SCALES:
        tried = _lowered(np.rint(exact * np.float32(factor)).astype(np.int16))
        off = np.square(tried / np.float32(factor) - exact).sum(axis=1)
        better = off < error
        error[better], best[better], scale[better] = off[better], tried[better], factor
    return best, scale


def _lowered(weights: NDArray[np.int16]) -> NDArray[np.int8]:
    first, second = weights[:, ::2], weights[:, 1::2]
    sizes = np.abs(first) + np.abs(second)
    excess = np.where((first ^ second) >= 0, sizes - MAX_PAIR, 0).clip(0)
    lowered = weights.copy()
    from_first = np.minimum((excess + 1) // 2, np.abs(first))
    lowered[:, ::2] -= np.sign(first) * from_first
    lowered[:, 1::2] -= np.sign(second) * (excess - from_first)
    return lowered.astype(np.int8)
