"""Weights that are published as a pickle, which can run code of its author when it is read."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from grice.errors import BundleError, ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator

PICKLES = "pytorch_model*.bin"
NETWORK = "network.pt"
"""A network that was published without the encoder below it, put beside that."""


TRUST = "GRICE_TRUST_PICKLE"
"""Variable that says that pickles of a checkpoint may be read: 1."""


@contextmanager
def checkpoint(source: Path) -> Iterator[Path]:
    """Yield a folder with a checkpoint as ``*.safetensors``; see :func:`as_safetensors`."""
    with TemporaryDirectory() as copy:
        yield as_safetensors(source, Path(copy), trusted=os.environ.get(TRUST) == "1")


def as_safetensors(source: Path, copy: Path, *, trusted: bool) -> Path:
    """Return a folder with the same checkpoint as ``*.safetensors``: itself where it is so.

    A network that was published by itself, such as that of predictive engagement, is taken from
    ``network.pt`` beside its encoder.
    """
    stored = sorted(source.glob("*.safetensors"))
    files = [] if stored else sorted(source.glob(PICKLES))
    network = source / NETWORK
    if not files and not network.is_file():
        return source
    weights: dict[str, Any] = {}
    for file in files:
        weights.update(read_pickle(file, trusted=trusted))
    own = read_pickle(network, trusted=trusted) if network.is_file() else {}
    from safetensors.torch import save_file

    # Tied weights share their memory in a pickle, which safetensors does not take.
    if weights:
        whole = {name: value.clone() for name, value in weights.items()}
        save_file(whole, copy / "model.safetensors")
    if own:
        named = {f"network.{name}": value.clone() for name, value in own.items()}
        save_file(named, copy / "network.safetensors")
    for path in stored:
        shutil.copyfile(path, copy / path.name)
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
        raise BundleError(f"{path}: no pickle of weights alone: {error}") from error
    weights = stated.get("state_dict", stated) if isinstance(stated, dict) else None
    if not isinstance(weights, dict) or not all(map(torch.is_tensor, weights.values())):
        raise BundleError(f"{path}: no weights by name")
    return {str(name): value.contiguous() for name, value in weights.items()}
