"""Write pairs of the embedded baseline to be read and judged by a person, each statement once.

    python -m grice_research.recipes.situated.twenty --data DATA  # test keywords
    python -m grice_research.recipes.situated.twenty --mined  # training keywords

Test keywords are for a judgement at the end; mend what is wrong by the mined pairs of the training
sources (``group.py`` writes them).
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from grice.models.models import Models
from grice_research.places import work_folder
from grice_tasks.situatedgen.records import Sample, read_samples

WORK = work_folder("situated")


def drawn(samples: list[Sample], count: int, seed: int) -> list[Sample]:
    """Return samples drawn by chance, no two with a statement in common."""
    seen: set[str] = set()
    fresh_samples = []
    for sample in random.Random(seed).sample(samples, len(samples)):
        if seen.isdisjoint(sample.ids) and len(fresh_samples) < count:
            seen.update(sample.ids)
            fresh_samples.append(sample)
    return fresh_samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--data", type=Path)
    given.add_argument("--mined", action="store_true")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=20)
    arguments = parser.parse_args()
    file = WORK / "held_pairs.jsonl"
    if arguments.data is not None:
        file = arguments.data / "situatedgen" / "test.jsonl.gz"
    samples = drawn(read_samples(file), arguments.count, arguments.seed)
    models = Models(mode="exact", workers=1, cache=None)
    tagger = models.open("bundle:context").tagger
    written = (
        models.open("bundle:situated")
        .recomposer(tagger)
        .generate([each.keywords for each in samples])
    )
    for sample, text in zip(samples, written, strict=True):
        print(f"{', '.join(sample.keywords)}\n    {text}\n    reference: {sample.reference}")


if __name__ == "__main__":
    main()
