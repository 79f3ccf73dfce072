"""Published T5, BART, BERT and RoBERTa checkpoints become models, by CTranslate2's converter.

It needs transformers and torch (``pip install "grice-research[train]"``). Published weights stay in
float32: encoders compute so in both modes, encoder-decoders, which take far longer, by the mode.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from grice.errors import ModelError, ModelFolderError
from grice.models.conversion import needed, read_config, read_tensors
from grice.models.embedded import encoder
from grice.models.folder import CardValue

Tensor = NDArray[np.float32]

PICKLES = "pytorch_model*.bin"
NETWORK = "network.pt"  # a network that was published without its encoder, put beside that
TRUST = "GRICE_TRUST_PICKLE"  # variable that allows to read pickles of a checkpoint: 1


@contextmanager
def checkpoint(source: Path) -> Iterator[Path]:
    """Yield a folder with a checkpoint as ``*.safetensors``; see :func:`as_safetensors`."""
    with TemporaryDirectory() as copy:
        yield as_safetensors(source, Path(copy), trusted=os.environ.get(TRUST) == "1")


def as_safetensors(source: Path, copy: Path, *, trusted: bool) -> Path:
    """Return a folder with the same checkpoint as ``*.safetensors``, and ``network.pt``, if any."""
    stored = sorted(source.glob("*.safetensors"))
    pickles = {"model": [] if stored else sorted(source.glob(PICKLES)),
               "network": list(source.glob(NETWORK))}  # fmt: skip
    if not any(pickles.values()):
        return source
    for name, files in pickles.items():
        weights: dict[str, Any] = {}
        for file in files:
            weights |= read_pickle(file, trusted=trusted)
        if weights:
            from safetensors.torch import save_file

            prefix = "network." if name == "network" else ""
            # Tied weights share their memory in a pickle, which safetensors does not take.
            whole = {f"{prefix}{key}": value.clone() for key, value in weights.items()}
            save_file(whole, copy / f"{name}.safetensors")
    for path in (*stored, *source.glob("*.json")):
        shutil.copyfile(path, copy / path.name)
    return copy


def read_pickle(path: Path, *, trusted: bool) -> dict[str, Any]:
    """Return the tensors of a pickle by name; nothing else than tensors is read from it."""
    if not trusted:
        raise ModelError(
            f"{path}: a pickle, which can run code of its author when it is read; if you know "
            f"where it is from, set {TRUST}=1, or ask its author for *.safetensors"
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
COMPLETED = {"normalize_before": False, "normalize_embedding": True,
             "position_embedding_type": "absolute"}  # fmt: skip
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


def convert_encoder(source: Path, target: Path, *, drop: int = 0) -> int:
    """Convert an encoder without its head and last layers; return how many tokens it reads."""
    config = read_config(source)
    layers = int(config.get("num_hidden_layers", 0))
    if layers <= drop:
        raise ModelFolderError(f"{source}: {drop} layers cannot be left out of {layers}")
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
        def _load(self) -> Any:  # noqa: ANN401 - a specification of CTranslate2
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


HEAD = "head.npz"  # file of the layers on top of an encoder


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


# An encoder with DEAM's head of two labels.
convert_dialogue_classifier = partial(convert_classifier, labels=("incoherent", "coherent"))


def convert_span_reader(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert a RoBERTa or BERT that answers by spans, and return what its card states."""
    with checkpoint(source) as whole:
        published = read_tensors(whole)
        try:
            out, bias = (needed(published, f"qa_outputs.{part}") for part in WEIGHTS)
        except ModelFolderError as error:
            raise ModelFolderError(f"{source}: no reader of spans: {error}") from None
        positions = convert_encoder(whole, target)
        np.savez(target / HEAD, out=out, out_bias=bias)
        return {"max_tokens": positions}


def _convert_network(
    source: Path, target: Path, *, quadratic: bool, outputs: int
) -> dict[str, CardValue]:
    """Convert an encoder with a small network on the vectors of two texts.

    The weights of the network begin with ``network.``; its layers are found by their sizes.
    ``config.json`` may state ``pooling`` and ``layer``, the encoder layer it reads.
    """
    with checkpoint(source) as whole:
        config, published = read_config(whole), read_tensors(whole)
        weights = {n: needed(published, n) for n in published if n.startswith("network.")}
        size = int(config.get("hidden_size", 0))
        arrays: dict[str, Tensor] = {}
        if quadratic:
            matrix = next((w for n, w in weights.items() if n.endswith(".matrix")), None)
            if matrix is None or matrix.shape != (size, size):
                raise ModelFolderError(
                    f"{source}: network.matrix of {size} by {size} numbers is needed"
                )
            arrays["matrix"] = matrix
        layers = network_layers(source, weights, 2 * size + 1 if quadratic else size, outputs)
        for place, (weight, bias) in enumerate(layers):
            arrays[f"weight_{place}"], arrays[f"bias_{place}"] = weight, bias
        positions = convert_encoder(whole, target, drop=-1 - int(config.get("layer", -1)))
        np.savez(target / HEAD, **arrays)  # type: ignore[arg-type]
        return {"max_tokens": positions, "pooling": str(config.get("pooling", "mean"))}


# Encoders with RUBER's network, and with that of predictive engagement.
convert_ruber = partial(_convert_network, quadratic=True, outputs=1)
convert_engagement = partial(_convert_network, quadratic=False, outputs=2)


def network_layers(
    source: Path, weights: dict[str, Tensor], width: int, outputs: int
) -> list[tuple[Tensor, Tensor]]:
    """Return the layers that lead from one width to another, each reading the output before."""
    left = {n: w for n, w in weights.items() if w.ndim == 2 and not n.endswith(".matrix")}
    layers: list[tuple[Tensor, Tensor]] = []
    while left:
        name = next((n for n, w in left.items() if w.shape[1] == width), None)
        bias = None if name is None else weights.get(f"{name.removesuffix('.weight')}.bias")
        if name is None or bias is None:
            break
        layers.append((left.pop(name), bias))
        width = len(bias)
    if not layers or left or width != outputs:
        raise ModelFolderError(
            f"{source}: the layers of the network do not fit the encoder, which gives vectors of "
            f"another size, or the {outputs} numbers that are wanted"
        )
    return layers


WEIGHTS = ("weight", "bias")


def _dense(published: Collection[str]) -> tuple[str, str]:
    if "classifier.dense.weight" in published:
        return "classifier.dense", "classifier.out_proj"
    pooler = next((n for n in published if n.endswith("pooler.dense.weight")), None)
    return (pooler or "classifier.dense.weight").removesuffix(".weight"), "classifier"
