"""A published decoder, written in the run-time format: CTranslate2, int8."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs import TransformerDecoderModelSpec
from ctranslate2.specs.common_spec import Activation, LinearSpec

from grice.errors import BundleError
from grice.models.conversion.gguf import read_gguf
from grice.models.conversion.huggingface import read_folder
from grice.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from ctranslate2.specs import ModelSpec
    from ctranslate2.specs.common_spec import LayerNormSpec
    from ctranslate2.specs.transformer_spec import TransformerDecoderLayerSpec
    from numpy.typing import NDArray

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


def with_first_tokens(checkpoint: Checkpoint, count: int) -> Checkpoint:
    """Return a decoder that knows the first tokens of its vocabulary alone.

    A vocabulary of byte pairs has bytes first, then pairs in the order in which they are joined, so
    that every text can still be read.
    """
    tokenizer = json.loads(checkpoint.tokenizer)
    model = tokenizer["model"]
    kept = {token: number for token, number in model["vocab"].items() if number < count}
    merges = [pair for pair in model["merges"] if {*pair, "".join(pair)} <= kept.keys()]
    whole = all(len(token) > 1 or token in kept for token in model["vocab"])
    if not whole or merges != model["merges"][: len(merges)]:
        raise BundleError(f"the first {count} tokens are no vocabulary of byte pairs")
    model["vocab"], model["merges"] = kept, merges
    tokenizer["added_tokens"] = [
        added for added in tokenizer["added_tokens"] if added["id"] < count
    ]

    def tensor(name: str) -> Tensor | None:
        values = checkpoint.tensor(name)
        of_tokens = name in ("model.embed_tokens.weight", "lm_head.weight")
        return values[:count] if of_tokens and values is not None else values

    return checkpoint._replace(
        shape=checkpoint.shape._replace(vocabulary=count),
        tensor=tensor,
        tokens=checkpoint.tokens[:count],
        tokenizer=json.dumps(tokenizer, ensure_ascii=False),
    )


INT8 = 1
"""What the format calls bytes with a sign."""
MOST = 128
"""255 * 128 is below 32,767."""
SCALES = np.arange(1.0, 0.49, -0.05)
ROWS = 128
"""Rows that are lowered together, few enough to stay in the processor's cache."""


class Variable(NamedTuple):
    """Where an array stands in the file."""

    name: str
    shape: tuple[int, ...]
    type: int
    start: int
    size: int


def variables(content: bytes | bytearray) -> dict[str, Variable]:
    """Return the arrays of a ``model.bin`` by name."""
    place = 0

    def number(form: str) -> int:
        nonlocal place
        (value,) = struct.unpack_from(f"<{form}", content, place)
        place += struct.calcsize(form)
        return int(value)

    def text() -> str:
        nonlocal place
        length = number("H")
        place += length
        return content[place - length : place - 1].decode()

    number("I"), text(), number("I")
    arrays = {}
    for _ in range(number("I")):
        name = text()
        shape = tuple(number("I") for _ in range(number("B")))
        kind, size = number("B"), number("I")
        arrays[name] = Variable(name, shape, kind, place, size)
        place += size
    return arrays


def multiplied(arrays: dict[str, Variable]) -> list[Variable]:
    """Return the int8 matrices that stand in products: all but tables that are only looked up."""
    decodes = any(name.startswith("decoder/") for name in arrays)
    return [
        array
        for array in arrays.values()
        if array.type == INT8
        and len(array.shape) == 2
        and f"{array.name}_scale" in arrays
        and (decodes or "embeddings" not in array.name)
    ]


def largest_pair(weights: NDArray[np.int8]) -> int:
    """Return the largest absolute sum of two neighbouring weights of one sign."""
    pairs = weights.astype(np.int32).reshape(len(weights), -1, 2)
    return int(np.maximum(np.abs(pairs.sum(axis=2)), np.abs(pairs).max(axis=2)).max())


def without_saturation(rows: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return weights whose neighbours cannot saturate, and by what each row was multiplied."""
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
    excess = np.where((first ^ second) >= 0, sizes - MOST, 0).clip(0)
    lowered = weights.copy()
    from_first = np.minimum((excess + 1) // 2, np.abs(first))
    lowered[:, ::2] -= np.sign(first) * from_first
    lowered[:, 1::2] -= np.sign(second) * (excess - from_first)
    return lowered.astype(np.int8)


def desaturate(path: Path) -> None:
    """Rewrite a ``model.bin`` in place: the same integer sums on every processor.

    Processors without vector neural network instructions multiply unsigned by signed bytes and add
    each two neighbouring products in 16 bits (``vpmaddubsw``), which saturates at 32,767: 255 times
    the sum of two neighbouring weights must stay below. So in every row weights are scaled, and of
    two neighbours of one sign that are together above 128 both are lowered, whichever scale from 1
    to 1/2 gives the smallest squared error. Of all-MiniLM-L6-v2 rows move by 0.9 % (7-bit weights:
    1.5 to 2 %).
    """
    content = bytearray(path.read_bytes())
    arrays = variables(content)
    blocks = [
        (variable, row)
        for variable in multiplied(arrays)
        for row in range(0, variable.shape[0], ROWS)
    ]
    in_all = sum(variable.size for variable in multiplied(arrays))
    for variable, row in track(blocks, "weights", in_all, size=_weights_of):
        weights = np.frombuffer(content, np.int8, variable.size, variable.start)
        rows = weights.reshape(variable.shape)[row : row + ROWS]
        if largest_pair(rows) <= MOST:
            continue
        stands = arrays[f"{variable.name}_scale"]
        scales = np.frombuffer(content, np.float32, stands.size // 4, stands.start)
        rows[:], factors = without_saturation(rows)
        scales[row : row + ROWS] *= factors
    path.write_bytes(content)


def _weights_of(block: tuple[Variable, int]) -> int:
    """Return how many weights a block of rows holds."""
    variable, row = block
    return min(ROWS, variable.shape[0] - row) * variable.shape[1]
