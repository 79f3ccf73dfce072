"""Train on one set of perturbations, test on each: the heat map of DEAM's figure 4.7.

    python recipes/coherence/cross.py --out docs/coherence-cross.json

Smaller than the bundle's training: fewer conversations and epochs, one network each for three
seeds. Accuracy is how often a held-out conversation scores above its broken twin.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from data import Sample, broken
from fit import Material, pooled_of, train
from train import material

from grice.runtime.bundle import open_bundle
from grice.runtime.embedded import EmbeddedEncoder

SETS = ("deam", "mesgar", "vakulenko", "dynaeval")
SEEDS = (0, 1, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--most", type=int, default=2000)
    parser.add_argument("--epochs", type=int, default=4)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    given = material()
    held = given.made["held"]
    tests = {kind: broken(held, (kind,), 900) for kind in SETS}
    given = _with_all(given, [one for found in tests.values() for one in found])
    place = {(one.source, one.id): i for i, one in enumerate(held)}
    chosen = given.made["train"][:: max(1, len(given.made["train"]) // arguments.most)]
    table = {}
    for kind in SETS:
        bad = [one for one in given.made["broken"] if one.kind == kind]
        reached = []
        for seed in SEEDS:
            net = train(given, chosen, bad, seed, arguments.epochs)
            weight = net.whole.weight.detach().numpy()[0]
            intact = pooled_of(net, given, held)[:, [0, 2]] @ weight
            row = []
            for found in tests.values():
                values = pooled_of(net, given, found)[:, [0, 2]] @ weight
                twins = np.array([intact[place[one.source, one.id]] for one in found])
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


def _with_all(given: Material, samples: list[Sample]) -> Material:
    """Return the material with the vectors of all turns of some more conversations."""
    missing = sorted({text for one in samples for text in one.turns} - given.index.keys())
    if not missing:
        return given
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    vectors = np.stack(encoder.encode(missing)).astype(np.float16)
    index = given.index | {text: len(given.vectors) + i for i, text in enumerate(missing)}
    return given._replace(index=index, vectors=np.concatenate([given.vectors, vectors]))


if __name__ == "__main__":
    main()
