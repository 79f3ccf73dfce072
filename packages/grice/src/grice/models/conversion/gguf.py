"""GGUF files: the format in which llama.cpp keeps a language model, in one file.

Layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Weights are stored in blocks of
32 with a scale, and for some types an offset, in half precision; in the types whose names end in K,
in blocks of 256, whose parts have whole scales of their own.
"""

from __future__ import annotations

import mmap
import struct
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.errors import BundleError, os_reason, shortened
from grice.models.conversion.checkpoint import FAMILIES, Checkpoint, Shape, from_bfloat16
from grice.models.conversion.tokenizer import byte_level_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from grice.models.conversion.checkpoint import Tensor

Value: TypeAlias = "bool | int | float | str | list[Value]"
Bytes: TypeAlias = "np.ndarray[tuple[int, int], np.dtype[np.uint8]]"
Eighths: TypeAlias = "np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]"

SCALARS = "BbHhIif?saQqd"  # by the number of the type; s is a string, a an array
LONGEST = 2**24
"""Most bytes of a string and most items of an array: a damaged count is not believed."""
ALIGNMENT = 32
BLOCK = 32
LONG_BLOCK = 256


class Stored(NamedTuple):
    """Where a weight stands: its shape, rows first, its type and its first byte."""

    shape: tuple[int, ...]
    type: int
    start: int


class Encoding(NamedTuple):
    """How weights are stored: values and bytes of a block, and what turns blocks into values."""

    name: str
    values: int
    bytes: int
    decode: Callable[[Bytes], Tensor]


