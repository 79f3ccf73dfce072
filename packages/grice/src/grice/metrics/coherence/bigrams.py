"""How much more often two words stand side by side than by chance."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float32]


def bigrams_of(words: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return the places of each two neighbours in the tables: first, second, both."""
    chain = ["<", *words, ">"]
    places = [crc32(word.encode()) for word in chain]
    both = [crc32(f"{a} {b}".encode()) for a, b in pairwise(chain)]
    return [(*two, place) for two, place in zip(pairwise(places), both, strict=True)]


class Bigrams:
    """How much more often two words stand side by side than by chance.

    Args:
        single: Counts of words by hash, shape a power of two.
        double: Counts of neighbours by hash, shape a power of two.
        total: How many there are in all.
    """

    def __init__(self, single: Array, double: Array, total: float) -> None:
        self.single, self.double, self.total = single, double, total

    @classmethod
    def load(cls, path: Path) -> Bigrams:
        """Read the tables, whose counts are kept as eighths of their logarithm to base two."""
        with np.load(path, allow_pickle=False) as kept:
            single, double = (
                (2 ** (kept[name].astype(np.float32) / 8) - 1) for name in ("single", "double")
            )
            return cls(single, double, float(kept["total"]))

    def seen(self, places: NDArray[np.int64]) -> Array:
        """Return how often each two neighbours were seen."""
        counts: Array = self.double[places % len(self.double)]
        return counts

    def surprise(self, pairs: Sequence[tuple[int, int, int]]) -> tuple[float, float]:
        """Return the mean association of neighbours, and that of the word that fits worst.

        The association is the logarithm of how much more often two words stand side by side than
        by chance; near zero where too little was seen to tell.
        """
        if not pairs:
            return 0.0, 0.0
        places = np.array(pairs, np.int64)
        first, second = (self.single[places[:, k] % len(self.single)] for k in (0, 1))
        chance = first * second / self.total
        association = np.log((self.seen(places[:, 2]) + 0.5) / (chance + 0.5))
        worst = (
            (association[:-1] + association[1:]).min() if len(association) > 1 else association[0]
        )
        return float(association.mean()), float(worst)
