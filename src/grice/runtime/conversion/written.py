"""The files of a converted network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from grice.runtime.conversion.saturation import desaturate

if TYPE_CHECKING:
    from pathlib import Path

    from ctranslate2.specs import ModelSpec

__all__ = ["Quantization", "write_network"]

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
