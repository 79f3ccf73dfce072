"""Train on one set of perturbations, test on each: the heat map of DEAM's figure 4.7.

    python -m grice_research.recipes.coherence.cross --out recipes/coherence/cross.json

Smaller than the bundle's training: see ``small.py``. Accuracy is how often a held-out conversation
scores above its broken twin.
"""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path

import numpy as np
import torch

from grice.metrics.coherence.bigrams import Bigrams
from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice_research.recipes.coherence.arrays import Item, Maker, Prepared, Vectors
from grice_research.recipes.coherence.data import Sample, broken
from grice_research.recipes.coherence.fit import pooled_of
from grice_research.recipes.coherence.small import small_nets
from grice_research.recipes.coherence.train import RELEVANCE, WORK, prepared, towers
from grice_research.recipes.relevance.vectors import VectorStore

SETS = ("deam", "mesgar", "vakulenko", "dynaeval")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    given, tests = _with_tests(prepared())
    held = given.items["held"]
    table = {}
    for kind in SETS:
        reached = []
        for net in small_nets(given, kind, (kind,)):
            weight = net.whole.weight.detach().numpy()[0]
            intact = pooled_of(net, given, held)[:, :3] @ weight
            row = []
            for items in tests.values():
                values = pooled_of(net, given, items)[:, :3] @ weight
                twins = np.array([intact[item.twin] for item in items])
                row.append(float((twins > values).mean()))
            reached.append(row)
        table[kind] = {
            test: {
                "accuracy": round(float(np.mean(column)), 4),
                "seeds": [round(value, 4) for value in column],
                "n": len(tests[test]),
            }
            for test, column in zip(SETS, zip(*reached, strict=True), strict=True)
        }
        print(kind, {test: cell["accuracy"] for test, cell in table[kind].items()}, flush=True)
    arguments.out.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


def _with_tests(given: Prepared) -> tuple[Prepared, dict[str, list[Item]]]:
    """Return the held-out conversations broken by each set, and the material with their turns."""
    made = pickle.loads((WORK / "samples.pickle").read_bytes())
    held: list[Sample] = made["held"]
    samples = {kind: broken(held, (kind,), 900) for kind in SETS}
    stores = [VectorStore(RELEVANCE), *map(VectorStore, sorted(WORK.glob("vectors?")))]
    vectors = encoded(
        Vectors.of(stores), [changed for of_kind in samples.values() for changed in of_kind]
    )
    make = Maker(vectors, towers())
    bigrams = Bigrams.load(WORK / "bigrams.npz")
    place = {(dialogue.source, dialogue.id): i for i, dialogue in enumerate(held)}
    turns = [given.turns]
    tests: dict[str, list[Item]] = {}
    for kind, group in samples.items():
        tests[kind] = []
        for sample in group:
            item = make.sample(sample, bigrams, place[sample.source, sample.id])
            start = sum(map(len, turns))
            read = vectors.rows[item.rows].astype(np.float32)
            turns.append((read - given.mean) @ given.axes)
            tests[kind].append(item._replace(rows=np.arange(start, start + len(read))))
    return given._replace(turns=np.concatenate(turns)), tests


def encoded(vectors: Vectors, samples: list[Sample]) -> Vectors:
    """Return the vectors with those of all turns of some more conversations."""
    missing = sorted({text for sample in samples for text in sample.turns} - vectors.index.keys())
    if not missing:
        return vectors
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    rows = np.stack(encoder.encode(missing)).astype(np.float16)
    index = vectors.index | {text: len(vectors.rows) + i for i, text in enumerate(missing)}
    return Vectors(index, np.concatenate([vectors.rows, rows]))


if __name__ == "__main__":
    main()
