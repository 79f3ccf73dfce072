"""Kept vectors, the space they are read in, and the split of beliefs into topics.

    python -m grice_research.recipes.graphs.space [--data ../shared/data]

encodes every text that the graph models read, once; the vectors stay in the work folder.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np

from grice.data import Triple
from grice_research.places import work_folder
from grice_research.recipes.common import VectorStore, exact_encoder, parser_of
from grice_research.recipes.graphs.data import (
    Instance,
    chains,
    conceptnet,
    denied,
    external_concepts,
    instances,
    lexical,
    moved,
)
from grice_research.training.topics import topics
from grice_tasks.explagraphs.classifiers import KernelHead, Scaling, projections, random_features
from grice_tasks.explagraphs.features import Space
from grice_tasks.explagraphs.wording import fact_text, opposite, phrases

BLOCK = 4096  # rows whose features are held at once


def scaling(counts: np.ndarray, vectors: np.ndarray, *, share: float, width: float) -> Scaling:
    """Return the scaling under which a median squared distance is ``2 * width``."""
    rows = np.concatenate([counts, vectors], axis=1)
    mean = rows.mean(axis=0)
    spread = np.maximum(rows.std(axis=0), 1e-3)
    sizes = counts.shape[1], vectors.shape[1]
    part = np.repeat([share / sizes[0], (1 - share) / sizes[1]], sizes)
    # The expected squared distance of a column of unit spread is 2.
    factor = np.sqrt(part * width) / spread
    return Scaling(*(each.astype(np.float16).astype(np.float32) for each in (mean, factor)))


def fit_kernel(
    counts: np.ndarray,
    vectors: np.ndarray,
    labels: np.ndarray,
    *,
    classes: int,
    weights: np.ndarray,
    share: float,
    width: float,
    ridge: float,
    features: int,
    seed: int = 0,
) -> KernelHead:
    """Return a head whose scores approach the probabilities of the classes."""
    scale = scaling(counts, vectors, share=share, width=width)
    rows = (np.concatenate([counts, vectors], axis=1) - scale.mean) * scale.factor
    project = projections(rows.shape[1], features, seed)
    target = np.eye(classes)[labels]
    bias = (weights[:, None] * target).sum(axis=0) / weights.sum()
    centre = target - bias
    gram, goal = ridge * np.eye(features), np.zeros((features, classes))
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        made = random_features(rows[part].astype(np.float32), project)
        weighted = made * weights[part, None].astype(np.float32)
        gram += made.T @ weighted
        goal += weighted.T @ centre[part]
    weight = np.linalg.solve(gram, goal)
    return KernelHead(scale, weight.astype(np.float32), bias.astype(np.float32), seed=seed)


def scores(head: KernelHead, counts: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the scores of many rows at once, equal to the head's own but for rounding."""
    rows = (np.concatenate([counts, vectors], axis=1) - head.scaling.mean) * head.scaling.factor
    made = random_features(rows.astype(np.float32), head._project)
    return made @ head._weight + head._bias


WORK = work_folder("graphs")
AXES = 64
FOLDS = 5  # of topics


class Kept(dict[str, np.ndarray]):
    """Vectors by text, from the kept ones."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = VectorStore(WORK / "vectors")
        self.table = self.vectors.table()

    def __missing__(self, text: str) -> np.ndarray:
        return self.table[self.vectors.index[text]]

    def rows(self, texts: list[str]) -> np.ndarray:
        return self.table[self.vectors.ids(texts)]


def make_space(kept: Kept, instances: list[Instance], data: Path) -> Space:
    """Return principal axes of the train texts, and the direction of what people want."""
    texts = dict.fromkeys(
        text
        for each in instances
        for text in (
            each.belief,
            each.argument,
            *each.graph.concepts,
            *map(fact_text, each.graph.edges),
        )
    )
    rows = kept.rows(list(texts))
    mean = rows.mean(axis=0)
    axes = np.linalg.svd((rows - mean)[::3], full_matrices=False)[2][:AXES].T
    axes /= ((rows - mean) @ axes).std()
    axes = axes.astype(np.float16).astype(np.float32)
    return Space(mean.astype(np.float32), axes, _good(kept, data))


def _good(kept: Kept, data: Path) -> np.ndarray:
    """Fit by ridge regression which tails ConceptNet's people desire and which they do not."""
    wanted = [
        (fact.tail, 1.0 if fact.relation == "desires" else -1.0)
        for fact in conceptnet(data)
        if fact.relation in ("desires", "not desires")
    ]
    rows = np.c_[kept.rows([text for text, _ in wanted]), np.ones(len(wanted))]
    sides = np.array([side for _, side in wanted])
    weight = np.where(sides > 0, 1 / (sides > 0).sum(), 1 / (sides < 0).sum())
    weight /= weight.mean()
    ridge = 20 * np.eye(rows.shape[1])
    ridge[-1, -1] = 0
    gram = rows.T @ (weight[:, None] * rows) + ridge
    return np.linalg.solve(gram, rows.T @ (weight * sides)).astype(np.float32)


def topics_of(kept: Kept, instances: list[Instance]) -> dict[str, int]:
    """Return the topic of each belief."""
    beliefs = sorted({instance.belief for instance in instances})
    return topics(beliefs, list(kept.rows(beliefs)))


def topic_folds(kept: Kept, instances: list[Instance]) -> dict[str, int]:
    """Return the fold of each belief; beliefs on one topic share it."""
    topic = topics_of(kept, instances)
    sizes = Counter(topic[instance.belief] for instance in instances)
    order = sorted(sizes)
    random.Random(0).shuffle(order)
    load = [0] * FOLDS
    fold: dict[int, int] = {}
    for largest in sorted(order, key=lambda cluster: -sizes[cluster]):
        fold[largest] = min(range(FOLDS), key=load.__getitem__)
        load[fold[largest]] += sizes[largest]
    return {belief: fold[cluster] for belief, cluster in topic.items()}


def main() -> None:
    data = parser_of(__doc__).parse_args().data
    corpus, _ = instances(data)
    engine = exact_encoder()
    texts = list(dict.fromkeys(t for each in corpus for t in (each.belief, each.argument)))
    graphs = [each.graph for each in corpus]
    graphs += [g for each in corpus for g, _ in (*each.versions, *each.perturbed)]
    wanted = [*texts, *external_concepts(corpus)]
    wanted += [text for instance in corpus if (text := denied(instance.belief)) is not None]
    wanted += [concept for graph in graphs for concept in graph.concepts]
    wanted += [fact_text(fact) for graph in graphs for fact in graph.edges]
    gold = (fact for instance in corpus for fact in instance.graph.edges)
    wanted += [fact_text(Triple(e.head, opposite(e.relation), e.tail)) for e in gold]
    kept = VectorStore(WORK / "vectors")
    kept.add(wanted, engine)
    kept.add([phrase for text in texts for phrase in phrases(text)], engine)
    empty = [*chains(corpus).values(), *(g for _, g in moved(corpus))]
    kept.add([text for graph in empty for text in graph.concepts], engine)
    kept.add([fact_text(fact) for graph in empty for fact in graph.edges], engine)
    kept.add([side for fact in lexical(data) for side in (fact.head, fact.tail)], engine)


if __name__ == "__main__":
    main()
