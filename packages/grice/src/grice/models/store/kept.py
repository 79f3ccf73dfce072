"""Checkpoints that are kept as they were published, for engines that read them so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grice.errors import BundleError, os_reason
from grice.models.store.places import copy_files

if TYPE_CHECKING:
    from grice.models.bundle import CardValue

LONGEST = 512
"""Most tokens that are read at once: attention takes time with their square."""
NEEDED = ("config.json", "tokenizer.json")


class Config(msgspec.Struct, frozen=True):
    """What ``config.json`` of transformers says, as far as it is needed."""

    hidden_size: int = 0
    max_position_embeddings: int = LONGEST
    model_type: str = ""
    pad_token_id: int | None = None
    id2label: dict[str, str] = {}

    @property
    def positions(self) -> int:
        """How many tokens are read; RoBERTa's count begins behind the padding."""
        first = (self.pad_token_id or 0) + 1 if "roberta" in self.model_type else 0
        return min(LONGEST, self.max_position_embeddings - first)


def keep_checkpoint(source: Path, target: Path) -> dict[str, CardValue]:
    """Copy a checkpoint into a bundle, and return what its card states for its engine.

    The labels are those of the checkpoint in lower case; the positive one is ``entailment`` where
    there is one, else the last.

    Args:
        source: A folder with ``config.json``, ``tokenizer.json`` and either ``model.onnx``, by
            itself or in the folder ``onnx``, or ``*.safetensors``.
    """
    for name in NEEDED:
        if not (source / name).is_file():
            raise BundleError(f"{source}: no checkpoint of transformers, {name} is missing")
    graph = next((at for at in (source / "model.onnx", source / "onnx" / "model.onnx")
                  if at.is_file()), None)  # fmt: skip
    weights = sorted(path.name for path in source.glob("*.safetensors*"))
    if graph is None and not weights:
        raise BundleError(f"{source}: holds neither model.onnx nor *.safetensors")
    config = _config(source / "config.json")
    copy_files(source, target, [*NEEDED, *(weights if graph is None else ())])
    if graph is not None:
        copy_files(graph.parent, target, [graph.name])
    labels = [config.id2label[key].lower() for key in sorted(config.id2label, key=int)]
    settings: dict[str, CardValue] = {
        "max_tokens": config.positions,
        "dimensions": config.hidden_size,
    }
    if labels:
        settings["labels"] = labels
        settings["positive"] = "entailment" if "entailment" in labels else labels[-1]
    return settings


def _config(path: Path) -> Config:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Config)
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {os_reason(error)}") from error
    except msgspec.DecodeError as error:
        raise BundleError(f"{path}: no configuration of transformers: {error}") from error
