"""What links give the commonsense metric, beside its other extractors: how many triples, how right.

python -m grice_research.recipes.triplets.evidence

On the training part of DECO: replies with a triple, the share of given triples whose relation
people found in the reply too (where they were asked), and processor time a reply. Nothing is
chosen by it.
"""

from __future__ import annotations

import time

import numpy as np

from grice.knowledge.extraction.protocol import RELATIONS
from grice.models.models import Models
from grice.stats.systems import mean
from grice_research.recipes.extraction.deco import cells, replies
from grice_research.recipes.options import parser_of

EXTRACTORS = ("bundle:links", "bundle:extraction")


def main() -> None:
    parser = parser_of(__doc__)
    train = replies(parser.parse_args().data, "deco_train")
    known = cells(train)
    for reference in EXTRACTORS:
        models = Models(mode="exact", workers=1, cache=None)
        extractor = models.open(reference)
        extractor.extract([each_reply.exchange for each_reply in train[:2]])
        began = time.process_time()
        extractions = extractor.extract([each_reply.exchange for each_reply in train[2:]])
        used = (time.process_time() - began) / (len(train) - 2)
        models.close()
        hits, groups = [], []
        for row, (reply, each) in enumerate(zip(train[2:], extractions, strict=True), 2):
            for triple in each.triples:
                column = RELATIONS.index(triple.relation)
                if known.asked[row, column]:
                    hits.append(float(known.positive[row, column]))
                    groups.append(reply.group)
        some = np.mean([bool(extraction.triples) for extraction in extractions])
        right = mean(hits, groups=groups)
        print(
            f"{reference}: {some:.3f} of {len(extractions)} replies have a triple, "
            f"{np.mean([len(extraction.triples) for extraction in extractions]):.2f} each; "
            f"relation as people's {right.value:.3f} "
            f"[{right.low:.3f}, {right.high:.3f}] n {len(hits)}; "
            f"{1000 * used:.1f} ms of processor time a reply",
            flush=True,
        )
    base = known.positive[known.asked].mean()
    print(f"of the cells that were asked {base:.3f} hold a triple of people's")


if __name__ == "__main__":
    main()
