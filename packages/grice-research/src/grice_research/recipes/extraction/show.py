"""Prints the triples of DECO's training part that ``commonsense`` judges, to be judged by reading.

python -m grice_research.recipes.extraction.show [--seed 21 --count 20]
"""

from __future__ import annotations

import random

from grice.knowledge.extraction.cues import CueExtractor
from grice.metrics.commonsense import surest
from grice.models.models import Models
from grice_research.recipes.extraction.deco import replies
from grice_research.recipes.options import parser_of


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", default="bundle:extraction")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of replies")
    parser.add_argument("--count", type=int, default=20, help="replies to print")
    parser.add_argument("--most", type=int, default=3, help="triples of a reply")
    parser.add_argument("--least", type=float, default=0.5, help="how sure a triple must be read")
    arguments = parser.parse_args()
    model = Models(mode="exact", workers=1, cache=None).open(arguments.model)
    assert isinstance(model, CueExtractor)
    train = replies(arguments.data, "deco_train")
    shown = random.Random(arguments.seed).sample(train, arguments.count)
    read = model.extract([reply.exchange for reply in shown], least=arguments.least)
    for reply, extraction in zip(shown, read, strict=True):
        print(f"\n{reply.exchange.previous}\n> {reply.exchange.reply.strip()}")
        for triple in surest(extraction.triples, arguments.most):
            written = f"({triple.head} | {triple.relation} | {triple.tail})"
            print(f"   {triple.confidence:.2f} {triple.kind} {written}")
        if extraction.reason:
            print(f"   none: {extraction.reason}")
        for name, people in reply.gold.items():
            print(f"      people: {name}: {people[0].replace(' <sep> ', ' | ')}")


if __name__ == "__main__":
    main()
