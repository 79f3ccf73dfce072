"""Published causal language models, converted to the run-time format (CTranslate2) without torch.

A source is one GGUF file, or a folder in the layout of Hugging Face: ``config.json``,
``*.safetensors``, ``tokenizer.json``. Families: Llama (SmolLM2 too), Qwen2 and Qwen3.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs import ModelSpec, TransformerDecoderModelSpec
from ctranslate2.specs.attention_spec import RotaryScalingType
from ctranslate2.specs.common_spec import Activation, LinearSpec
from ctranslate2.specs.transformer_spec import TransformerDecoderLayerSpec
from gguf import (
    MODEL_ARCH,
    GGMLQuantizationType,
    GGUFReader,
    ReaderTensor,
    dequantize,
    get_tensor_name_map,
)
from gguf.utility import LocalTensor, SafetensorsLocal
from numpy.typing import DTypeLike, NDArray
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from grice.errors import ModelFolderError, os_reason
from grice.models.folder import check_regular
from grice.progress import track

if TYPE_CHECKING:
    Order = Literal["I", "S", "<"]
    Tensor = NDArray[np.float32]
    Tensors = Mapping[str, Callable[[], Tensor]]
    """Weights by their names in transformers, read when they are called, shape (outputs, inputs)"""

Quantization: TypeAlias = Literal["int8", "float32"]
Size: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]
Constant: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e12)]
Token: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]

FAMILIES = ("llama", "qwen2", "qwen3")
"""Architectures that are converted, as ``model_type`` and GGUF name them."""
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"
GGUF_CONFIG = {
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "rope_theta": "rope.freq_base",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "max_position_embeddings": "context_length",
}
"""Fields of ``config.json`` by their names in GGUF."""
CONTROL = (3, 4)  # GGUF's types of tokens without text: control and user-defined ones
QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Pre-tokenization of Qwen2 and Qwen3."""
MAX_PAIR = 128  # largest sum of two neighbouring weights of one sign: 255 * 128 is below 32,767
SCALES = np.arange(1.0, 0.49, -0.05).astype(np.float32)
VALUES = np.array([(value, 0) for value in range(-128, 128)], np.float32)  # each beside no other
ROWS = 128  # rows that are lowered together, few enough for the processor's cache
MOST_VALUES = 1 << 20
"""Numbers and texts in the header of a GGUF file; Qwen3 has 760,000, each text counted twice."""
MOST_BYTES = 1 << 28  # bytes of a JSON file, or of the header of a file of weights


class LlamaRope(msgspec.Struct, frozen=True):
    """Scaled rotary positions of Llama 3.1 and 3.2, as in ``config.json``."""

    factor: Constant
    low_freq_factor: Constant
    high_freq_factor: Constant
    original_max_position_embeddings: Size


class Config(msgspec.Struct, frozen=True):
    """Sizes and constants of a decoder, as in ``config.json``."""

    model_type: str
    num_hidden_layers: Annotated[int, msgspec.Meta(ge=1, le=1024)]
    num_attention_heads: Size
    hidden_size: Size
    intermediate_size: Size
    vocab_size: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
    rms_norm_eps: Constant
    max_position_embeddings: Size
    num_key_value_heads: Size
    head_dim: Size
    rope_theta: Constant = 10_000.0
    bos_token_id: Token | list[Token] | None = None
    eos_token_id: Token | list[Token] | None = None
    rope_scaling: LlamaRope | None = None


class Checkpoint(NamedTuple):
    """A published decoder; ``tokens`` are in the order of the embedding's rows."""

    config: Config
    tensors: Tensors
    tokens: list[str]
    tokenizer: str
    template: str = ""  # of chats, from a GGUF file


def convert(
    source: Path,
    target: Path,
    *,
    layers: int | None = None,
    exponents: Sequence[int] = (),
    quantization: Quantization = "int8",
) -> int:
    """Write a published causal language model in the run-time format; return its context length."""
    checkpoint = read_checkpoint(source)
    with naming(source):
        if layers is None:
            spec = decoder_network(checkpoint)
        else:
            spec = state_network(checkpoint, layers, exponents)
        quantize(spec, quantization)
    write_network(spec, checkpoint.tokenizer, target)
    return checkpoint.config.max_position_embeddings


