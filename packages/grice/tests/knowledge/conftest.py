"""A tiny world of events whose vectors can be told from their words."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import pytest

from grice.models import folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from grice.models.protocols import Vector

DIMENSIONS = 48


class WordEncoder:
    """The vector of a text is the mean of fixed random vectors of its words."""

    identity = "words"
    dimensions = DIMENSIONS

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        words = [
            np.random.default_rng(crc32(word.encode())).normal(size=DIMENSIONS)
            for word in text.lower().split()
        ]
        total = np.sum(words, axis=0) if words else np.zeros(DIMENSIONS)
        unit = total / max(float(np.linalg.norm(total)), 1e-9)
        return unit.astype(np.float16).astype(np.float32)


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()


@pytest.fixture
def write_card() -> Callable[..., Path]:
    """Writes a card that describes whatever files lie in a folder."""

    def write(directory: Path, kind: str, settings: dict[str, object]) -> Path:
        (directory / "card.toml").unlink(missing_ok=True)
        files = [path.name for path in sorted(directory.iterdir())]
        facts = {"name": "tiny", "kind": kind, "version": "1", "summary": "-", "licence": "-"}
        folder.write_card(directory, facts, {}, settings, files=files)
        return directory

    return write
