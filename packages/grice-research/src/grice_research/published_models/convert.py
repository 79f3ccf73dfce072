"""How checkpoints that are published become bundles, for the kinds that say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from grice.models.bundle import CardValue

FLOAT32: Literal["float32"] = "float32"
"""Published weights stay as they are. What reads is computed with so in both modes; what writes,
which takes far longer, by the mode."""
SEPARATOR = "\n"
"""Stands between what a decoder alone reads and what it writes: every vocabulary has it."""


def convert_seq2seq(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert what writes texts, in the layout of Hugging Face, and return what its card states."""
    # Here, not above: naming or listing models needs no engine.
    from grice.models.conversion import convert, seq2seq
    from grice.models.conversion.checkpoint import FAMILIES
    from grice.models.conversion.huggingface import read_config

    if read_config(source).get("model_type") in FAMILIES:
        shape = convert(source, target, quantization=FLOAT32)
        return {
            "positions": shape.positions,
            "separator": SEPARATOR,
            "end": str(read_config(target)["eos_token"]),
        }
    converted = seq2seq.convert_seq2seq(source, target)
    return {"positions": converted.positions, "first": converted.first}


def convert_encoder(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder in the layout of Hugging Face, and return what its card states."""
    from grice.models.conversion import encoder

    reader = encoder.convert_encoder(source, target)
    return {"arithmetic": FLOAT32, "max_tokens": reader.positions, "dimensions": reader.hidden}


def convert_dialogue_classifier(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder with DEAM's head of two labels, and return what its card states."""
    from grice.models.conversion import heads

    reader, _ = heads.convert_classifier(source, target, labels=("incoherent", "coherent"))
    return {"max_tokens": reader.positions}


def convert_classifier(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder with a head of any labels, and return what its card states."""
    from grice.models.conversion import heads

    reader, labels = heads.convert_classifier(source, target)
    return {"max_tokens": reader.positions, "labels": labels}


def convert_span_reader(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder that answers by spans, and return what its card states."""
    from grice.models.conversion import heads

    return {"max_tokens": heads.convert_span_reader(source, target).positions}


def convert_keyword_writer(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder-decoder whose prompt hangs on its family, and return what it states."""
    from grice.models.conversion.huggingface import read_config

    return {**convert_seq2seq(source, target), "family": str(read_config(source)["model_type"])}


def convert_ruber(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder with RUBER's network, and return what its card states."""
    return _network(source, target, quadratic=True)


def convert_engagement(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder with the network of predictive engagement; return what it states."""
    return _network(source, target, quadratic=False)


def _network(source: Path, target: Path, *, quadratic: bool) -> dict[str, CardValue]:
    from grice.models.conversion import heads

    outputs = 1 if quadratic else 2
    reader, pooling = heads.convert_network(source, target, quadratic=quadratic, outputs=outputs)
    return {"max_tokens": reader.positions, "pooling": pooling}