def read_gguf(path: Path) -> Checkpoint:
    """Return the decoder that a GGUF file holds.

    Raises:
        BundleError: If the file is cut off or damaged, of another architecture, or stores its
            weights or its vocabulary in a way that is not read here.
    """
    try:
        with (
            path.open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as raw,
        ):
            content = memoryview(bytes(raw))
    except (OSError, ValueError) as error:
        raise BundleError(
            f"{path}: {os_reason(error) if isinstance(error, OSError) else error}"
        ) from error
    try:
        return _checkpoint(content)
    except (struct.error, IndexError, KeyError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise BundleError(
            f"{path}: this GGUF file is cut off or damaged ({type(error).__name__}: {error}); "
            "fetch it again"
        ) from error
    except BundleError as error:
        raise BundleError(f"{path}: {error}") from None


def _checkpoint(content: memoryview) -> Checkpoint:
    reader = Reader(content)
    metadata, weights = reader.header()
    family = str(metadata["general.architecture"])
    if family not in FAMILIES:
        raise BundleError(f"models of architecture {', '.join(FAMILIES)} are read, not {family!r}")
    shape = _shape(metadata, family)
    shape.check()
    # Looked up at once, so that a cut file is refused before anything is written.
    for name, stored in weights.items():
        _block(content, name, stored)

    def tensor(name: str) -> Tensor | None:
        source = _source_name(name)
        if source not in weights:
            return None
        encoding, blocks = _block(content, source, weights[source])
        values = encoding.decode(blocks).reshape(weights[source].shape)
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


class Reader:
    """Reads the header of a GGUF file from its beginning."""

    def __init__(self, content: memoryview) -> None:
        self._content = content
        self._place = 0

    def header(self) -> tuple[dict[str, Value], dict[str, Stored]]:
        """Return what the header states, and where each weight stands."""
        if bytes(self._content[:4]) != b"GGUF":
            raise BundleError("this is no GGUF file")
        self._place = 4
        version, weights, entries = self._take("I"), self._take("Q"), self._take("Q")
        if version not in (2, 3):
            raise BundleError(f"versions 2 and 3 of GGUF are read, not {version}")
        metadata = {self._text(): self._value(int(self._take("I"))) for _ in range(int(entries))}
        stored = [self._weight() for _ in range(int(weights))]
        align = metadata.get("general.alignment", ALIGNMENT)
        if not isinstance(align, int) or align < 1:
            raise BundleError(f"general.alignment must be a positive number, found {align!r}")
        first = -(-self._place // align) * align
        return metadata, {name: at._replace(start=first + at.start) for name, at in stored}

    def _weight(self) -> tuple[str, Stored]:
        name = self._text()
        shape = tuple(int(self._take("Q")) for _ in range(int(self._take("I"))))
        return name, Stored(shape[::-1], int(self._take("I")), int(self._take("Q")))

    def _value(self, kind: int) -> Value:
        form = SCALARS[kind]
        if form == "s":
            return self._text()
        if form != "a":
            return self._take(form)
        inner, count = int(self._take("I")), int(self._take("Q"))
        if count > LONGEST:
            raise BundleError(f"a list of {count} items in the header")
        return [self._value(inner) for _ in range(count)]

    def _text(self) -> str:
        length = int(self._take("Q"))
        if length > LONGEST:
            raise BundleError(f"a name of {length} bytes in the header")
        self._place += length
        return str(self._content[self._place - length : self._place], "utf-8")

    def _take(self, form: str) -> int | float:
        (value,) = struct.unpack_from(f"<{form}", self._content, self._place)
        self._place += struct.calcsize(form)
        number: int | float = value
        return number


def _block(content: memoryview, name: str, stored: Stored) -> tuple[Encoding, Bytes]:
    if stored.type not in ENCODINGS:
        names = ", ".join(encoding.name for encoding in ENCODINGS.values())
        raise BundleError(f"{name} is stored in type {stored.type} of GGUF; {names} are read")
    encoding = ENCODINGS[stored.type]
    size = prod(stored.shape) // encoding.values * encoding.bytes
    if stored.start + size > len(content):
        raise ValueError(f"{name} ends at byte {stored.start + size:,} of {len(content):,}")
    raw = np.frombuffer(content, np.uint8, size, stored.start)
    return encoding, raw.reshape(-1, encoding.bytes)


def _halves(blocks: Bytes, start: int) -> Tensor:
    """Return the number in half precision at a byte of each block, as a column."""
    return blocks[:, start : start + 2].copy().view(np.float16).astype(np.float32)


def _nibbles(blocks: Bytes, start: int) -> Tensor:
    """Return the 32 numbers of four bits of each block: the low halves first."""
    packed = blocks[:, start : start + BLOCK // 2]
    return np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32)


def _q5_k(blocks: Bytes) -> Tensor:
    shifts = np.arange(8, dtype=np.uint8)[:, None]
    fifth = blocks[:, None, 16:48] >> shifts & np.uint8(1)
    return _scaled(blocks, _eighths(blocks, 48) + 16 * fifth)


def _eighths(blocks: Bytes, start: int) -> Eighths:
    """Return the 256 numbers of four bits of each block, in eight parts."""
    packed = blocks[:, start : start + 128].reshape(-1, 4, 1, BLOCK)
    return np.concatenate([packed & 15, packed >> 4], axis=2).reshape(-1, 8, BLOCK)


def _scaled(blocks: Bytes, numbers: Eighths) -> Tensor:
    """Return the values of each block: each of its eight parts has a scale and an offset.

    Scales and offsets have six bits: those of the first four parts stand in one byte each, and the
    two upper bits there are the upper bits of the others.
    """
    first, second, third = (blocks[:, place : place + 4] for place in (4, 8, 12))
    scales = np.concatenate([first & 63, third & 15 | first >> 6 << 4], axis=1)
    offsets = np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=1)
    slopes, lowest = scales * _halves(blocks, 0), offsets * _halves(blocks, 2)
    values: Tensor = numbers.astype(np.float32) * slopes[:, :, None] - lowest[:, :, None]
    return values


def _q6_k(blocks: Bytes) -> Tensor:
    """Return the values of each block: sixteen parts of 16, each with a scale.

    Each half of a block has 64 bytes of four lower bits and 32 bytes of two upper bits.
    """
    low = blocks[:, :128].reshape(-1, 2, 64)
    high = blocks[:, 128:192].reshape(-1, 2, 1, BLOCK) >> np.array([[0], [2], [4], [6]], np.uint8)
    four = np.concatenate([low & 15, low >> 4], axis=2).reshape(-1, 2, 4, BLOCK)
    numbers = (four | (high & 3) << 4).astype(np.float32).reshape(-1, 16, 16) - 32
    scales = blocks[:, 192:208].view(np.int8) * _halves(blocks, 208)
    values: Tensor = numbers * scales[:, :, None]
    return values


def _float(kind: type[np.floating]) -> Callable[[Bytes], Tensor]:
    return lambda blocks: blocks.copy().view(kind).astype(np.float32)


ENCODINGS = {
    0: Encoding("F32", 1, 4, _float(np.float32)),
    1: Encoding("F16", 1, 2, _float(np.float16)),
    2: Encoding("Q4_0", BLOCK, 18, lambda b: (_nibbles(b, 2) - 8) * _halves(b, 0)),
    3: Encoding("Q4_1", BLOCK, 20, lambda b: _nibbles(b, 4) * _halves(b, 0) + _halves(b, 2)),
    8: Encoding("Q8_0", BLOCK, 34, lambda b: b[:, 2:].view(np.int8) * _halves(b, 0)),
    12: Encoding("Q4_K", LONG_BLOCK, 144, lambda b: _scaled(b, _eighths(b, 16))),
    13: Encoding("Q5_K", LONG_BLOCK, 176, _q5_k),
    14: Encoding("Q6_K", LONG_BLOCK, 210, _q6_k),
    30: Encoding("BF16", 1, 2, lambda b: from_bfloat16(b.copy())),
}
"""By the number GGUF gives the type."""

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
