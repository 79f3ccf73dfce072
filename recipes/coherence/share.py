"""What share the fit of the turns should have in coherence, on held-out conversations only.

    python recipes/coherence/share.py

Prints, for each share, how often a held-out conversation scores above its broken twin, and how the
score ranks held-out rated conversations of ConvAI 2017.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import spearmanr
from train import material

from grice.runtime.bundle import open_bundle
from grice.runtime.pairs import PairHead
from grice.runtime.protocols import Pair, Thread
from grice.runtime.threads import ThreadHead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fit import Material
    from numpy.typing import NDArray

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
TURNS = 4


class Kept:
    """The vectors that were computed for training, as an encoder."""

    identity = "kept"

    def __init__(self, given: Material) -> None:
        self._given = given

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return [self._given.vectors[self._given.index[text]].astype(np.float32) for text in texts]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [False] * len(texts)


def main() -> None:
    given = material()
    encoder = Kept(given)
    fit, threads = (PairHead(open_bundle("relevance"), encoder),
                    ThreadHead(open_bundle("coherence"), encoder))  # fmt: skip

    def both(found: list[Any]) -> NDArray[np.float64]:
        rows = []
        for one in found:
            said = one.turns
            pairs = [Pair(said[max(0, i - TURNS) : i], said[i]) for i in range(1, len(said))]
            thread = Thread(tuple(map(str, one.speakers)), said)
            rows.append((threads.read([thread])[0][0], float(np.mean(fit.classify(pairs)))))
        return np.array(rows)

    people = [one for one in given.made["rated"] if one.held_out]
    held, bad = given.made["held"], given.made["held_broken"]
    place = {(one.source, one.id): i for i, one in enumerate(held)}
    rated, intact, twins = both(people), both(held), both(bad)
    rows = [place[one.source, one.id] for one in bad]
    for share in SHARES:
        mix = np.array([1 - share, share])
        accuracy = float(np.mean(intact[rows] @ mix > twins @ mix))
        rank = spearmanr(rated @ mix, [one.quality for one in people]).statistic
        kinds = {kind: round(float(np.mean([intact[i] @ mix > twin @ mix for i, twin, one in
                 zip(rows, twins, bad, strict=True) if one.kind == kind])), 3)
                 for kind in sorted({one.kind for one in bad})}  # fmt: skip
        print(f"share {share}: accuracy {accuracy:.3f}, rank {rank:.3f}; {kinds}")


if __name__ == "__main__":
    main()
