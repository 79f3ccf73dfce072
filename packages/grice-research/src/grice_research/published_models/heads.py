"""What stands on a published encoder: classifiers, span readers, small networks of both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grice.errors import BundleError
from grice.models.conversion.convert import needed
from grice.models.conversion.huggingface import read_published
from grice_research.published_models.convert import convert_encoder
from grice_research.published_models.pickled import checkpoint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.models.bundle import CardValue
    from grice.models.conversion.checkpoint import Tensor
    from grice.models.conversion.huggingface import Published

HEAD = "head.npz"
"""File of the layers on top of an encoder."""


def convert_classifier(
    source: Path, target: Path, *, labels: Sequence[str] = ()
) -> dict[str, CardValue]:
    """Convert a RoBERTa or BERT that classifies, and return what its card states.

    The head is a dense layer with tanh on the first state, and a linear one: that of RoBERTa, or
    BERT's pooler and classifier.
    """
    with checkpoint(source) as whole:
        published = read_published(whole)
        try:
            dense, out = _dense(published)
            layers = [needed(published, f"{name}.{p}") for name in (dense, out) for p in WEIGHTS]
        except BundleError as error:
            raise BundleError(f"{source}: no classifier of texts: {error}") from None
        count = len(layers[3])
        if labels and count != len(labels):
            raise BundleError(
                f"{source}: a head of {count} labels; {len(labels)} are needed: {', '.join(labels)}"
            )
        positions = convert_encoder(whole, target)
        names = ("dense", "dense_bias", "out", "out_bias")
        np.savez(target / HEAD, **dict(zip(names, layers, strict=True)))  # type: ignore[arg-type]
        if labels:
            return {"max_tokens": positions}
        stated = published.config.get("id2label") or {}
        names_of_labels = [str(stated.get(str(i), f"LABEL_{i}")) for i in range(count)]
        return {"max_tokens": positions, "labels": names_of_labels}


def convert_dialogue_classifier(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder with DEAM's head of two labels, and return what its card states."""
    return convert_classifier(source, target, labels=("incoherent", "coherent"))


def convert_span_reader(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert a RoBERTa or BERT that answers by spans, and return what its card states."""
    with checkpoint(source) as whole:
        published = read_published(whole)
        try:
            out, bias = (needed(published, f"qa_outputs.{part}") for part in WEIGHTS)
        except BundleError as error:
            raise BundleError(f"{source}: no reader of spans: {error}") from None
        positions = convert_encoder(whole, target)
        np.savez(target / HEAD, out=out, out_bias=bias)
        return {"max_tokens": positions}


def convert_ruber(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder with RUBER's network, and return what its card states."""
    return _convert_network(source, target, quadratic=True, outputs=1)


def convert_engagement(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder with the network of predictive engagement; return what it states."""
    return _convert_network(source, target, quadratic=False, outputs=2)


def _convert_network(
    source: Path, target: Path, *, quadratic: bool, outputs: int
) -> dict[str, CardValue]:
    """Convert an encoder with a small network on the vectors of two texts.

    The weights of the network stand in ``network.safetensors`` under any names that begin with
    ``network.``; its layers are told by their sizes. ``config.json`` may state ``pooling`` and
    ``layer``, the layer it stands on.
    """
    with checkpoint(source) as whole:
        published = read_published(whole)
        weights = {n: needed(published, n) for n in published.names if n.startswith("network.")}
        size = int(published.config.get("hidden_size", 0))
        arrays: dict[str, Tensor] = {}
        if quadratic:
            matrix = next((w for n, w in weights.items() if n.endswith(".matrix")), None)
            if matrix is None or matrix.shape != (size, size):
                raise BundleError(f"{source}: network.matrix of {size} by {size} numbers is needed")
            arrays["matrix"] = matrix
        layers = _layers(source, weights, 2 * size + 1 if quadratic else size, outputs)
        for place, (weight, bias) in enumerate(layers):
            arrays[f"weight_{place}"], arrays[f"bias_{place}"] = weight, bias
        layer = int(published.config.get("layer", -1))
        positions = convert_encoder(whole, target, drop=-1 - layer)
        np.savez(target / HEAD, **arrays)  # type: ignore[arg-type]
        return {"max_tokens": positions, "pooling": str(published.config.get("pooling", "mean"))}


WEIGHTS = ("weight", "bias")


def _dense(published: Published) -> tuple[str, str]:
    if "classifier.dense.weight" in published.names:
        return "classifier.dense", "classifier.out_proj"
    pooler = next((n for n in published.names if n.endswith("pooler.dense.weight")), None)
    return (pooler or "classifier.dense.weight").removesuffix(".weight"), "classifier"


def _layers(
    source: Path, weights: dict[str, Tensor], width: int, outputs: int
) -> list[tuple[Tensor, Tensor]]:
    """Return the layers that lead from one width to another, each reading what the last gives."""
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
        raise BundleError(
            f"{source}: the layers of the network do not fit the encoder, which gives vectors of "
            f"another size, or the {outputs} numbers that are wanted"
        )
    return layers
