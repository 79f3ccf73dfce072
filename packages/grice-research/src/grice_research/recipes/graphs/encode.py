"""Encodes every text the graph models read, once; the vectors stay in ``work/``.

python -m grice_research.recipes.graphs.encode [--data ../shared/data]
"""

from __future__ import annotations

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
    texts = list(dict.fromkeys(t for each in corpus for t in (each.belief, each.argument)))
    graphs = [each.graph for each in corpus]
    graphs += [g for each in corpus for g, _ in (*each.versions, *each.perturbed)]
    wanted = [*texts, *external_concepts(corpus)]
    wanted += [text for instance in corpus if (text := denied(instance.belief)) is not None]
    wanted += [concept for graph in graphs for concept in graph.concepts]
    wanted += [fact_text(fact) for graph in graphs for fact in graph.edges]
    wanted += [fact_text(fact) for instance in corpus for fact in flipped(instance.graph)]
    kept = VectorStore(WORK / "vectors")
    kept.add(wanted, engine)
    kept.add([phrase for text in texts for phrase in phrases(text)], engine)
    empty = [*chains(corpus).values(), *(g for _, g in moved(corpus))]
    kept.add([text for graph in empty for text in graph.concepts], engine)
    kept.add([fact_text(fact) for graph in empty for fact in graph.edges], engine)
    kept.add([side for fact in lexical(data) for side in (fact.head, fact.tail)], engine)


if __name__ == "__main__":
    main()
