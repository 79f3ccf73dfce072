"""Measure how often the cause that ``sense`` names is right, by the margin from which it is named.

    python -m grice_research.recipes.sense.causes --model bundle:sense-small

On the written items kept back: of the replies that are flawed and judged below one half, the share
of which a cause is named, and of those the share on which it is the flaw that was written. The
margin of ``grice.metrics.sense`` is the smallest one of these with a precision of 0.8 or more for
``sense-small`` and ``sense-medium``, with the lower bounds above 0.7.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from grice import Turn
from grice.metrics.sense import SUREST, sense
from grice.metrics.sense.protocol import FlawModel
from grice.models.models import Models
from grice.records import FeatureEvidence, Response
from grice_research.places import work_folder
from grice_research.recipes.options import parser_of
from grice_research.recipes.sense.pairs import written_items

if TYPE_CHECKING:
    from numpy.typing import NDArray

MARGINS = (0.0, 1.0, 1.5, 2.0, 2.25, 2.5, 2.75, 3.0)
DRAWS = 1000
HALF = 0.5


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", default="bundle:sense-small")
    given = parser.parse_args()
    models = Models(mode="fast", workers=1, cache=work_folder("sense"))
    model = models.open(given.model, FlawModel)
    items, wanted, replies = [], [], []
    for number, item in enumerate(each for each in written_items() if each.validation):
        for place in dict.fromkeys(bad for _, bad in item.comparisons):
            history = item.readings[place].history
            talk = tuple(Turn("ab"[(len(history) - i) % 2], text) for i, text in enumerate(history))
            places = tuple(range(len(talk)))
            replies.append(Response("-", len(talk), item.readings[place].reply, "a", talk, places))
            items.append(number)
            wanted.append(item.flaw)
    judged = list(sense.function(replies, model=model))
    models.close()
    low = [i for i, each in enumerate(judged) if each.value is not None and each.value < HALF]
    heads = [
        [piece for piece in judged[i].evidence if isinstance(piece, FeatureEvidence)] for i in low
    ]
    chances = np.clip([[head.value for head in row[:2]] for row in heads], SUREST, 1 - SUREST)
    odds = np.log(chances / (1 - chances))
    margin = odds[:, 0] - odds[:, 1]
    right = np.array([row[0].name == wanted[i] for row, i in zip(heads, low, strict=True)])
    groups = np.array([items[i] for i in low])
    for least in MARGINS:
        named = margin >= least
        bounds = _interval(right[named], groups[named])
        figures = {
            "model": given.model,
            "margin": least,
            "flawed replies below one half": len(low),
            "named": int(named.sum()),
            "precision": round(float(right[named].mean()), 3),
            "95 % interval": bounds,
        }
        print(json.dumps(figures))


def _interval(right: NDArray[np.bool_], groups: NDArray[np.int64]) -> tuple[float, float]:
    """Return a bootstrap interval of the share that is right; items are drawn whole."""
    names, places = np.unique(groups, return_inverse=True)
    sums, counts = np.bincount(places, right), np.bincount(places)
    draws = np.random.default_rng(0).integers(len(names), size=(DRAWS, len(names)))
    low, high = np.percentile(sums[draws].sum(1) / counts[draws].sum(1), [2.5, 97.5])
    return round(float(low), 3), round(float(high), 3)


if __name__ == "__main__":
    main()
