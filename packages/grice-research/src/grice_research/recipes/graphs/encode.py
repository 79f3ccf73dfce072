"""Encodes every text the graph models read, once; the vectors stay in ``work/``.

python -m grice_research.recipes.graphs.encode [--data ../shared/data]
"""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import numpy as np

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.records import Triple
from grice_research.places import work_folder
from grice_research.recipes.graphs.data import (
    atomic,
    chains,
    conceptnet,
    denied,
    external_concepts,
    instances,
    moved,
    nonsense,
    opposites,
)
from grice_research.recipes.options import parser_of
from grice_research.recipes.plausibility.data import Vectors
from grice_tasks.explagraphs.graph import Graph
from grice_tasks.explagraphs.wording import fact_text, opposite, phrases

WORK = work_folder("graphs")
SYNONYMS = 6000


def encoder() -> EmbeddedEncoder:
    return EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)


def lexical(data: Path) -> list[Triple]:
    """Return ConceptNet and ATOMIC with WordNet's antonyms and as many synonyms as are used."""
    pairs = opposites(data)
    synonyms = [pair for pair in pairs if pair.relation == "synonym of"]
    rest = [pair for pair in pairs if pair.relation != "synonym of"]
    return conceptnet(data) + atomic(data) + rest + random.Random(0).sample(synonyms, SYNONYMS)


def flipped(graph: Graph) -> list[Triple]:
    return [Triple(e.head, opposite(e.relation), e.tail) for e in graph.edges]


def main() -> None:
    parser = parser_of(__doc__)
    data = parser.parse_args().data
    corpus, _ = instances(data)
    engine = encoder()
    texts = list(
        dict.fromkeys(t for instance in corpus for t in (instance.belief, instance.argument))
    )
    if not (WORK / "states.pkl").exists():
        states = {
            text: (hidden.states.astype(np.float16), hidden.offsets)
            for start in range(0, len(texts), 512)
            for text, (hidden, _) in zip(
                texts[start : start + 512], engine.hidden(texts[start : start + 512]), strict=True
            )
        }
        (WORK / "states.pkl").write_bytes(pickle.dumps(states))
    graphs = [
        graph
        for instance in corpus
        for graph in (
            instance.graph,
            *(g for g, _ in instance.versions),
            *(g for g, _ in instance.perturbed),
        )
    ]
    wanted = [*texts, *external_concepts(corpus)]
    wanted += [text for instance in corpus if (text := denied(instance.belief)) is not None]
    wanted += [concept for graph in graphs for concept in graph.concepts]
    wanted += [fact_text(fact) for graph in graphs for fact in graph.edges]
    wanted += [fact_text(fact) for instance in corpus for fact in flipped(instance.graph)]
    kept = Vectors(WORK / "vectors")
    kept.add(wanted, engine)
    kept.add([phrase for text in texts for phrase in phrases(text)], engine)
    empty = [*chains(corpus).values(), *nonsense(corpus).values(), *(g for _, g in moved(corpus))]
    kept.add([text for graph in empty for text in graph.concepts], engine)
    kept.add([fact_text(fact) for graph in empty for fact in graph.edges], engine)
    kept.add([side for fact in lexical(data) for side in (fact.head, fact.tail)], engine)


if __name__ == "__main__":
    main()