@contextmanager
def naming(source: Path) -> Iterator[None]:
    """Name a source in the errors of its content."""
    try:
        yield
    except MemoryError:
        raise
    except OSError as error:
        raise ModelFolderError(f"{source}: {os_reason(error)}") from error
    except ModelFolderError as error:
        named = "" if str(error).startswith(str(source)) else f"{source}: "
        raise ModelFolderError(f"{named}{error}") from None
    except Exception as error:
        raise ModelFolderError(
            f"{source}: cannot be used: cut off, damaged or of another kind; fetch it again "
            f"({type(error).__name__}: {error})"
        ) from error


def read_checkpoint(source: Path) -> Checkpoint:
    """Read a folder of Hugging Face or a GGUF file."""
    with naming(source):
        return _read_folder(source) if source.is_dir() else _read_gguf(source)


def _config(stated: dict[str, Any]) -> Config:
    if stated.get("model_type") not in FAMILIES:
        raise ModelFolderError(
            f"models of type {', '.join(FAMILIES)} are supported, not {stated.get('model_type')!r}"
        )
    scaling = stated.get("rope_scaling") or {"rope_type": "default"} | stated
    if (kind := scaling.get("rope_type")) not in ("default", "llama3"):
        raise ModelFolderError(f"rope_scaling: rotary positions of type {kind!r} are not supported")
    stated["rope_scaling"] = scaling if kind == "llama3" else None
    heads = stated["num_attention_heads"]
    stated["num_key_value_heads"] = stated.get("num_key_value_heads") or heads
    stated["head_dim"] = stated.get("head_dim") or stated["hidden_size"] // (heads or 1)
    config = msgspec.convert(stated, Config, strict=False)
    if config.num_attention_heads % config.num_key_value_heads:
        raise ModelFolderError("num_attention_heads is not a multiple of num_key_value_heads")
    return config


