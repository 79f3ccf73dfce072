"""GGUF files, in which llama.cpp keeps language models, read by the ``gguf`` package."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from grice.errors import BundleError, os_reason, shortened
from grice.models.conversion.checkpoint import FAMILIES, Checkpoint, Shape

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gguf import GGUFReader

    from grice.models.conversion.checkpoint import Tensor

Value: TypeAlias = "bool | int | float | str | list[Value]"


def read_gguf(path: Path) -> Checkpoint:
    """Return the decoder that a GGUF file holds."""
    from gguf import GGUFReader

    try:
        return _checkpoint(GGUFReader(path))
    except BundleError as error:
        raise BundleError(f"{path}: {error}") from None
    except OSError as error:
        raise BundleError(f"{path}: {os_reason(error)}") from error
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise BundleError(
            f"{path}: this GGUF file is cut off or damaged ({type(error).__name__}: {error}); "
            "fetch it again"
        ) from error


def _checkpoint(reader: GGUFReader) -> Checkpoint:
    metadata = {name: field.contents() for name, field in reader.fields.items()}
    family = str(metadata["general.architecture"])
    if family not in FAMILIES:
        raise BundleError(f"models of architecture {', '.join(FAMILIES)} are read, not {family!r}")
    shape = _shape(metadata, family)
    shape.check()
    weights = {str(weight.name): weight for weight in reader.tensors}

    def tensor(name: str) -> Tensor | None:
        from gguf import dequantize

        weight = weights.get(_source_name(name))
        if weight is None:
            return None
        try:
            values = dequantize(weight.data, weight.tensor_type)
        except NotImplementedError:
            raise BundleError(
                f"{weight.name} is stored in a type of GGUF that is not read: "
                f"{weight.tensor_type.name}"
            ) from None
        # What is not quantized is the file itself, which is not written to.
        values = np.require(values, np.float32, "W").reshape(weight.shape[::-1])
        return _unpermuted(values, name, shape) if family == "llama" else values

    tokens = [str(token) for token in _list(metadata["tokenizer.ggml.tokens"])]
    if metadata["tokenizer.ggml.model"] != "gpt2":
        raise BundleError("only vocabularies of byte pairs (tokenizer.ggml.model 'gpt2') are read")
    return Checkpoint(
        shape,
        tensor,
        tokens,
        byte_level_tokenizer(
            tokens,
            [str(pair) for pair in _list(metadata["tokenizer.ggml.merges"])],
            [int(str(kind)) for kind in _list(metadata["tokenizer.ggml.token_type"])],
            str(metadata.get("tokenizer.ggml.pre", "")),
        ),
        tokens[int(str(metadata.get("tokenizer.ggml.bos_token_id", 0)))],
        tokens[int(str(metadata["tokenizer.ggml.eos_token_id"]))],
    )


def _shape(metadata: dict[str, Value], family: str) -> Shape:
    def number(name: str, default: float | None = None) -> float:
        value = metadata.get(f"{family}.{name}", default)
        if not isinstance(value, int | float):
            raise BundleError(f"the header lacks {family}.{name}")
        return value

    heads, hidden = int(number("attention.head_count")), int(number("embedding_length"))
    return Shape(
        family,
        int(number("block_count")),
        heads,
        int(number("attention.head_count_kv", heads)),
        int(number("attention.key_length", hidden // heads)),
        hidden,
        len(_list(metadata["tokenizer.ggml.tokens"])),
        number("rope.freq_base", 10_000.0),
        number("attention.layer_norm_rms_epsilon"),
        int(number("context_length")),
    )


def _list(value: Value) -> list[Value]:
    if not isinstance(value, list):
        raise BundleError(f"a list is expected in the header, not {shortened(repr(value))}")
    return value


PARTS = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
WHOLE = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def _source_name(name: str) -> str:
    """Return the name in GGUF of a weight of transformers."""
    if name in WHOLE:
        return WHOLE[name]
    _, _, layer, rest = name.split(".", 3)
    part, kind = rest.rsplit(".", 1)
    return f"blk.{layer}.{PARTS[part]}.{kind}"


def _unpermuted(values: Tensor, name: str, shape: Shape) -> Tensor:
    """Return queries and keys in the order of transformers.

    For Llama, GGUF has the two halves that a rotation turns beside each other, transformers one
    after the other.
    """
    heads = {"q_proj": shape.heads, "k_proj": shape.key_heads}.get(name.split(".")[-2])
    if heads is None:
        return values
    pairs = values.reshape(heads, -1, 2, *values.shape[1:])
    return pairs.swapaxes(1, 2).reshape(values.shape)


CONTROL = (3, 4)
"""Kinds of tokens that stand for no text: control and user-defined ones."""
QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How Qwen2 and Qwen3 cut a text before they look for pairs."""


def byte_level_tokenizer(
    tokens: Sequence[str], merges: Sequence[str], kinds: Sequence[int], cut: str
) -> str:
    """Return the content of a ``tokenizer.json``."""
    pairs = [(left, right) for left, right in (pair.split(" ", 1) for pair in merges)]
    tokenizer = Tokenizer(
        models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=pairs)
    )
    tokenizer.pre_tokenizer = _cutter(cut)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind in CONTROL
        ]
    )
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False)


def _cutter(cut: str) -> pre_tokenizers.PreTokenizer:
    bytes_only = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if cut == "smollm":
        return pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
    if cut == "qwen2":
        split = pre_tokenizers.Split(Regex(QWEN), "isolated")
        return pre_tokenizers.Sequence([split, bytes_only])
    if cut in ("gpt-2", "default"):
        return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    raise BundleError(
        f"texts are cut as {cut!r}, which is not known here; use the folder with tokenizer.json"
    )
