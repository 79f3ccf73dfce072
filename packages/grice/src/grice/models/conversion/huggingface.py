"""Folders in the layout of Hugging Face: ``config.json``, ``*.safetensors``, ``tokenizer.json``."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grice.errors import BundleError, os_reason
from grice.models.conversion.checkpoint import FAMILIES, Checkpoint, Shape, from_bfloat16

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from grice.models.conversion.checkpoint import Tensor

LONGEST_HEADER = 2**26


class Published(NamedTuple):
    """A checkpoint of any family, as its folder states it.

    Attributes:
        tensor: Returns a weight by the name it has in transformers, in float32; None if there is
            none of that name.
        names: Of all weights.
    """

    config: dict[str, Any]
    tokenizer: dict[str, Any]
    tensor: Callable[[str], Tensor | None]
    names: tuple[str, ...] = ()


def read_config(folder: Path) -> dict[str, Any]:
    """Return the content of ``config.json``."""
    return _json(folder / "config.json")


def read_published(folder: Path) -> Published:
    """Return the checkpoint that a folder holds, whatever its family."""
    config = read_config(folder)
    tokenizer = _json(folder / "tokenizer.json")
    weights = {
        name: place
        for file in sorted(folder.glob("*.safetensors"))
        for name, place in _header(file).items()
    }
    if not weights:
        raise BundleError(f"{folder}: *.safetensors is missing")

    def tensor(name: str) -> Tensor | None:
        return _read(*weights[name], name) if name in weights else None

    return Published(config, tokenizer, tensor, tuple(weights))


def read_folder(folder: Path) -> Checkpoint:
    """Return the decoder that a folder holds."""
    config, tokenizer, tensor, _ = read_published(folder)
    try:
        shape = _shape(config)
        shape.check()
        tokens = tokens_of(tokenizer, shape.vocabulary)
        begin, end = (_token(config.get(name), tokens) for name in ("bos_token_id", "eos_token_id"))
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise BundleError(
            f"{folder}: config.json or tokenizer.json cannot be used ({problem})"
        ) from error
    except BundleError as error:
        raise BundleError(f"{folder}: {error}") from None
    return Checkpoint(shape, tensor, tokens, json.dumps(tokenizer, ensure_ascii=False), begin, end)


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise BundleError(f"{path}: {os_reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{path}: no JSON ({error})") from error
    if not isinstance(content, dict):
        raise BundleError(f"{path}: an object is expected")
    return content


def _shape(config: dict[str, Any]) -> Shape:
    family = config["model_type"]
    if family not in FAMILIES:
        raise BundleError(f"models of type {', '.join(FAMILIES)} are read, not {family!r}")
    if config.get("rope_scaling"):
        raise BundleError("scaled rotary positions (rope_scaling) are not read")
    heads, hidden = int(config["num_attention_heads"]), int(config["hidden_size"])
    rope = config.get("rope_parameters") or config
    return Shape(
        family,
        int(config["num_hidden_layers"]),
        heads,
        int(config.get("num_key_value_heads") or heads),
        int(config.get("head_dim") or hidden // heads),
        hidden,
        int(config["vocab_size"]),
        float(rope.get("rope_theta", 10_000.0)),
        float(config["rms_norm_eps"]),
        int(config["max_position_embeddings"]),
    )


def tokens_of(tokenizer: dict[str, Any], count: int) -> list[str]:
    """Return the vocabulary by number; rows of the embedding without a token get a made-up one."""
    stated = tokenizer["model"]["vocab"]
    if isinstance(stated, list):  # of a unigram model: pieces with their log probabilities
        stated = {piece: number for number, (piece, _) in enumerate(stated)}
    vocabulary: dict[str, int] = dict(stated)
    vocabulary.update(
        {added["content"]: added["id"] for added in tokenizer.get("added_tokens", ())}
    )
    by_number = {number: token for token, number in vocabulary.items()}
    return [by_number.get(i, f"<unused {i}>") for i in range(count)]


def _token(number: int | list[int] | None, tokens: list[str]) -> str:
    if isinstance(number, list):
        number = number[0]
    return "" if number is None else tokens[number]


def _header(path: Path) -> dict[str, tuple[Path, int, dict[str, Any]]]:
    """Return for each weight of a file: the file, the byte its data are counted from, its entry.

    Layout: https://github.com/huggingface/safetensors.
    """
    try:
        with path.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            if length > LONGEST_HEADER:
                raise ValueError(f"a header of {length} bytes")
            header = json.loads(stream.read(length))
        size = path.stat().st_size
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        ends = max((entry["data_offsets"][1] for entry in entries.values()), default=0)
        if 8 + length + ends > size:
            raise ValueError(f"data end at byte {8 + length + ends:,} of {size:,}")
    except OSError as error:
        raise BundleError(f"{path}: {os_reason(error)}") from error
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BundleError(f"{path}: cut off or damaged ({error}); fetch it again") from error
    return {name: (path, 8 + length, entry) for name, entry in entries.items()}


def _read(path: Path, first: int, entry: dict[str, Any], name: str) -> Tensor:
    start, end = entry["data_offsets"]
    kind = entry["dtype"]
    raw = np.fromfile(path, np.uint8, end - start, offset=first + start)
    if kind == "BF16":
        values = from_bfloat16(raw)
    elif kind in ("F16", "F32"):
        values = raw.view(np.float16 if kind == "F16" else np.float32).astype(np.float32)
    else:
        raise BundleError(f"{path}: {name} is stored as {kind}; BF16, F16 and F32 are read")
    return values.reshape(entry["shape"])
