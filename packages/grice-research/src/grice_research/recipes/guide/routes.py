r"""Compare ways to choose out of drawn replies, by metrics that have no part in any of them.

    python -m grice_research.recipes.guide.routes valid.jsonl [--judges cross_encoder]

Of each context the first reply is the base's; each route chooses one of the others. Printed is how
often that is better than the first by each judge, ties half, as it is and at one length, with the
words of both: of the validation split, from which a route is taken for the bench.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grice.stats import mean
from grice_research.length_controlled import length_controlled
from grice_research.recipes.guide.draw import read_drawn
from grice_research.recipes.guide.values import values_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Table: TypeAlias = NDArray[np.float64]

__all__ = ["ROUTES"]

METRICS = ("relevance", "engagement")
SMALL = 1e-3


def _odds(values: Table) -> Table:
    kept = np.clip(values, SMALL, 1 - SMALL)
    return np.asarray(np.log(kept / (1 - kept)))


def _without_length(engagement: Table, words: Table) -> Table:
    """Return log odds without the straight line that log length adds to them."""
    sizes, odds = np.log1p(words), _odds(engagement)
    centred = sizes - sizes.mean()
    return np.asarray(odds - centred * (centred * odds).sum() / (centred**2).sum())


ROUTES: dict[str, Callable[[dict[str, Table]], Table]] = {
    "mean": lambda v: v["relevance"] + v["engagement"],
    "product": lambda v: v["relevance"] * v["engagement"],
    "lowest": lambda v: np.minimum(v["relevance"], v["engagement"]),
    "relevance twice": lambda v: v["relevance"] ** 2 * v["engagement"],
    "relevance alone": lambda v: v["relevance"],
    "engagement less length": lambda v: (
        _odds(v["relevance"]) + _without_length(v["engagement"], v["words"])
    ),
}
"""By name, the value of replies from tables of what is known of them, a row of each context."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("drawn", type=Path)
    parser.add_argument("--judges", type=lambda text: text.split(","),
                        default=["cross_encoder"])  # fmt: skip
    given = parser.parse_args()
    drawn = read_drawn(given.drawn)
    words = np.array([[float(len(text.split())) for text in each.texts] for each in drawn])
    names = (*METRICS, *given.judges)
    known = {name: np.array(values_of(given.drawn, name)) for name in names} | {"words": words}
    rows = np.arange(len(drawn))
    print(f"{len(drawn)} contexts, the best of {words.shape[1] - 1}")
    for route, value in ROUTES.items():
        chosen = 1 + value(known)[:, 1:].argmax(axis=1)
        sizes = [(int(own), int(base)) for own, base in zip(words[rows, chosen], words[:, 0],
                                                            strict=True)]  # fmt: skip
        print(f"{route}: {words[rows, chosen].mean():.1f} words, base {words[:, 0].mean():.1f}")
        for judge in given.judges:
            own, base = known[judge][rows, chosen], known[judge][:, 0]
            won = list(np.where(own == base, 0.5, own > base).astype(float))
            print(f"  {judge}: {mean(won, bounds=(0, 1))}; at one length "
                  f"{length_controlled(won, sizes)}")  # fmt: skip


if __name__ == "__main__":
    main()
