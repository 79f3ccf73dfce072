"""Writing a trained head as a model folder with its card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.files import make_folder
from grice.models.bundle import check_folder, write_card

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from grice.models.bundle import CardValue
    from grice_research.training.replies import Head


def save_head(
    folder: Path,
    head: Head,
    facts: Mapping[str, CardValue],
    training: Mapping[str, CardValue],
    settings: Mapping[str, CardValue],
    quality: Iterable[Mapping[str, CardValue]] = (),
) -> None:
    """Write ``head.npz`` and ``card.toml``."""
    check_folder(folder)
    make_folder(folder)
    scale = head.save(folder)
    write_card(folder, facts, training, {**settings, **scale}, quality, files=["head.npz"])
