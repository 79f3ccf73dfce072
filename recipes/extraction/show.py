"""Prints what an extractor reads from replies of DECO's training part, to be judged by reading.

PYTHONPATH=src python -m recipes.extraction.show [--every 10]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from recipes.extraction.deco import replies

from grice.knowledge.extractor import CueExtractor
from grice.scoring.models import Models


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--model", default="bundle:extraction")
    parser.add_argument("--every", type=int, default=10, help="print every so many replies")
    parser.add_argument("--most", type=int, default=4, help="triples of a reply")
    arguments = parser.parse_args()
    model = Models(mode="exact", workers=1, cache=None).open(arguments.model)
    assert isinstance(model, CueExtractor)
    shown = replies(arguments.data, "deco_train")[:: arguments.every]
    for reply, found in zip(shown, model.extract([r.exchange for r in shown]), strict=True):
        print(f"\n{reply.exchange.previous}\n> {reply.exchange.reply.strip()}")
        for triple in found.triples[: arguments.most]:
            said = f"({triple.head} | {triple.relation} | {triple.tail})"
            print(f"   {triple.confidence:.2f} {triple.kind} {said}")
        if found.reason:
            print(f"   none: {found.reason}")
        for name, people in reply.gold.items():
            print(f"      people: {name}: {people[0].replace(' <sep> ', ' | ')}")


if __name__ == "__main__":
    main()
