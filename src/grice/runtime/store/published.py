"""Checkpoints of the kinds that papers publish, in the run-time format, by kind of the bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from grice.runtime.bundle import CardValue

__all__ = ["PUBLISHED"]

FLOAT32 = "float32"
"""Published weights stay as they are, and are computed with as they are in both modes."""


def _seq2seq(source: Path, target: Path) -> dict[str, CardValue]:
    # Here, not above: naming or listing models needs no engine.
    from grice.runtime.conversion.seq2seq import convert_seq2seq

    converted = convert_seq2seq(source, target)
    return {"arithmetic": FLOAT32, "positions": converted.positions, "first": converted.first}


def _encoder(source: Path, target: Path) -> dict[str, CardValue]:
    from grice.runtime.conversion.encoder import convert_encoder

    reader = convert_encoder(source, target)
    return {"arithmetic": FLOAT32, "max_tokens": reader.positions, "dimensions": reader.hidden}


def _classifier(source: Path, target: Path) -> dict[str, CardValue]:
    from grice.runtime.conversion.encoder import convert_classifier

    reader = convert_classifier(source, target)
    return {"max_tokens": reader.positions}


PUBLISHED: dict[str, Callable[[Path, Path], dict[str, CardValue]]] = {
    "comet": _seq2seq,
    "dialogue-classifier": _classifier,
    "encoder": _encoder,
    "seq2seq": _seq2seq,
}
"""Converts a folder in the layout of Hugging Face, and gives what the card states."""
