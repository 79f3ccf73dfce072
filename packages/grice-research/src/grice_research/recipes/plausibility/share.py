"""Which share of the fit ``commonsense`` does best with, on DECO train, by any judge of the fit.

python -m grice_research.recipes.plausibility.share [--data ../shared/data]
    [--relevance file:FOLDER]

FOLDER is what the recipe ``language_model.make`` wrote; without it, what ships judges the fit.
"""

from __future__ import annotations

import numpy as np

from grice.metrics.commonsense import combined, commonsense
from grice.models.models import Models
from grice.scoring.loaded import load_metric
from grice_research.recipes.options import parser_of
from grice_research.recipes.plausibility.knowledge import deco_train, spearman, value

SHARES = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def main() -> None:
    parser = parser_of(__doc__)
    default = commonsense.models["relevance"]
    parser.add_argument("--relevance", default=default, help="what judges the fit")
    options = parser.parse_args()
    asked, human, machine = deco_train(options.data)
    models = Models(mode="exact", workers=1, cache=None)
    print("| share of the fit | all | machine replies |\n|---|---|---|")
    triples, fit = (
        [value(judgement) for judgement in load_metric(commonsense, models, chosen).judge(asked)]
        for chosen in (
            {"relevance_weight": 0.0},
            {"relevance_weight": 1.0, "relevance": options.relevance},
        )
    )
    for share in SHARES:
        column = [combined(a, b, share) for a, b in zip(triples, fit, strict=True)]
        figures = [spearman(column, human, rows) for rows in (np.ones_like(machine), machine)]
        print(f"| {share} | {' | '.join(figures)} |", flush=True)
    print(f"n {len(human)}, of which by machines {int(machine.sum())}")


if __name__ == "__main__":
    main()
