"""Readers of published decoders: folders of Hugging Face, and GGUF files of llama.cpp."""

from __future__ import annotations

import json
import struct
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grice.errors import ModelFolderError, os_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gguf import ReaderTensor
    from numpy.typing import NDArray
    from tokenizers import pre_tokenizers

    Tensor = NDArray[np.float32]
    Tensors = Mapping[str, Callable[[], Tensor]]
    """Weights by their names in transformers, read when they are called, shape (outputs, inputs)"""

FAMILIES = ("llama", "qwen2", "qwen3")
"""Architectures that are converted, as ``model_type`` and GGUF name them."""
MAX_HEADER = 2**26
"""Bytes of the longest header of a safetensors file that is read."""
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"


class Shape(NamedTuple):
    """Sizes and constants of a decoder.

    Attributes:
        key_heads: Heads of keys and values; fewer than ``heads`` in grouped-query attention.
        positions: Tokens the model was trained to read at once.
    """

    family: str
    layers: int
    heads: int
    key_heads: int
    head_size: int
    hidden: int
    vocabulary: int
    rope_base: float
    epsilon: float
    positions: int

    def check(self) -> None:
        """Raise ValueError for sizes that are not positive or do not divide one another."""
        sizes = (self.layers, self.heads, self.key_heads, self.head_size, self.hidden)
        if min(*sizes, self.vocabulary, self.positions) < 1 or self.heads % self.key_heads:
            raise ValueError(f"sizes that cannot be: {self}")


class Checkpoint(NamedTuple):
    """A published decoder.

    Attributes:
        tokens: The vocabulary in the order of the embedding's rows.
        tokenizer: The content of ``tokenizer.json``.
        begin: Token that begins a text; empty if none does.
    """

    shape: Shape
    tensors: Tensors
    tokens: list[str]
    tokenizer: str
    begin: str
    end: str


def read_checkpoint(source: Path) -> Checkpoint:
    """Read a folder of Hugging Face or a GGUF file."""
    try:
        return _read_folder(source) if source.is_dir() else _read_gguf(source)
    except OSError as error:
        raise ModelFolderError(f"{source}: {os_reason(error)}") from error
    except ModelFolderError as error:
        message = str(error)
        raise ModelFolderError(
            message if message.startswith(str(source)) else f"{source}: {message}"
        ) from None


def needed(tensors: Tensors, name: str) -> Tensor:
    """Return a weight; refuse a missing or infinite one."""
    if name not in tensors:
        raise ModelFolderError(f"weight {name} is missing")
    values = tensors[name]()
    if not np.isfinite(values).all():
        raise ModelFolderError(f"weight {name} holds values that are not finite")
    return np.ascontiguousarray(values)


def _check_family(family: str) -> None:
    if family not in FAMILIES:
        raise ModelFolderError(f"models of type {', '.join(FAMILIES)} are read, not {family!r}")


# Folders of Hugging Face.


def read_config(folder: Path) -> dict[str, Any]:
    """Return the content of ``config.json``."""
    return _json(folder / "config.json")


