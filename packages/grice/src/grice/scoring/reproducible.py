"""What cannot be had again on this machine, and why."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from grice.errors import GriceError, plural
from grice.models.store.places import find_stored
from grice.scoring.presets import find_presets, named_preset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.scoring.doctor import Distance
    from grice.scoring.machine import Machine

EXTRAS = {
    "onnxruntime": ("onnx", "models of kind onnx-*"),
    "torch": ("train", "models of kind transformers-*, and training"),
    "scipy": ("stats", "what grice meta-eval and compare compute"),
}
"""Packages that not everybody has: the extra that brings each, and what it is for."""


def not_reproducible(
    distances: Sequence[Distance], reference: str, machine: Machine
) -> Iterator[str]:
    """Yield a line for each thing that differs or is missing here, with the reason.

    Args:
        distances: Each metric beside the scores of the reference processor.
        reference: That processor.
        machine: This one.
    """
    for row in distances:
        if row.differing:
            largest = f", by up to {row.largest:.1g}" if row.largest else ""
            yield (
                f"the last bits of {row.metric}: {row.differing} of {plural(row.scores, 'score')} "
                f"are others than on {reference}{largest}, since kernels of floating-point numbers "
                "round differently"
            )
    if machine.gpus:
        yield (
            "bits of language models: they run on the GPU that is here, whose sums have no fixed "
            "order; CUDA_VISIBLE_DEVICES= in front of a command hides it"
        )
    yield from _missing_models()
    yield from _missing_packages(machine)
    if "GRICE_DATA" not in os.environ:
        yield "tables of grice bench: GRICE_DATA names no folder of published data sets"


def _missing_models() -> Iterator[str]:
    for name in find_presets():
        try:
            missing = [model for model in named_preset(name).models if find_stored(model) is None]
        except GriceError as error:
            yield f"the preset {name}: {error}"
            continue
        if missing:
            yield f"the preset {name}: {', '.join(missing)} not here (grice models list)"


def _missing_packages(machine: Machine) -> Iterator[str]:
    for package, (extra, what) in EXTRAS.items():
        if package not in machine.versions:
            yield f'{what}: {package} is not installed (pip install "grice[{extra}]")'
