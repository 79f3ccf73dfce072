"""Tries ways to better graphs of the generator: their overlap with what people wrote.

python -m grice_research.recipes.graphs.generator_routes [--data ../shared/data] [--folds 3 4]

On rows of topics that the generator was not taught, with their gold stance, so that no judge has a
say but the generator's own. The table goes to the terminal as Markdown.
"""

from __future__ import annotations

import numpy as np
import torch

from grice.stats import mean
from grice_research.recipes.graphs.data import external_concepts
from grice_research.recipes.graphs.making import MAKER, TEACHER, Making, Pairs, proposals, some
from grice_research.recipes.graphs.substance import Shelf, chosen, fit_generator, open_shelf
from grice_research.recipes.options import parser_of
from grice_tasks.explagraphs.graph import Graph
from grice_tasks.explagraphs.reader import write_graph
from grice_tasks.explagraphs.samples import Prediction, Sample
from grice_tasks.explagraphs.scores import score_sample

FEW, MANY, TWICE = 8, 24, 2
MEASURES = ("g_bleu", "g_rouge_l", "ged")


def by_count(shelf: Shelf, making: Making) -> Making:
    """Return the generator with words from outside that people used twice, on whatever topic."""
    counts = external_concepts(shelf.rows(MAKER))
    words = [(word, float(np.log(n))) for word, n in counts.most_common() if n >= TWICE]
    return making._replace(words=words)


def values(pairs: Pairs) -> dict[str, list[float]]:
    by_measure: dict[str, list[float]] = {name: [] for name in MEASURES}
    for instance, graph in pairs:
        gold = Sample(
            instance.id,
            instance.belief,
            instance.argument,
            instance.stance,
            (write_graph(instance.graph),),
        )  # type: ignore[arg-type]
        sample_score = score_sample(
            gold, Prediction(instance.id, gold.stance or "support", write_graph(graph))
        )
        for name in MEASURES:
            by_measure[name].append(sample_score.values[name])
    return by_measure


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--folds", type=int, nargs="+", default=list(TEACHER), help="of topics")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    shelf = open_shelf(arguments.data)
    making, beliefs, choice = fit_generator(shelf)
    rows = some(shelf.rows(tuple(arguments.folds)), arguments.rows, 5)
    made: dict[str, list[list[Graph]]] = {
        "words people used twice": proposals(
            by_count(shelf, making), rows, shelf.features, beliefs
        ),
        "words people used on three topics": proposals(making, rows, shelf.features, beliefs),
    }
    first: dict[str, list[float]] | None = None
    for name, graphs in made.items():
        for count in (FEW, MANY):
            shown = [several[:count] for several in graphs]
            best = {instance.id: graph for instance, graph in
                    chosen(choice, rows, shown, shelf.kept, shelf.features)}  # fmt: skip
            by_measure = values([(row, best.get(row.id, Graph(()))) for row in rows])
            first = by_measure if first is None else first
            groups = [row.belief for row in rows]
            cells = []
            for measure in MEASURES:
                here = mean(by_measure[measure], groups=groups)
                gain = mean(
                    [b - a for a, b in zip(first[measure], by_measure[measure], strict=True)],
                    groups=groups,
                )
                cells.append(f"{here.value:.3f} ({gain.value:+.3f} [{gain.low:+.3f}, "
                             f"{gain.high:+.3f}])")  # fmt: skip
            print(f"| {name}, chosen from {count} | {' | '.join(cells)} |", flush=True)
    print(f"n {len(rows)}")


if __name__ == "__main__":
    main()