def read_tensors(folder: Path) -> Tensors:
    """Return the weights of all ``*.safetensors`` of a folder, of any family."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelFolderError(f"{folder}: *.safetensors is missing")
    return {name: read for file in files for name, read in _safetensors(file).items()}


def _read_folder(folder: Path) -> Checkpoint:
    config, tokenizer = read_config(folder), _json(folder / "tokenizer.json")
    tensors = read_tensors(folder)
    try:
        family = config["model_type"]
        _check_family(family)
        if config.get("rope_scaling"):
            raise ModelFolderError("scaled rotary positions (rope_scaling) are not read")
        heads, hidden = int(config["num_attention_heads"]), int(config["hidden_size"])
        shape = Shape(
            family,
            int(config["num_hidden_layers"]),
            heads,
            int(config.get("num_key_value_heads") or heads),
            int(config.get("head_dim") or hidden // heads),
            hidden,
            int(config["vocab_size"]),
            float((config.get("rope_parameters") or config).get("rope_theta", 10_000.0)),
            float(config["rms_norm_eps"]),
            int(config["max_position_embeddings"]),
        )
        shape.check()
        numbers = dict(tokenizer["model"]["vocab"])
        numbers |= {added["content"]: added["id"] for added in tokenizer.get("added_tokens", ())}
        by_number = {number: token for token, number in numbers.items()}
        tokens = [by_number.get(i, f"<unused {i}>") for i in range(shape.vocabulary)]
        begin, end = (_token(config.get(name), tokens) for name in ("bos_token_id", "eos_token_id"))
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise ModelFolderError(
            f"config.json or tokenizer.json cannot be used ({problem})"
        ) from error
    return Checkpoint(shape, tensors, tokens, json.dumps(tokenizer, ensure_ascii=False), begin, end)


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise ModelFolderError(f"{path}: {os_reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise ModelFolderError(f"{path}: no JSON ({error})") from error
    if not isinstance(content, dict):
        raise ModelFolderError(f"{path}: an object is expected")
    return content


def _token(number: int | list[int] | None, tokens: list[str]) -> str:
    if isinstance(number, list):
        number = number[0]
    return "" if number is None else tokens[number]


def _safetensors(path: Path) -> Tensors:
    """Return the weights of one file; layout: https://github.com/huggingface/safetensors."""
    try:
        with path.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            if length > MAX_HEADER:
                raise ValueError(f"a header of {length} bytes")
            header = json.loads(stream.read(length))
        size = path.stat().st_size
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        end = 8 + length + max((entry["data_offsets"][1] for entry in entries.values()), default=0)
        if end > size:
            raise ValueError(f"data end at byte {end:,} of {size:,}")
    except OSError as error:
        raise ModelFolderError(f"{path}: {os_reason(error)}") from error
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelFolderError(f"{path}: cut off or damaged ({error}); fetch it again") from error

    def read(name: str) -> Tensor:
        (start, end), dtype = entries[name]["data_offsets"], entries[name]["dtype"]
        raw = np.fromfile(path, np.uint8, end - start, offset=8 + length + start)
        if dtype == "BF16":
            values = (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        elif dtype in ("F16", "F32"):
            values = raw.view(np.float16 if dtype == "F16" else np.float32).astype(np.float32)
        else:
            raise ModelFolderError(
                f"{path}: {name} is stored as {dtype}; BF16, F16 and F32 are read"
            )
        return values.reshape(entries[name]["shape"])

    return {name: partial(read, name) for name in entries}


# GGUF files.

GGUF_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
CONTROL = (3, 4)
"""Types of tokens without text: control and user-defined ones."""
QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Pre-tokenization of Qwen2 and Qwen3."""


def _read_gguf(path: Path) -> Checkpoint:
    from gguf import GGUFReader

    try:
        reader = GGUFReader(path)
        facts = {name: field.contents() for name, field in reader.fields.items()}
        family = str(facts["general.architecture"])
        _check_family(family)
        if facts["tokenizer.ggml.model"] != "gpt2":
            raise ModelFolderError(
                "only byte-pair vocabularies (tokenizer.ggml.model 'gpt2') are read"
            )
        tokens = list(facts["tokenizer.ggml.tokens"])
        heads = int(facts[f"{family}.attention.head_count"])
        hidden = int(facts[f"{family}.embedding_length"])
        shape = Shape(
            family,
            int(facts[f"{family}.block_count"]),
            heads,
            int(facts.get(f"{family}.attention.head_count_kv", heads)),
            int(facts.get(f"{family}.attention.key_length", hidden // heads)),
            hidden,
            len(tokens),
            float(facts.get(f"{family}.rope.freq_base", 10_000.0)),
            float(facts[f"{family}.attention.layer_norm_rms_epsilon"]),
            int(facts[f"{family}.context_length"]),
        )
        shape.check()
        tokenizer = _byte_pair_tokenizer(
            tokens,
            facts["tokenizer.ggml.merges"],
            facts["tokenizer.ggml.token_type"],
            str(facts.get("tokenizer.ggml.pre", "")),
        )
        begin = tokens[int(facts.get("tokenizer.ggml.bos_token_id", 0))]
        end = tokens[int(facts["tokenizer.ggml.eos_token_id"])]
        tensors = {_gguf_name(weight.name): weight for weight in reader.tensors}
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ModelFolderError(
            f"this GGUF file is cut off or damaged ({type(error).__name__}: {error}); "
            "fetch it again"
        ) from error
    read = {name: partial(_gguf_tensor, name, weight, shape) for name, weight in tensors.items()}
    return Checkpoint(shape, read, tokens, tokenizer, begin, end)


def _gguf_name(name: str) -> str:
    """Return the name in transformers of a weight such as ``blk.0.attn_q.weight``."""
    *block, part, end = name.split(".")
    prefix = f"model.layers.{block[1]}." if block else ""
    return f"{prefix}{GGUF_NAMES.get(part, part)}.{end}"


def _gguf_tensor(name: str, weight: ReaderTensor, shape: Shape) -> Tensor:
    from gguf import dequantize

    try:
        values = dequantize(weight.data, weight.tensor_type)
    except NotImplementedError:
        raise ModelFolderError(
            f"{weight.name} is stored in a type of GGUF that is not read: {weight.tensor_type.name}"
        ) from None
    # Values that are not quantized are views of the file, which must not be written to.
    values = np.require(values, np.float32, "W").reshape(weight.shape[::-1])
    heads = {"q_proj": shape.heads, "k_proj": shape.key_heads}.get(name.split(".")[-2])
    if shape.family != "llama" or heads is None:
        return values
    # For Llama, GGUF interleaves the two halves that a rotation turns; transformers does not.
    pairs = values.reshape(heads, -1, 2, *values.shape[1:])
    return pairs.swapaxes(1, 2).reshape(values.shape)


def _byte_pair_tokenizer(
    tokens: Sequence[str], merges: Sequence[str], types: Sequence[int], pre: str
) -> str:
    """Return the content of a ``tokenizer.json``."""
    from tokenizers import AddedToken, Tokenizer, decoders, models

    left_right = [(left, right) for left, right in (pair.split(" ", 1) for pair in merges)]
    tokenizer = Tokenizer(
        models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=left_right)
    )
    tokenizer.pre_tokenizer = _pre_tokenizer(pre)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, number in zip(tokens, types, strict=True)
            if number in CONTROL
        ]
    )
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False)


def _pre_tokenizer(name: str) -> pre_tokenizers.PreTokenizer:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence, Split

    words = ByteLevel(add_prefix_space=False, use_regex=True)
    if name == "smollm":
        return Sequence([Digits(individual_digits=True), words])
    if name == "qwen2":
        split = Split(Regex(QWEN), "isolated")
        return Sequence([split, ByteLevel(add_prefix_space=False, use_regex=False)])
    if name in ("gpt-2", "default"):
        return words
    raise ModelFolderError(
        f"the pre-tokenizer {name!r} is not supported; use the folder with tokenizer.json"
    )
