"""Spans, pairs of spans and rows of the tasks as arrays, kept in ``work/rows.npz``.

python -m grice_research.recipes.triplets.rows [--data ../shared/data]
"""

from __future__ import annotations

import numpy as np

from grice.knowledge.schema import load_schema
from grice_research.recipes.options import parser_of
from grice_research.recipes.triplets.data import WORK, load
from grice_research.triplets.task_files import read_negatives
from grice_tasks.cider.structure import locate, structure


def main() -> None:
    parser = parser_of(__doc__)
    data = parser.parse_args().data
    cider = load(data)
    relations = {name: i for i, name in enumerate(load_schema("cider").relations)}
    spans: dict[tuple[str, str], int] = {}
    pairs: dict[tuple[int, int], int] = {}
    features: list[np.ndarray] = []

    def pair(dialogue: str, head: str, tail: str) -> int:
        sides = [side.strip() for side in (head, tail)]
        key = tuple(spans.setdefault((dialogue, side), len(spans)) for side in sides)
        if key not in pairs:
            pairs[key] = len(pairs)
            layout = cider.layouts[dialogue]
            places = [locate(layout.text, side) for side in sides]
            features.append(structure(layout, *sides, *places))
        return pairs[key]

    nli, choice, more = [], [], []
    for item in cider.items:
        fold, relation = cider.folds[item.dialogue], relations[item.relation]
        nli.append((pair(item.dialogue, item.head, item.tail), relation, 1, fold, 1))
        if item.options is not None:
            four = [pair(item.dialogue, item.head, option) for option in item.options]
            choice.append((*four, relation, item.label, fold))
            # The options before filtering are wrong too: more to learn from, never tested on.
            others = [
                option
                for option in item.first_options
                if option not in item.options and option.strip() in cider.alone
            ]
            extra = [pair(item.dialogue, item.head, option) for option in others]
            more.append((*extra, *[four[0]] * (3 - len(extra)), len(extra)))
    for item in read_negatives(data / "cider" / "nli_frozen_negatives.tsv.gz"):
        fold, relation = cider.folds[item.dialogue], relations[item.relation]
        nli.append((pair(item.dialogue, item.head, item.tail), relation, 0, fold, int(item.train)))
    context, side_places = [], []
    for dialogue, span in spans:
        place = locate(cider.layouts[dialogue].text, span)
        side_places.append(place or (-1, -1))
        context.append(
            cider.alone[span] if place is None else cider.readings[dialogue].vector(place)
        )
    names = sorted({dialogue for dialogue, _ in spans})
    number = {name: i for i, name in enumerate(names)}
    np.savez(
        WORK / "rows.npz",
        context=np.stack(context).astype(np.float16),
        alone=np.stack([cider.alone[span] for _, span in spans]).astype(np.float16),
        places=np.array(side_places),
        names=np.array(names),
        dialogue=np.array([number[dialogue] for dialogue, _ in spans]),
        pairs=np.array(list(pairs)),
        structure=np.stack(features).astype(np.float16),
        nli=np.array(nli),
        choice=np.array(choice),
        more=np.array(more),
    )
    print(len(spans), "spans", len(pairs), "pairs", len(nli), "nli", len(choice), "choice")


if __name__ == "__main__":
    main()
