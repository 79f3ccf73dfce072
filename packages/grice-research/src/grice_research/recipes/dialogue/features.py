"""What likelihoods tell of replies with a known answer, beside oddness.

python -m grice_research.recipes.dialogue.features --data ../shared/data
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from grice.metrics.relevance.fluency import FluencyModel
from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedGenerator
from grice_research.recipes.dialogue.train import WORK
from grice_research.recipes.dialogue.turns import asked
from grice_research.recipes.dialogue.weigh import area, gathered, tasks_of
from grice_research.recipes.options import parser_of


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", type=Path, default=WORK / "seed0/bundle")
    options = parser.parse_args()
    bundle = open_bundle(options.model)
    model = EmbeddedGenerator(bundle, mode="exact", threads=1)
    trials = gathered(options.data)
    replies = [trial.reply for trial in trials]
    begin = [str(bundle.card.settings["begin"])] * len(replies)
    names = json.loads(bundle.path("shared_vocabulary.json").read_text("utf-8"))
    usual = dict(zip(names, np.load(bundle.path("usual.npy")).tolist(), strict=True))
    queries = [asked(trial.history) for trial in trials]
    given = model.piece_log_probabilities(queries, replies, begin=begin)
    alone = model.piece_log_probabilities([""] * len(replies), replies, begin=begin)
    columns = {
        "mean log likelihood given the turns": _each(given, np.mean),
        "mean log likelihood alone": _each(alone, np.mean),
        "likelihood ratio": _each(given, np.mean) - _each(alone, np.mean),
        "lowest log likelihood of a piece": _each(given, np.min),
        "log likelihood less that of the pieces at large": np.array(
            [np.mean([value - usual[piece] for piece, value in pieces]) for pieces in alone]
        ),
        "oddness": -np.array(
            [disfluency.value for disfluency in FluencyModel(bundle, model).measure(replies)]
        ),
    }
    for name, values in columns.items():
        areas = {task.name: round(area(task, values), 3) for task in tasks_of(trials)}
        print(json.dumps({"feature": name, **areas}))


def _each(scored: list[list[tuple[str, float]]], reduce: np.ufunc) -> np.ndarray:
    return np.array([reduce([value for _, value in pieces]) for pieces in scored])


if __name__ == "__main__":
    main()
