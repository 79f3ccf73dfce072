"""Adversarial filtering of wrong options with a small discriminator; the curve goes to ``work/``.

python -m grice_research.recipes.triplets.filtering [--data ../shared/data] [--rounds 35]

The discriminator follows the paper's: it sees the relation and the option within its context, never
the head. It is a logistic regression on the option's vector times the relation. First options
are three spans of the dialogue by chance, pools the others.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import numpy as np
import torch

from grice.knowledge.schema import load_schema
from grice_research.recipes.options import parser_of
from grice_research.recipes.triplets.data import WORK, load
from grice_research.triplets.choices import Choice, candidates, filter_options
from grice_research.triplets.cider import load_cider
from grice_tasks.cider.structure import locate

STEPS = 60


class Logistic:
    """Vectors of options, one set of weights for all relations and one each."""

    def __init__(self, vectors: dict[tuple[str, str], np.ndarray]) -> None:
        self._vectors = vectors
        self._relations = {name: i for i, name in enumerate(load_schema("cider").relations)}

    def _inputs(self, choices: Sequence[Choice]) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [
            np.stack(
                [self._vectors[choice.id.rpartition("-triplet-")[0], o] for o in choice.options]
            )
            for choice in choices
        ]
        names = [self._relations[choice.relation] for choice in choices]
        return torch.tensor(np.stack(rows)), torch.tensor(names)

    def _logits(self, rows: torch.Tensor, names: torch.Tensor) -> torch.Tensor:
        return (rows * (self._shared + self._own[names])[:, None]).sum(-1)

    def fit(self, choices: Sequence[Choice]) -> None:
        rows, names = self._inputs(choices)
        labels = torch.tensor([choice.label for choice in choices])
        self._shared = torch.zeros(rows.shape[-1], requires_grad=True)
        self._own = torch.zeros(len(self._relations), rows.shape[-1], requires_grad=True)
        optimiser = torch.optim.Adam([self._shared, self._own], 0.1, weight_decay=1e-4)
        for _ in range(STEPS):
            loss = torch.nn.functional.cross_entropy(self._logits(rows, names), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    def scores(self, choices: Sequence[Choice]) -> list[list[float]]:
        rows, names = self._inputs(choices)
        with torch.no_grad():
            return self._logits(rows, names).tolist()


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=35)
    options = parser.parse_args()
    torch.set_num_threads(1)
    cider, kept = load_cider(options.data / "cider"), load(options.data)
    spans: dict[str, dict[str, None]] = {}
    for item in cider.items:
        known = spans.setdefault(item.dialogue, {})
        known |= dict.fromkeys((item.head.strip(), item.tail.strip(), *(item.options or ())))
    draw = random.Random(0)
    made, pools, vectors = [], [], {}
    for question in cider.questions():
        name, head = question.item.dialogue, question.item.head.strip()
        pool = candidates(list(spans[name]), head, question.valid)
        if len(pool) < 3:
            continue
        draw.shuffle(pool)
        listed = [question.valid[0], *pool[:3]]
        draw.shuffle(listed)
        label = listed.index(question.valid[0])
        made.append(
            Choice(f"{name}-triplet-{len(made)}", "", head, question.item.relation, tuple(listed),
                   label)
        )  # fmt: skip
        pools.append(pool[3:])
        reading = kept.readings[name]
        for span in (*listed, *pool):
            place = locate(reading.text, span)
            vectors[name, span] = (
                np.zeros(384, np.float32) if place is None else reading.vector(place)
            )
    filtered = filter_options(made, pools, Logistic(vectors), rounds=options.rounds)
    print(len(made), "items, pools of", round(float(np.mean([len(p) for p in pools])), 1))
    for number, item in enumerate(filtered.curve, 1):
        print(number, f"{item.accuracy:.4f}", item.replaced, flush=True)
    (WORK / "filtering.json").write_text(json.dumps([point._asdict() for point in filtered.curve]))


if __name__ == "__main__":
    main()
