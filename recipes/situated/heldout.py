"""Measure swap detection where the entities were never trained on, for dev and test.

    python recipes/situated/heldout.py --data ../shared/data

Of a pair in ``neither side trained`` no context entity stands among those of the training facts.
Works on the bundle that ships and on ``work/kept.jsonl`` of ``encode.py``.
"""

from __future__ import annotations

import argparse
import json
import zlib
from pathlib import Path
from typing import cast

from grice.evaluation.benches.situatedgen import _entities, _with_entities
from grice.scoring.models import Models
from grice.situated.floors import swapped
from grice.situated.models import ContrastModels
from grice.situated.records import CONTEXTS, Sample, read_samples
from grice.situated.scores import mean_of_samples

WORK = Path(__file__).parent / "work"


def bare(name: str) -> str:
    return name.lower().removeprefix("the ")


def trained_entities() -> set[str]:
    rows = [json.loads(line) for line in (WORK / "kept.jsonl").open(encoding="utf-8")]
    left = {row[0] for row in rows if zlib.crc32(row[2].lower().encode()) % 6 == 0}
    return {bare(row[2]) for row in rows if row[0] not in left}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    folder = parser.parse_args().data / "situatedgen"
    judge = cast(
        "ContrastModels", Models(mode="exact", workers=1, cache=None).open("bundle:situated")
    ).judge
    known, trained = _entities(folder), trained_entities()
    for split in ("dev", "test"):
        samples = [_with_entities(s, known) for s in read_samples(folder / f"{split}.jsonl.gz")]
        pairs = [(one, text) for one in samples if (text := swapped(one)) is not None]
        whole = [one for one, _ in pairs]
        own = judge.judge_outputs(whole, [one.reference for one in whole])
        other = judge.judge_outputs(whole, [text for _, text in pairs])
        both = zip(own, other, strict=True)
        hits = [float((a.contrast or 0) > (b.contrast or 0)) for a, b in both]
        new = [[_is_new(side, trained) for side in one.entities] for one in whole]
        for name, kept in (
            ("all", range(len(whole))),
            ("neither side trained", [i for i, sides in enumerate(new) if all(sides)]),
            ("one side untrained", [i for i, sides in enumerate(new) if any(sides)]),
        ):
            chosen: list[Sample] = [whole[i] for i in kept]
            print(f"{split}, {name}: {mean_of_samples([hits[i] for i in kept], chosen)}")


def _is_new(side: tuple, trained: set[str]) -> bool:
    return {bare(one.text) for one in side if one.label in CONTEXTS}.isdisjoint(trained)


if __name__ == "__main__":
    main()
