"""Fit the weights of the metric ``likelihood``: after the history, and gain over own turns alone.

    grice models get medium
    python -m grice_research.recipes.review.likelihood

They are fitted to what people marked in logs, with the controls of the order of review, and stand
in ``grice.metrics.likelihood``. The value is the probability that nobody would mark a reply.
"""

from __future__ import annotations

import json

import numpy as np

from grice_research.recipes.options import parser_of
from grice_research.recipes.review.data import Asked, columns_of, fit, read_marked, standardised
from grice_research.recipes.review.fit import Floats, Table, quality_of, table_of

PEOPLE = ("dbdc3", "convai2017")
SEEDS = (0, 1, 2)
AFTER = Asked("likelihood", "", "mean log likelihood after the history")
GAIN = Asked("likelihood", "", "gain over own turns alone")


def constants(table: Table, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> dict[str, float]:
    """Return the weights of both figures per nat, and the shift, on some of the turns."""
    columns = table.columns
    centers, scales = np.nanmean(columns, axis=0), np.nanstd(columns, axis=0)
    fitted = fit(
        standardised(columns, centers, scales)[rows],
        table.controls[rows],
        table.flawed[rows],
        table.weight[rows],
    )
    marked = [table.flawed[table.corpus == name].mean() for name in PEOPLE]
    weights: Floats = fitted.weights / scales
    usual = float(np.mean([np.log((1 - rate) / rate) for rate in marked]))
    after, gain, shift = *weights, usual - weights @ centers
    return {"WEIGHT_AFTER": float(after), "WEIGHT_GAIN": float(gain), "SHIFT": float(shift)}


def main() -> None:
    given = parser_of(__doc__).parse_args()
    marked = [turn for turn in read_marked(given.data) if turn.corpus in PEOPLE]
    for asked in ((AFTER,), (GAIN,), (AFTER, GAIN)):
        table = table_of(marked, columns_of(marked, asked, "medium"))
        for figure in quality_of(table, 0.0, ""):
            print(json.dumps({"by": [question.feature for question in asked]} | figure))
    print(json.dumps(constants(table, np.ones(len(marked), np.bool_))))
    for seed in SEEDS:  # how far the weights hang on the conversations that were drawn
        groups, codes = np.unique(table.group, return_inverse=True)
        half = np.random.default_rng(seed).permutation(len(groups))[codes] % 2 == 0
        print(json.dumps({"seed": seed} | constants(table, half)))


if __name__ == "__main__":
    main()
