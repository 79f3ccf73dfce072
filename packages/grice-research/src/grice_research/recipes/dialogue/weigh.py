"""Measure how well the likelihoods alone tell good from bad replies of held-out conversations.

    python -m grice_research.recipes.dialogue.weigh --data ../shared/data [--model FOLDER]

Good and bad are true replies against random and against damaged ones, and messages of bots and of
all that people called good or bad. ``bundle.py`` writes the figures into the card.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grice.metrics.fluency import FluencyModel
from grice.models.embedded import EmbeddedGenerator
from grice.models.folder import open_folder
from grice.models.loader import ModelLoader
from grice_research.recipes.common import auc, interval_over, parser_of, write_rows
from grice_research.recipes.dialogue.train import WORK
from grice_research.recipes.dialogue.trials import Trial, trials

Floats = NDArray[np.float64]

ON = {
    "random": "true replies against random ones",
    "damaged": "true replies against damaged ones",
    "bots' messages": "bots' messages that people called good against bad ones",
    "all messages": "messages that people called good against bad ones",
}
COMMAND = "python -m grice_research.recipes.dialogue.weigh --data ../shared/data"


class Task(NamedTuple):
    """Which trials count as good and which as bad."""

    name: str
    rows: NDArray[np.int64]
    labels: Floats


def tasks_of(every: list[Trial]) -> list[Task]:
    kinds = np.array([trial.kind for trial in every])
    bots = np.array([trial.author == "bot" for trial in every])
    labels = np.array([trial.label for trial in every], np.float64)
    chosen = {
        "random": np.isin(kinds, ("true", "random")),
        "damaged": np.isin(kinds, ("true", "damaged")),
        "bots' messages": (kinds == "message") & bots,
        "all messages": kinds == "message",
    }
    return [
        Task(name, np.flatnonzero(rows), labels[rows])
        for name, rows in chosen.items()
        if 0 < labels[rows].sum() < rows.sum()
    ]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", type=Path, default=WORK / "seed0/bundle")
    options = parser.parse_args()
    every = trials(options.data)
    model = open_folder(options.model)
    generator = ModelLoader().load(f"file:{options.model}", EmbeddedGenerator)
    oddness = FluencyModel(model, generator)
    odd = np.array(oddness.disfluency([trial.reply for trial in every]))
    figures = []
    for task in tasks_of(every):
        values, labels = -odd[task.rows], task.labels
        low, high = interval_over(
            [every[row].group for row in task.rows],
            lambda rows, values=values, labels=labels: auc(values[rows], labels[rows]),
            500,
        )
        bounds = {"value": auc(values, labels), "low": low, "high": high}
        figures.append({
            "on": f"held out: {ON[task.name]}", "measure": "area under the curve, oddness",
            **{name: round(bound, 4) for name, bound in bounds.items()}, "n": len(values),
            "command": COMMAND,
        })  # fmt: skip
        print(json.dumps(figures[-1]))
    WORK.mkdir(parents=True, exist_ok=True)
    write_rows(WORK / "weighed.jsonl", figures)


if __name__ == "__main__":
    main()
