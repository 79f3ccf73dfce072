"""Published T5, BART, BERT and RoBERTa checkpoints become models, by CTranslate2's converter.

It needs transformers and torch (``pip install "grice-research[train]"``). Published weights stay in
float32: encoders compute so in both modes, encoder-decoders, which take far longer, by the mode.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from tokenizers import Tokenizer

from grice.errors import BundleError, ModelError
from grice.models.conversion import convert
from grice.models.conversion.checkpoint import FAMILIES
from grice.models.conversion.huggingface import read_config
from grice.models.embedded import encoder
from grice_research.published_models.pickled import checkpoint

if TYPE_CHECKING:
    from ctranslate2.specs import ModelSpec

    from grice.models.bundle import CardValue

FLOAT32: Literal["float32"] = "float32"
SEPARATOR = "\n"
"""Stands between what a decoder alone reads and what it writes: every vocabulary has it."""
ENCODERS, WRITERS = ("bert", "roberta"), ("bart", "t5")
COMPLETED = {
    "normalize_before": False,
    "normalize_embedding": True,
    "position_embedding_type": "absolute",
}
"""What the converter reads of a configuration that version 5 of transformers has dropped."""


def convert_seq2seq(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder-decoder, or a decoder alone, and return what its card states."""
    config = read_config(source)
    if config.get("model_type") in FAMILIES:
        with checkpoint(source) as whole:
            shape = convert(whole, target, quantization=FLOAT32)
        return {
            "positions": shape.positions,
            "separator": SEPARATOR,
            "end": str(read_config(target)["eos_token"]),
        }
    with checkpoint(source) as whole:
        converted = _converted(whole, target, config, WRITERS, "encoder-decoders")
    first = config.get("forced_bos_token_id")
    return {
        "positions": int(config.get("max_position_embeddings", 0)),
        "first": "" if first is None else str(converted.id_to_token(int(first))),
    }


def convert_encoder(source: Path, target: Path, *, drop: int = 0) -> int:
    """Convert an encoder without any head, and return how many tokens it reads at once."""
    config = read_config(source)
    layers = int(config.get("num_hidden_layers", 0))
    if layers <= drop:
        raise BundleError(f"{source}: {drop} layers cannot be left out of {layers}")
    _converted(source, target, {**config, "num_hidden_layers": layers - drop}, ENCODERS, "encoders")
    # RoBERTa's count begins behind the padding.
    first = int(config.get("pad_token_id") or 0) + 1 if config["model_type"] == "roberta" else 0
    return int(config["max_position_embeddings"]) - first


def convert_plain_encoder(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder whose vectors are read, and return what its card states."""
    with checkpoint(source) as whole:
        positions = convert_encoder(whole, target)
    dimensions = int(read_config(source)["hidden_size"])
    return {"arithmetic": FLOAT32, "max_tokens": positions, "dimensions": dimensions}


published_encoder = encoder._replace(name="published-encoder", convert=convert_plain_encoder)


def _converted(
    source: Path, target: Path, config: dict[str, Any], families: tuple[str, ...], what: str
) -> Tokenizer:
    """Write a checkpoint in the run-time format, and return its tokenizer."""
    family = str(config.get("model_type"))
    if family not in families:
        raise BundleError(
            f"{source}: {what} of type {', '.join(families)} are read, not {family!r}"
        )
    try:
        import torch
        from ctranslate2.converters import TransformersConverter
    except ImportError:
        raise ModelError(
            f'{source}: is converted by transformers: pip install "grice-research[train]"'
        ) from None

    try:
        tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    except Exception as error:
        raise BundleError(f"{source}: no tokenizer.json that can be read: {error}") from error

    class Converter(TransformersConverter):  # type: ignore[misc]
        def _load(self) -> ModelSpec:
            spec = super()._load()
            # Version 5 of transformers calls every T5 tied, and keeps the truth here.
            tied = config.get("scale_decoder_outputs", config.get("tie_word_embeddings", True))
            if family == "t5" and not tied:
                spec.decoder.scale_outputs = np.dtype("float32").type(1.0)
            if family == "roberta" and config.get("pad_token_id") == 0:  # which it does not count
                positions = spec.encoder.position_encodings
                positions.encodings = positions.encodings[1:]
            return spec

    with TemporaryDirectory() as folder:
        completed = Path(folder) / "source"
        completed.mkdir()
        for path in (*source.glob("*.safetensors*"), source / "tokenizer.json"):
            (completed / path.name).symlink_to(path.resolve())
        (completed / "config.json").write_text(json.dumps({**COMPLETED, **config}))
        stated = json.dumps(_tokenizer_config(config, tokenizer))
        (completed / "tokenizer_config.json").write_text(stated)
        torch.manual_seed(0)  # of layers that a checkpoint lacks, such as the pooler of RoBERTa
        try:
            Converter(str(completed)).convert(str(Path(folder) / "made"), quantization=FLOAT32)
        except Exception as error:
            raise BundleError(f"{source}: {type(error).__name__}: {error}") from error
        for path in (Path(folder) / "made").iterdir():
            shutil.move(path, target / path.name)
    shutil.copyfile(source / "tokenizer.json", target / "tokenizer.json")
    return tokenizer


def _tokenizer_config(config: dict[str, Any], tokenizer: Tokenizer) -> dict[str, str]:
    """Return what makes transformers read ``tokenizer.json`` as it is."""
    ids = {name: config.get(f"{name}_id") for name in ("bos_token", "eos_token", "pad_token")}
    special = {name: tokenizer.id_to_token(int(i)) for name, i in ids.items() if i is not None}
    unknown = json.loads(tokenizer.to_str())["model"].get("unk_token")
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": str(unknown or tokenizer.id_to_token(0)),
        **{name: token for name, token in special.items() if token},
    }
