"""Encodes every text the graph models read, once; the vectors stay in ``work/``.

python -m grice_research.recipes.graphs.encode [--data ../shared/data]
"""

from __future__ import annotations

import pickle

import numpy as np

from grice.data import Triple
from grice_research.places import work_folder
from grice_research.recipes.common import VectorStore, exact_encoder, parser_of
from grice_research.recipes.graphs.data import (
    chains,
    denied,
    external_concepts,
    instances,
    lexical,
    moved,
    nonsense,
)
from grice_tasks.explagraphs.graph import Graph
from grice_tasks.explagraphs.wording import fact_text, opposite, phrases

WORK = work_folder("graphs")


def flipped(graph: Graph) -> list[Triple]:
    return [Triple(e.head, opposite(e.relation), e.tail) for e in graph.edges]


def main() -> None:
    parser = parser_of(__doc__)
    data = parser.parse_args().data
    corpus, _ = instances(data)
    engine = exact_encoder()
    texts = list(
        dict.fromkeys(t for instance in corpus for t in (instance.belief, instance.argument))
    )
    if not (WORK / "states.pkl").exists():
        states = {
            text: (hidden.states.astype(np.float16), hidden.offsets)
            for start in range(0, len(texts), 512)
            for text, hidden in zip(
                texts[start : start + 512],
                engine.hidden_states(texts[start : start + 512]),
                strict=True,
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
    kept = VectorStore(WORK / "vectors")
    kept.add(wanted, engine)
    kept.add([phrase for text in texts for phrase in phrases(text)], engine)
    empty = [*chains(corpus).values(), *nonsense(corpus).values(), *(g for _, g in moved(corpus))]
    kept.add([text for graph in empty for text in graph.concepts], engine)
    kept.add([fact_text(fact) for graph in empty for fact in graph.edges], engine)
    kept.add([side for fact in lexical(data) for side in (fact.head, fact.tail)], engine)


if __name__ == "__main__":
    main()
