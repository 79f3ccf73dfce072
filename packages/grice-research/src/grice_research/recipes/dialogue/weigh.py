"""Measure how well the likelihoods alone tell good from bad replies of held-out conversations.

    python -m grice_research.recipes.dialogue.weigh --data ../shared/data [--model FOLDER]

Good and bad are true replies against random and against damaged ones, and messages of bots and of
all that people called good or bad. ``bundle.py`` writes the figures into the card.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grice.metrics.fluency import FluencyModel
from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedGenerator
from grice_research.recipes.dialogue.train import WORK
from grice_research.recipes.dialogue.trials import Trial, trials
from grice_research.recipes.options import parser_of

Floats = NDArray[np.float64]

RESAMPLES = 500
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


def area(task: Task, values: Floats) -> float:
    """Return the area under the curve."""
    from scipy.stats import rankdata

    ranks, high = rankdata(values[task.rows]), task.labels > 0.5
    wins = ranks[high].sum() - high.sum() * (high.sum() + 1) / 2
    return float(wins / (high.sum() * (~high).sum()))


def interval(values: Floats, every: Sequence[Trial], task: Task) -> dict[str, float | int]:
    """Return an area with its 95 % interval; conversations are drawn again."""
    groups = np.array([every[row].group for row in task.rows])
    _, owner = np.unique(groups, return_inverse=True)
    members = [np.flatnonzero(owner == number) for number in range(owner.max() + 1)]
    random = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        again = np.concatenate([members[i] for i in random.integers(0, len(members), len(members))])
        drawn.append(area(Task(task.name, task.rows[again], task.labels[again]), values))
    low, high = np.percentile(drawn, (2.5, 97.5))
    rounded = {"value": area(task, values), "low": float(low), "high": float(high)}
    return {**{name: round(figure, 4) for name, figure in rounded.items()}, "n": len(task.rows)}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", type=Path, default=WORK / "seed0/bundle")
    options = parser.parse_args()
    every = trials(options.data)
    model = open_bundle(options.model)
    oddness = FluencyModel(model, EmbeddedGenerator(model, mode="exact", threads=1))
    odd = np.array(oddness.disfluency([trial.reply for trial in every]))
    figures = []
    for task in tasks_of(every):
        figure = {"on": f"held out: {ON[task.name]}", "measure": "area under the curve, oddness"}
        figures.append({**figure, **interval(-odd, every, task), "command": COMMAND})
        print(json.dumps(figures[-1]))
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / "weighed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in figures))


if __name__ == "__main__":
    main()
