"""Fit the weights of the metric ``fluency`` on replies of people and on the same with a slip.

    python -m grice_research.recipes.dialogue.fluency --data ../shared/data --write

The replies are of held-out conversations of the language model; no rated set chooses anything. The
weights that are printed stand in ``grice.metrics.fluency``. ``--write`` writes the card of the
model.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from grice.metrics.fluency import FEWEST_WORDS, mean_nats
from grice.models.loader import ModelLoader
from grice.models.ranker import FluencyModel
from grice_research.places import MODELS
from grice_research.recipes.common import figure_of, parser_of, update_card
from grice_research.recipes.dialogue.weigh import trials
from grice_research.roc import roc_areas

COMMAND = "python -m grice_research.recipes.dialogue.fluency --data ../shared/data --write"
WRONGLY = 0.05  # share of undamaged replies that are below one half
RIDGE = 0.01


def weight_of(
    nats: NDArray[np.float64], damaged: NDArray[np.float64], share: NDArray[np.float64]
) -> float:
    """Return the weight of nats, at least 0, in a logistic regression with a small ridge."""

    def loss(guess: NDArray[np.float64]) -> float:
        odds = guess[0] * nats + guess[1]
        cost = share @ (np.logaddexp(0, odds) - damaged * odds)
        return float(cost + RIDGE * guess[0] ** 2 / 2)

    return float(minimize(loss, np.zeros(2), bounds=[(0.0, None), (None, None)]).x[0])


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--write", action="store_true", help="write the card of the model")
    given = parser.parse_args()
    made = [
        trial
        for trial in trials(given.data)
        if trial.kind in ("true", "damaged") and len(trial.reply.split()) >= FEWEST_WORDS
    ]
    models = ModelLoader(mode="fast", workers=1, cache=None)
    reader = models.load("builtin:fluency", FluencyModel)
    read = reader.surprises([trial.reply for trial in made])
    models.close()
    nats = np.array([mean_nats(pieces) for pieces in read])
    damaged = np.array([float(trial.kind == "damaged") for trial in made])
    columns = {
        "mean nats out of place": nats,
        "worst piece": np.array([max((piece.nats for piece in row), default=0.0) for row in read]),
        "number of words": np.array([float(len(trial.reply.split())) for trial in made]),
    }
    areas = roc_areas(columns, damaged, groups=[trial.group for trial in made]).areas
    on = "held-out replies of people with a typo, against those without"
    figures = [
        figure_of(on, f"area under the curve, {name}", area, COMMAND, len(made))
        for name, area in areas.items()
    ]
    for figure in figures:
        print(json.dumps(figure))
    alike = np.where(damaged > 0, 1 / damaged.sum(), 1 / (1 - damaged).sum())
    weight = weight_of(nats, damaged, alike / alike.sum())
    limit = float(np.quantile(nats[damaged == 0], 1 - WRONGLY))
    told = float(np.mean(nats[damaged == 1] > limit))
    print(f"WEIGHT, SHIFT = {-weight:.2f}, {weight * limit:.2f}; {told:.3f} of slips are told")
    if given.write:
        update_card(MODELS / "fluency", files=(), quality=figures)


if __name__ == "__main__":
    main()
