"""A tiny world of events whose vectors can be told from their words."""

from zlib import crc32

import numpy as np
import pytest

from grice.models import folder

DIMENSIONS = 48


class WordEncoder:
    """The vector of a text is the mean of fixed random vectors of its words."""

    identity = "words"
    dimensions = DIMENSIONS

    def encode(self, texts):
        return [self._vector(text) for text in texts]

    def _vector(self, text):
        words = [
            np.random.default_rng(crc32(word.encode())).normal(size=DIMENSIONS)
            for word in text.lower().split()
        ]
        total = np.sum(words, axis=0) if words else np.zeros(DIMENSIONS)
        unit = total / max(float(np.linalg.norm(total)), 1e-9)
        return unit.astype(np.float16).astype(np.float32)


@pytest.fixture
def encoder():
    return WordEncoder()


@pytest.fixture
def write_card():
    """Writes a card that describes whatever files lie in a folder."""

    def write(directory, kind, settings):
        (directory / "card.toml").unlink(missing_ok=True)
        files = [path.name for path in sorted(directory.iterdir())]
        facts = {"name": "tiny", "kind": kind, "version": "1", "summary": "-", "licence": "-"}
        folder.write_card(directory, facts, {}, settings, files=files)
        return directory

    return write
