"""How often the evidence of coherence points at the broken turn of a held-out conversation.

    python -m grice_research.recipes.coherence.evidence [--most 150]

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

from grice.metrics.coherence import coherence
from grice.metrics.coherence.dialogues import DialogueHead, DialogueSettings
from grice.models.bundle import open_bundle
from grice.models.registry import read_settings
from grice.records import Conversation, Turn, TurnEvidence
from grice_research.recipes.coherence.arrays import Vectors
from grice_research.recipes.coherence.card import POINTED, wilson
from grice_research.recipes.coherence.train import RELEVANCE, WORK
from grice_research.recipes.relevance.vectors import VectorStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.metrics.coherence.replaced_tokens import ReplacedTokens
    from grice_research.recipes.coherence.data import Sample

OUT = Path(__file__).parent / "evidence.json"


class Kept:
    """What was computed for training, as an encoder and a judge of words."""

    identity = "kept"

    def __init__(self, vectors: Vectors, words: dict[str, ReplacedTokens]) -> None:
        self._vectors, self._words = vectors, words

    def misfits(self, texts: Sequence[str]) -> list[ReplacedTokens]:
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
    head = DialogueHead(bundle, read_settings(bundle, DialogueSettings), kept, kept)
    table = {}
    for kind in POINTED:
        chosen = [sample for sample in made["held_broken"] if sample.kind == kind][: arguments.most]
        table[kind] = {way: _pointed(chosen, head, way) for way in ("turns", "left-out")}
        print(kind, table[kind], flush=True)
    OUT.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


def _pointed(chosen: list[Sample], head: DialogueHead, way: str) -> dict[str, dict[str, float]]:
    talks = [
        Conversation(str(i), tuple(Turn("AB"[side], text) for side, text in
                                   zip(dialogue.speakers, dialogue.turns, strict=True)))
        for i, dialogue in enumerate(chosen)
    ]  # fmt: skip
    hits: dict[str, list[bool]] = {"first": [], "named": []}
    judged = coherence.function(talks, model=head, evidence=way)
    for sample, judgement in zip(chosen, judged, strict=True):
        named = [
            evidence.turn for evidence in judgement.evidence if isinstance(evidence, TurnEvidence)
        ]
        hits["first"].append(bool(named) and named[0] in sample.broken)
        hits["named"].append(not sample.broken.isdisjoint(named))
    chance = float(
        np.mean(
            [
                len(broken_sample.broken - {0}) / (len(broken_sample.turns) - 1)
                for broken_sample in chosen
            ]
        )
    )
    return {
        name: wilson(float(np.mean(hits_of_way)), len(hits_of_way)) | {"random": round(chance, 4)}
        for name, hits_of_way in hits.items()
    }


if __name__ == "__main__":
    main()
