"""How checkpoints that are published become bundles, for the kinds that say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from grice.runtime.bundle import CardValue

__all__ = ["convert_classifier", "convert_encoder", "convert_seq2seq"]

FLOAT32 = "float32"
"""Published weights stay as they are, and are computed with as they are in both modes."""


def convert_seq2seq(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder-decoder in the layout of Hugging Face, and return what its card states."""
    # Here, not above: naming or listing models needs no engine.
    from grice.runtime.conversion import seq2seq

    converted = seq2seq.convert_seq2seq(source, target)
    return {"arithmetic": FLOAT32, "positions": converted.positions, "first": converted.first}


def convert_encoder(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder in the layout of Hugging Face, and return what its card states."""
    from grice.runtime.conversion import encoder

    reader = encoder.convert_encoder(source, target)
    return {"arithmetic": FLOAT32, "max_tokens": reader.positions, "dimensions": reader.hidden}


def convert_classifier(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder with a head of two labels, and return what its card states."""
    from grice.runtime.conversion import encoder

    reader = encoder.convert_classifier(source, target)
    return {"max_tokens": reader.positions}
