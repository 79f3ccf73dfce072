"""How much the order of the facts matters to a model that reads a graph as text.

python -m grice_research.recipes.graphs.order [--data ../shared/data]

A linear stance predictor on the encoder's vector of belief, argument and graph in one text, gold
train graphs, five folds of topics. It is taught and tested on every pair of orders: depth-first,
topological, shuffled. The shipped judges read facts as a set, so that no order matters to them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import numpy as np

from grice.stats import mean
from grice_research.recipes.graphs.data import Instance, instances
from grice_research.recipes.graphs.encode import encoder
from grice_research.recipes.graphs.space import FOLDS, WORK, Kept, topic_folds
from grice_research.recipes.options import parser_of
from grice_research.recipes.plausibility.vectors import Vectors
from grice_tasks.explagraphs.graph import Graph
from grice_tasks.explagraphs.order import depth_first, topological
from grice_tasks.explagraphs.wording import fact_text

RIDGES = (0.3, 1.0, 3.0, 10.0)


def shuffled(graph: Graph) -> Graph:
    edges = list(graph.edges)
    random.Random(str(edges)).shuffle(edges)
    return Graph(tuple(edges))


ORDERS: dict[str, Callable[[Graph], Graph]] = {
    "depth-first": depth_first,
    "topological": topological,
    "shuffled": shuffled,
}


def text_of(instance: Instance, order: Callable[[Graph], Graph]) -> str:
    facts = " ".join(f"{fact_text(fact)}." for fact in order(instance.graph).edges)
    return f"{instance.belief} {instance.argument} {facts}"


def fitted(rows: np.ndarray, goal: np.ndarray, ridge: float) -> np.ndarray:
    return np.linalg.solve(rows.T @ rows + ridge * np.eye(rows.shape[1]), rows.T @ goal)


def margins(train: np.ndarray, test: np.ndarray, goal: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return held-out scores; the ridge is chosen on the fold before the one that is tested."""
    out_of_fold = np.zeros(len(goal))
    for fold in range(FOLDS):
        out, tune = folds == fold, folds == (fold - 1) % FOLDS
        rest = ~(out | tune)
        best = max(RIDGES, key=lambda ridge: float(
            (np.sign(train[tune] @ fitted(train[rest], goal[rest], ridge)) == goal[tune]).mean()
        ))  # fmt: skip
        out_of_fold[out] = test[out] @ fitted(train[~out], goal[~out], best)
    return out_of_fold


def main() -> None:
    parser = parser_of(__doc__)
    corpus, _ = instances(parser.parse_args().data)
    fold = topic_folds(Kept(), corpus)
    folds = np.array([fold[instance.belief] for instance in corpus])
    goal = np.array([1.0 if instance.stance == "support" else -1.0 for instance in corpus])
    kept = Vectors(WORK / "ordered")
    texts = {
        name: [text_of(instance, order) for instance in corpus] for name, order in ORDERS.items()
    }
    kept.add([text for some in texts.values() for text in some], encoder())
    table = kept.table()
    rows = {name: np.c_[table[kept.ids(some)], np.full(len(some), 0.05)]
            for name, some in texts.items()}  # fmt: skip
    beliefs = [instance.belief.lower() for instance in corpus]
    figures = []
    for taught in ORDERS:
        for tested in ORDERS:
            right = np.sign(margins(rows[taught], rows[tested], goal, folds)) == goal
            value = mean(right.astype(float).tolist(), groups=beliefs)
            figures.append({"taught": taught, "tested": tested, "value": value.value,
                            "low": value.low, "high": value.high, "n": value.n})  # fmt: skip
            print(f"taught {taught}, tested {tested}: {value}", flush=True)
    (WORK / "order.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
