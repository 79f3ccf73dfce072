"""How often the evidence of coherence points at the broken turn of a held-out conversation.

    python recipes/coherence/evidence.py [--most 150]

Writes ``evidence.json``: for each kind and each way of pointing, how often the first turn that is
named was broken, how often one of the (at most three) named ones was, and what a turn at random
would give.
"""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from arrays import Vectors
from card import POINTED, wilson
from train import RELEVANCE, WORK
from vectors import VectorStore

from grice.metrics.coherence import coherence
from grice.records import Conversation, Turn, TurnEvidence
from grice.runtime.bundle import open_bundle
from grice.runtime.registry import read_settings
from grice.runtime.threads import ThreadHead, ThreadSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from data import Sample
    from numpy.typing import NDArray

    from grice.runtime.misfits import Misfits

OUT = Path(__file__).parent / "evidence.json"


class Kept:
    """What was computed for training, as an encoder and a judge of words."""

    identity = "kept"

    def __init__(self, vectors: Vectors, words: dict[str, Misfits]) -> None:
        self._vectors, self._words = vectors, words

    def misfits(self, texts: Sequence[str]) -> list[Misfits]:
        return [self._words[text] for text in texts]

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return list(self._vectors.rows[self._vectors.places(texts)].astype(np.float32))

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [False] * len(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=150, help="conversations of each kind")
    arguments = parser.parse_args()
    made = pickle.loads((WORK / "samples.pickle").read_bytes())
    stores = [VectorStore(RELEVANCE), *map(VectorStore, sorted(WORK.glob("vectors?")))]
    kept = Kept(Vectors.of(stores), pickle.loads((WORK / "misfits.pickle").read_bytes()))
    bundle = open_bundle("coherence")
    head = ThreadHead(bundle, read_settings(bundle, ThreadSettings), kept, kept)
    table = {}
    for kind in POINTED:
        chosen = [one for one in made["held_broken"] if one.kind == kind][: arguments.most]
        table[kind] = {way: _pointed(chosen, head, way) for way in ("turns", "left-out")}
        print(kind, table[kind], flush=True)
    OUT.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


def _pointed(chosen: list[Sample], head: ThreadHead, way: str) -> dict[str, dict[str, float]]:
    talks = [
        Conversation(str(i), tuple(Turn("AB"[side], text) for side, text in
                                   zip(one.speakers, one.turns, strict=True)))
        for i, one in enumerate(chosen)
    ]  # fmt: skip
    hits: dict[str, list[bool]] = {"first": [], "named": []}
    judged = coherence.function(talks, model=head, evidence=way)
    for one, judgement in zip(chosen, judged, strict=True):
        named = [found.turn for found in judgement.evidence if isinstance(found, TurnEvidence)]
        hits["first"].append(bool(named) and named[0] in one.broken)
        hits["named"].append(not one.broken.isdisjoint(named))
    chance = float(np.mean([len(one.broken - {0}) / (len(one.turns) - 1) for one in chosen]))
    return {name: wilson(float(np.mean(found)), len(found)) | {"random": round(chance, 4)}
            for name, found in hits.items()}  # fmt: skip


if __name__ == "__main__":
    main()
