"""Vectors of texts on disk, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.protocols import Encoder

SHARD = 8192


class VectorStore:
    """Half-precision vectors of distinct texts, in numbered shards of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.index: dict[str, int] = {}
        self.shards: list[NDArray[np.float16]] = []
        while (vectors := self._vectors(len(self.shards))).exists():
            self._keep(
                json.loads(vectors.with_suffix(".json").read_text("utf-8")), np.load(vectors)
            )

    def add(self, texts: Iterable[str], encoder: Encoder) -> None:
        """Encode the texts that are not here yet and write them shard by shard."""
        missing = sorted(set(texts) - self.index.keys(), key=lambda text: (len(text), text))
        began = time.monotonic()
        for start in range(0, len(missing), SHARD):
            part = missing[start : start + SHARD]
            vectors = np.stack(encoder.encode(part)).astype(np.float16)
            path = self._vectors(len(self.shards))
            path.with_suffix(".json").write_text(json.dumps(part), "utf-8")
            np.save(path.with_suffix(".part.npy"), vectors)
            path.with_suffix(".part.npy").rename(path)
            self._keep(part, vectors)
            done = start + len(part)
            print(
                f"{done:,} of {len(missing):,} texts, {time.monotonic() - began:.0f} s", flush=True
            )

    def matrix(self) -> NDArray[np.float16]:
        """Return all vectors, then one row of zeros that stands for a missing turn (index -1)."""
        dimensions = self.shards[0].shape[1]
        return np.concatenate([*self.shards, np.zeros((1, dimensions), np.float16)])

    def _keep(self, texts: list[str], vectors: NDArray[np.float16]) -> None:
        self.index.update({text: len(self.index) + i for i, text in enumerate(texts)})
        self.shards.append(vectors)

    def _vectors(self, number: int) -> Path:
        return self.folder / f"{number:04d}.npy"


class StoredEncoder:
    """Gives the vectors of known texts out of two stores, in the place of the encoder."""

    identity = "stored"

    def __init__(self, texts: set[str], shared: VectorStore, own: VectorStore) -> None:
        if missing := texts - shared.index.keys():
            own.add(missing, EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1))
        self._stores = [
            (vector_store.index, vector_store.matrix())
            for vector_store in (shared, own)
            if vector_store.shards
        ]

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return the unit vector of each text."""
        return [self._vector(text) for text in texts]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text that its vector is of all of it: nobody asks here."""
        return [False] * len(texts)

    def _vector(self, text: str) -> NDArray[np.float32]:
        index, vectors = next(store for store in self._stores if text in store[0])
        return vectors[index[text]].astype(np.float32)
