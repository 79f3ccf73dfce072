"""Published T5, BART, BERT and RoBERTa checkpoints become models, by CTranslate2's converter.

It needs transformers and torch (``pip install "grice-research[train]"``). Published weights stay in
float32: encoders compute so in both modes, encoder-decoders, which take far longer, by the mode.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from tokenizers import Tokenizer

from grice.errors import ModelError, ModelFolderError
from grice.models.conversion import needed, read_config, read_tensors
from grice.models.embedded import encoder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctranslate2.specs import ModelSpec

    from grice.models.conversion import Tensors
    from grice.models.folder import CardValue

PICKLES = "pytorch_model*.bin"
TRUST = "GRICE_TRUST_PICKLE"
"""Variable that allows to read pickles of a checkpoint: 1."""


@contextmanager
def checkpoint(source: Path) -> Iterator[Path]:
    """Yield a folder with a checkpoint as ``*.safetensors``; see :func:`as_safetensors`."""
    with TemporaryDirectory() as copy:
        yield as_safetensors(source, Path(copy), trusted=os.environ.get(TRUST) == "1")


def as_safetensors(source: Path, copy: Path, *, trusted: bool) -> Path:
    """Return a folder with the same checkpoint as ``*.safetensors``."""
    files = sorted(source.glob(PICKLES))
    if not files or any(source.glob("*.safetensors")):
        return source
    from safetensors.torch import save_file

    weights: dict[str, Any] = {}
    for file in files:
        weights.update(read_pickle(file, trusted=trusted))
    # Tied weights share their memory in a pickle, which safetensors does not take.
    whole = {name: value.clone() for name, value in weights.items()}
    save_file(whole, copy / "model.safetensors")
    for path in source.glob("*.json"):
        shutil.copyfile(path, copy / path.name)
    return copy


def read_pickle(path: Path, *, trusted: bool) -> dict[str, Any]:
    """Return the tensors of a pickle by name; nothing else than tensors is read from it."""
    if not trusted:
        raise ModelError(
            f"{path}: a pickle, which can run code of its author when it is read; if you know "
            f"where it is from, set {TRUST}=1, or ask its author for "
            "*.safetensors"
        )
    try:
        import torch
    except ImportError:
        raise ModelError(
            f'{path}: a pickle is read with torch: pip install "grice-research[train]"'
        ) from None
    try:
        # Even so: tensors and plain containers only.
        stated = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ModelFolderError(f"{path}: no pickle of weights alone: {error}") from error
    weights = stated.get("state_dict", stated) if isinstance(stated, dict) else None
    if not isinstance(weights, dict) or not all(map(torch.is_tensor, weights.values())):
        raise ModelFolderError(f"{path}: no weights by name")
    return {str(name): value.contiguous() for name, value in weights.items()}


FLOAT32: Literal["float32"] = "float32"
ENCODERS, WRITERS = ("bert", "roberta"), ("bart", "t5")
COMPLETED = {
    "normalize_before": False,
    "normalize_embedding": True,
    "position_embedding_type": "absolute",
}
"""Fields of a configuration that the converter reads and version 5 of transformers dropped."""


def convert_seq2seq(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder-decoder, and return what its card states."""
    config = read_config(source)
    with checkpoint(source) as whole:
        converted = _converted(whole, target, config, WRITERS, "encoder-decoders")
    first = config.get("forced_bos_token_id")
    return {
        "positions": int(config.get("max_position_embeddings", 0)),
        "first": "" if first is None else str(converted.id_to_token(int(first))),
    }


def convert_encoder(source: Path, target: Path) -> int:
    """Convert an encoder without any head, and return how many tokens it reads at once."""
    config = read_config(source)
    _converted(source, target, config, ENCODERS, "encoders")
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
        raise ModelFolderError(
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
        raise ModelFolderError(f"{source}: no tokenizer.json that can be read: {error}") from error

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
            raise ModelFolderError(f"{source}: {type(error).__name__}: {error}") from error
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


HEAD = "head.npz"
"""File of the layers on top of an encoder."""


def convert_classifier(
    source: Path, target: Path, *, labels: Sequence[str] = ()
) -> dict[str, CardValue]:
    """Convert a RoBERTa or BERT with its classification head; return the settings of its card."""
    with checkpoint(source) as whole:
        config, published = read_config(whole), read_tensors(whole)
        try:
            dense, out = _dense(published)
            layers = [needed(published, f"{name}.{p}") for name in (dense, out) for p in WEIGHTS]
        except ModelFolderError as error:
            raise ModelFolderError(f"{source}: no classifier of texts: {error}") from None
        count = len(layers[3])
        if labels and count != len(labels):
            raise ModelFolderError(
                f"{source}: a head of {count} labels; {len(labels)} are needed: {', '.join(labels)}"
            )
        positions = convert_encoder(whole, target)
        names = ("dense", "dense_bias", "out", "out_bias")
        np.savez(target / HEAD, **dict(zip(names, layers, strict=True)))  # type: ignore[arg-type]
        if labels:
            return {"max_tokens": positions}
        stated = config.get("id2label") or {}
        names_of_labels = [str(stated.get(str(i), f"LABEL_{i}")) for i in range(count)]
        return {"max_tokens": positions, "labels": names_of_labels}


def convert_dialogue_classifier(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder with DEAM's head of two labels, and return what its card states."""
    return convert_classifier(source, target, labels=("incoherent", "coherent"))


WEIGHTS = ("weight", "bias")


def _dense(published: Tensors) -> tuple[str, str]:
    if "classifier.dense.weight" in published:
        return "classifier.dense", "classifier.out_proj"
    pooler = next((n for n in published if n.endswith("pooler.dense.weight")), None)
    return (pooler or "classifier.dense.weight").removesuffix(".weight"), "classifier"