def read_tensors(folder: Path) -> Tensors:
    """Return the weights of all ``*.safetensors`` of a folder, of any family."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelFolderError(f"{folder}: *.safetensors is missing")
    tensors: dict[str, Callable[[], Tensor]] = {}
    for file in files:
        with naming(file), check_regular(file).open("rb") as opened:
            _check_size(int.from_bytes(opened.read(8), "little"))
            found = SafetensorsLocal(file).tensors
        tensors |= {name: partial(_tensor, file, name, found[name]) for name in found}
    return tensors


def _tensor(file: Path, name: str, tensor: LocalTensor) -> Tensor:
    with naming(file):
        if tensor.dtype not in ("BF16", "F16", "F32"):
            raise ModelFolderError(
                f"{name} is stored as {tensor.dtype}; BF16, F16 and F32 are supported"
            )
        values = dequantize(np.array(tensor.mmap_bytes()), GGMLQuantizationType[tensor.dtype])
        return values.reshape(tensor.shape)


def read_config(folder: Path, name: str = "config.json", form: Any = dict[str, Any]) -> Any:  # noqa: ANN401
    """Return the content of a JSON file of a checkpoint, checked against a type."""
    path = folder / name
    with naming(path):
        _check_size(check_regular(path).stat().st_size)
        return msgspec.json.decode(path.read_bytes(), type=form)


def _check_size(length: int) -> None:
    if length > MOST_BYTES:
        raise ModelFolderError(f"{length:,} bytes, where at most {MOST_BYTES:,} are read")


def needed(tensors: Tensors, name: str, *shape: int) -> Tensor:
    """Return a weight; refuse a missing or infinite one, or one of another shape than stated."""
    if name not in tensors:
        raise ModelFolderError(f"weight {name} is missing")
    values = tensors[name]()
    if shape and values.shape != shape:
        raise ModelFolderError(
            f"weight {name} has shape {[*values.shape]}, where {[*shape]} is expected by the "
            "configuration of the model"
        )
    if not np.isfinite(values).all():
        raise ModelFolderError(f"weight {name} holds values that are not finite")
    return np.ascontiguousarray(values)


def _read_folder(folder: Path) -> Checkpoint:
    stated, tokenizer = read_config(folder), read_config(folder, "tokenizer.json")
    stated |= stated.get("rope_parameters") or {}
    config = _config(stated)
    numbers = dict(tokenizer["model"]["vocab"])
    numbers |= {added["content"]: added["id"] for added in tokenizer.get("added_tokens", ())}
    by_number = {number: token for token, number in numbers.items()}
    tokens = [by_number.get(i, f"<unused {i}>") for i in range(config.vocab_size)]
    content = json.dumps(tokenizer, ensure_ascii=False)
    Tokenizer.from_str(content)  # or an error, before anything is written
    return Checkpoint(config, read_tensors(folder), tokens, content)


class BoundedReader(GGUFReader):
    """A reader that ends where the file ends, whatever counts its header states."""

    values = 0

    def _get(
        self, offset: int, dtype: DTypeLike, count: int = 1, override_order: Order | None = None
    ) -> NDArray[Any]:
        self.values += 1
        if self.values > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES:,} values in its header")
        stored = np.dtype(dtype).newbyteorder(override_order or self.byte_order)
        return np.frombuffer(self.data, stored, int(count), int(offset))


def _read_gguf(path: Path) -> Checkpoint:
    reader = BoundedReader(check_regular(path))
    facts = {name: field.contents() for name, field in reader.fields.items()}
    family, tokens = facts["general.architecture"], facts.get("tokenizer.ggml.tokens", [])
    names = {name: f"{family}.{place}" for name, place in GGUF_CONFIG.items()}
    stated = {name: facts[place] for name, place in names.items() if place in facts}
    stated |= {
        "model_type": family,
        "vocab_size": len(tokens),
        "bos_token_id": facts.get("tokenizer.ggml.bos_token_id", 0),
        "eos_token_id": facts.get("tokenizer.ggml.eos_token_id"),
    }
    config = _config(stated)
    if facts["tokenizer.ggml.model"] != "gpt2":
        raise ModelFolderError("only byte-pair vocabularies (tokenizer.ggml.model 'gpt2') are read")
    tokenizer = _byte_pair_tokenizer(tokens, facts)
    stored = {weight.name: weight for weight in reader.tensors}
    places = get_tensor_name_map(MODEL_ARCH[family.upper()], config.num_hidden_layers).mapping
    tensors = {
        f"{name}.{end}": partial(_gguf_tensor, stored[f"{place}.{end}"], config)
        for name, (_, place) in places.items()
        for end in ("weight", "bias")
        if f"{place}.{end}" in stored
    }
    template = str(facts.get("tokenizer.chat_template", ""))
    return Checkpoint(config, tensors, tokens, tokenizer, template)


def _gguf_tensor(weight: ReaderTensor, config: Config) -> Tensor:
    try:
        values = dequantize(weight.data, weight.tensor_type)
    except NotImplementedError:
        raise ModelFolderError(
            f"{weight.name} is stored in an unsupported GGUF type: {weight.tensor_type.name}"
        ) from None
    # Values that are not quantized are views of the file, which must not be written to.
    values = np.require(values, np.float32, "W").reshape(weight.shape[::-1])
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    count = heads.get(weight.name.split(".")[-2])
    if config.model_type != "llama" or count is None or len(values) % (2 * count):
        return values  # of another shape than is accepted, if it does not divide
    # For Llama, GGUF interleaves the two halves that a rotation turns; transformers does not.
    pairs = values.reshape(count, -1, 2, *values.shape[1:])
    return pairs.swapaxes(1, 2).reshape(values.shape)


def _byte_pair_tokenizer(tokens: Sequence[str], facts: Mapping[str, Any]) -> str:
    """Return the content of a ``tokenizer.json``."""
    pre = str(facts.get("tokenizer.ggml.pre", ""))
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pre != "qwen2")
    before: dict[str, list[Any]] = {
        "smollm": [pre_tokenizers.Digits(individual_digits=True)],
        "qwen2": [pre_tokenizers.Split(Regex(QWEN), "isolated")],
        "gpt-2": [],
        "default": [],
    }
    if pre not in before:
        raise ModelFolderError(
            f"the pre-tokenizer {pre!r} is not supported; use the folder with tokenizer.json"
        )
    merges = [tuple(pair.split(" ", 1)) for pair in facts["tokenizer.ggml.merges"]]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    parts = [*before[pre], words]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts) if before[pre] else words
    tokenizer.decoder = decoders.ByteLevel()
    types = facts["tokenizer.ggml.token_type"]
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, number in zip(tokens, types, strict=True)
            if number in CONTROL
        ]
    )
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False)


# Networks of CTranslate2.


def quantize(spec: ModelSpec, quantization: Quantization = "int8") -> ModelSpec:
    """Quantize the matrices of a network in place; int8 ends in :func:`desaturate`."""
    spec.validate()
    spec.optimize(quantization=quantization)
    if quantization == "int8":
        desaturate(spec)
    return spec


def write_network(spec: ModelSpec, tokenizer: str, target: Path) -> None:
    """Write a network and its tokenizer."""
    spec.save(str(target))
    (target / "tokenizer.json").write_text(tokenizer, "utf-8")


def state_network(
    checkpoint: Checkpoint, layers: int, exponents: Sequence[int]
) -> TransformerDecoderModelSpec:
    """Return a network of the first layers, which returns hidden states in place of logits.

    The weights of the last norm become powers of two, so that the states of all dimensions are of
    one size before they are rounded to int8.
    """
    config = checkpoint.config
    if not 0 < layers <= config.num_hidden_layers or len(exponents) != config.hidden_size:
        raise ModelFolderError(
            f"{layers} layers and {len(exponents)} exponents are asked for; the model has "
            f"{config.num_hidden_layers} layers of {config.hidden_size} dimensions"
        )
    config = msgspec.structs.replace(config, num_hidden_layers=layers)
    spec = decoder_network(checkpoint._replace(config=config))
    spec.decoder.layer_norm.gamma = np.exp2(np.array(exponents, np.float32))
    spec.decoder.projection.weight = np.eye(config.hidden_size, dtype=np.float32)
    return spec


def decoder_network(checkpoint: Checkpoint) -> TransformerDecoderModelSpec:
    """Return the network of a checkpoint."""
    config, tensors = checkpoint.config, checkpoint.tensors
    is_grouped = config.num_key_value_heads != config.num_attention_heads
    rope = config.rope_scaling
    spec = TransformerDecoderModelSpec.from_config(
        config.num_hidden_layers,
        config.num_attention_heads,
        activation=Activation.SWISH,
        pre_norm=True,
        ffn_glu=True,
        rms_norm=True,
        rotary_dim=config.head_dim,
        rotary_interleave=False,
        rotary_base=config.rope_theta,
        rotary_scaling_type=RotaryScalingType.Llama3 if rope else None,
        original_max_position_embeddings=rope.original_max_position_embeddings if rope else 0,
        max_position_embeddings=config.max_position_embeddings if rope else 0,
        num_heads_kv=config.num_key_value_heads if is_grouped else None,
        head_dim=config.head_dim,
        qk_norm=config.model_type == "qwen3",
    )
    decoder = spec.decoder
    decoder.scale_embeddings = False
    hidden, size = config.hidden_size, (config.vocab_size, config.hidden_size)
    embedding = needed(tensors, EMBEDDING, *size)
    decoder.embeddings.weight = embedding
    decoder.layer_norm.gamma = needed(tensors, "model.norm.weight", hidden)
    decoder.projection.weight = needed(tensors, HEAD, *size) if HEAD in tensors else embedding
    for i, layer in enumerate(decoder.layer):
        _set_layer(layer, tensors, f"model.layers.{i}", config)
        if rope:
            layer.self_attention.rotary_low_freq_factor = np.float32(rope.low_freq_factor)
            layer.self_attention.rotary_high_freq_factor = np.float32(rope.high_freq_factor)
            # The engine reads the factor, for which the specification has no place.
            vars(layer.self_attention)["rotary_scaling_factor"] = np.float32(rope.factor)
    spec.register_vocabulary(checkpoint.tokens)
    numbers = (config.bos_token_id, config.eos_token_id)
    firsts = [number[0] if isinstance(number, list) else number for number in numbers]
    begin, end = ["" if number is None else checkpoint.tokens[number] for number in firsts]
    spec.config.bos_token = begin or end
    spec.config.eos_token = spec.config.unk_token = end
    spec.config.layer_norm_epsilon = config.rms_norm_eps
    return spec


def _set_layer(
    layer: TransformerDecoderLayerSpec, tensors: Tensors, name: str, config: Config
) -> None:
    attention, feed = layer.self_attention, layer.ffn
    hidden, inner, size = config.hidden_size, config.intermediate_size, config.head_dim
    queries, keys = (n * size for n in (config.num_attention_heads, config.num_key_value_heads))
    norms = {
        "input_layernorm": (attention.layer_norm, hidden),
        "post_attention_layernorm": (feed.layer_norm, hidden),
        "self_attn.q_norm": (getattr(attention, "q_norm", None), size),
        "self_attn.k_norm": (getattr(attention, "k_norm", None), size),
    }
    for part, (norm, dimensions) in norms.items():
        if norm is not None:
            norm.gamma = needed(tensors, f"{name}.{part}.weight", dimensions)
    linears = {
        "self_attn.q_proj": (LinearSpec(), queries, hidden),
        "self_attn.k_proj": (LinearSpec(), keys, hidden),
        "self_attn.v_proj": (LinearSpec(), keys, hidden),
        "self_attn.o_proj": (attention.linear[1], hidden, queries),
        "mlp.gate_proj": (feed.linear_0, inner, hidden),
        "mlp.up_proj": (feed.linear_0_noact, inner, hidden),
        "mlp.down_proj": (feed.linear_1, hidden, inner),
    }
    for part, (linear, rows, columns) in linears.items():
        linear.weight = needed(tensors, f"{name}.{part}.weight", rows, columns)
        if f"{name}.{part}.bias" in tensors:
            linear.bias = needed(tensors, f"{name}.{part}.bias", rows)
    fuse_linear(attention.linear[0], [linear for linear, *_ in linears.values()][:3])


# Int8 weights whose sums are equal on every processor.


def desaturate(spec: ModelSpec) -> None:
    """Change int8 matrices in place so that integer sums are equal on every processor.

    Processors without vector neural network instructions multiply unsigned by signed bytes and add
    each two neighbouring products in 16 bits (``vpmaddubsw``), which saturates at 32,767: 255 times
    the sum of two neighbouring weights must stay below. So in every row weights are scaled, and of
    two neighbours of one sign that are together above 128 both are lowered, by the scale from 1 to
    1/2 with the smallest squared error. Rows of all-MiniLM-L6-v2 move by 0.9 %.
    """
    blocks = [
        (weights[row : row + ROWS], scales[row : row + ROWS])
        for weights, scales in int8_matrices(spec)
        for row in range(0, len(weights), ROWS)
    ]
    with ThreadPoolExecutor() as pool:  # NumPy computes without Python's lock
        done = pool.map(without_saturation, (rows for rows, _ in blocks))
        changed = track(done, f"blocks of {ROWS} rows", len(blocks))
        for (rows, scales), (lowered, factors) in zip(blocks, changed, strict=True):
            rows[:] = lowered
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


def without_saturation(rows: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return weights whose neighbours cannot saturate, and the factor of each row."""
    exact = rows.astype(np.float32)
    places = np.nonzero(np.abs(exact[:, ::2] + exact[:, 1::2]) >= MAX_PAIR)  # for any factor
    pairs = exact.reshape(len(rows), -1, 2)[places]
    # The error of all other weights depends on their value alone: each value is counted once.
    alone = rows.copy()
    alone.reshape(len(rows), -1, 2)[places] = 0
    bins = len(VALUES) * np.arange(len(rows)) + len(VALUES) // 2
    counts = np.bincount((alone + bins[:, None]).ravel(), minlength=len(rows) * len(VALUES))
    errors = [
        counts.reshape(len(rows), -1) @ _errors(VALUES, factor)
        + np.bincount(places[0], _errors(pairs, factor), len(rows))
        for factor in SCALES
    ]
    near = np.array(errors) <= 1.0001 * np.min(errors, axis=0)  # may be equal in another order
    best, unsure = near.argmax(axis=0), near.sum(axis=0) > 1
    best[unsure] = np.argmin([_errors(exact[unsure], factor) for factor in SCALES], axis=0)
    scale = SCALES[best]
    return _lowered(exact, scale[:, None]).astype(np.int8), scale


def _errors(weights: Tensor, factor: np.float32) -> Tensor:
    """Return the squared error of each row with a factor."""
    off = _lowered(weights, factor) / factor - weights
    return np.asarray(np.square(off).sum(axis=1), np.float32)


def _lowered(weights: Tensor, factor: np.float32 | Tensor) -> Tensor:
    """Return rows times a factor, with lower weights where neighbours would saturate."""
    lowered: Tensor = np.rint(weights * factor)
    sums = lowered[:, ::2] + lowered[:, 1::2]  # of opposite signs they are small
    places = np.nonzero(np.abs(sums) > MAX_PAIR)
    first, second = (lowered[:, side::2][places] for side in (0, 1))
    excess = np.abs(sums[places]) - MAX_PAIR
    from_first = np.minimum(np.ceil(excess / 2), np.abs(first))
    lowered[:, ::2][places] = first - np.sign(first) * from_first
    lowered[:, 1::2][places] = second - np.sign(second) * (excess - from_first)
    return lowered
