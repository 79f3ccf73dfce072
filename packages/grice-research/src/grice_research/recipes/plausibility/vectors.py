"""Vectors of many texts, kept in the work folder between runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grice.models.protocols import Encoder

SHARD = 20_000


class Vectors:
    """Half-precision vectors by text, as a file of texts beside an array."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.index: dict[str, int] = {}
        self.array = np.zeros((0, 384), np.float16)
        if (folder / "texts.txt").exists():
            texts = (folder / "texts.txt").read_text("utf-8").split("\n")
            self.index = {text: i for i, text in enumerate(texts)}
            self.array = np.load(folder / "vectors.npy")

    def add(self, texts: Iterable[str], encoder: Encoder) -> None:
        """Encode the texts that are new; saves after each shard, so a stopped run goes on."""
        new = [text for text in dict.fromkeys(texts) if text not in self.index]
        new.sort(key=len)
        for start in range(0, len(new), SHARD):
            shard = new[start : start + SHARD]
            rows = np.stack(encoder.encode(shard)).astype(np.float16)
            self.array = np.concatenate([self.array, rows])
            self.index.update({text: len(self.index) + i for i, text in enumerate(shard)})
            np.save(self.folder / "vectors.npy", self.array)
            (self.folder / "texts.txt").write_text("\n".join(self.index), "utf-8")
            print(f"{len(self.index):,} texts encoded", flush=True)

    def ids(self, texts: Iterable[str]) -> np.ndarray:
        return np.array([self.index[text] for text in texts], np.int64)

    def table(self) -> np.ndarray:
        """Return all vectors as the encoder gave them."""
        return self.array.astype(np.float32)
