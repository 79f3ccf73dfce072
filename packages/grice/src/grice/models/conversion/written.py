"""A network in the run-time format: its weights set by their names, its files written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs.common_spec import LinearSpec

from grice.errors import BundleError
from grice.models.conversion.saturation import desaturate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from ctranslate2.specs import ModelSpec
    from ctranslate2.specs.common_spec import LayerNormSpec

    from grice.models.conversion.checkpoint import Tensor

Converted = TypeVar("Converted")

Quantization: TypeAlias = Literal["int8", "float32"]


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
