"""Check what the plausibility model counts when keywords are grouped (``recompose.WEIGHT``).

    python -m grice_research.recipes.situated.weight --data ../shared/data

Prints for each weight the share of keywords that get into their sentence, the sentences being in
either order: on pairs mined from the training sources whose statements the grouping network has
not seen (``group.py`` writes them), and on SituatedGen's dev pairs beside them. The plausibility
model has been fitted on sentences of the training sources, so that the first flatters large
weights; dev, which trains and chooses nothing, shows by how much.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
import numpy as np

from grice.models.models import Models
from grice_research.places import work_folder
from grice_tasks.situatedgen.records import Sample, read_samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_tasks.situatedgen.models import ContextModels, ContrastModels

WORK = work_folder("situated")
WEIGHTS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0)
OFTEN = 6
"""Pairs a statement may be in: few statements are in very many."""


def thinned(samples: Sequence[Sample], most: int) -> list[Sample]:
    seen: Counter[str] = Counter()
    kept = []
    for sample in samples:
        if max(seen[name] for name in sample.ids) < OFTEN and len(kept) < most:
            seen.update(sample.ids)
            kept.append(sample)
    return kept


def right(groups: Sequence[int], sample: Sample) -> float:
    same = float(np.mean(np.array(groups) == np.array(sample.keywords_pos)))
    return max(same, 1 - same)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--most", type=int, default=250)
    arguments = parser.parse_args()
    models = Models(mode="exact", workers=1, cache=None)
    tagger = cast("ContextModels", models.open("bundle:context")).tagger
    contrast = cast("ContrastModels", models.open("bundle:situated"))
    mined = [msgspec.json.decode(line, type=Sample)
             for line in (WORK / "held_pairs.jsonl").read_bytes().splitlines()]  # fmt: skip
    dev = read_samples(arguments.data / "situatedgen" / "dev.jsonl.gz")
    sets = {"mined": thinned(mined, arguments.most), "dev": thinned(dev, arguments.most)}
    print({name: len(samples) for name, samples in sets.items()}, flush=True)
    recomposer = contrast.recomposer(tagger)
    for name, samples in sets.items():
        for weight in WEIGHTS:
            values = [
                right(recomposer.group(sample.keywords, weight=weight), sample)
                for sample in samples
            ]
            error = float(np.std(values) / np.sqrt(len(values)))
            share = round(float(np.mean(values)), 4)
            print(json.dumps({"on": name, "weight": weight, "right": share,
                              "error": round(error, 4)}), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
