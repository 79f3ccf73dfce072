"""Which knowledge base and which scorer ``commonsense`` does best with, on DECO train.

python -m grice_research.recipes.plausibility.knowledge [--data ../shared/data]

A reply of which no triple was read counts 0.5 where the triples stand alone, as the metric has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.evaluation.datasets import known_sets, load_rated
from grice.metrics.commonsense import commonsense
from grice.models.models import Models
from grice.records import Judgement
from grice.scoring.items import responses
from grice.scoring.loaded import load_metric
from grice.stats import compare_correlations, correlation
from grice_research.recipes.options import parser_of
from grice_research.replies import PERSON

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.records import Response

ANY = ("calibrated", "cosine")
SCORERS = {
    "bundle:atomic": ANY,
    "bundle:comet": (*ANY, "likelihood"),
}
"""By knowledge the scorers that can ask it; only a generator has likelihoods of tails."""


class Labelled(NamedTuple):
    """The replies of DECO's training part.

    Attributes:
        asked: Replies with what was said before.
        human: How plausible people find their events.
        machine: Which of them were not written by a person.
    """

    asked: list[Response]
    human: list[float | None]
    machine: NDArray[np.bool_]


def deco_train(data: Path) -> Labelled:
    """Return the replies that may choose settings of ``commonsense``."""
    entry = msgspec.structs.replace(
        known_sets()["deco_test"], name="deco_train", file="accent_deco/deco_train.jsonl"
    )
    items = load_rated(entry, data).items
    return Labelled(
        [responses(item.conversation)[-1] for item in items],
        [item.human("events") for item in items],
        np.array([item.system != PERSON for item in items]),
    )


def main() -> None:
    parser = parser_of(__doc__)
    asked, human, machine = deco_train(parser.parse_args().data)
    models = Models(mode="exact", workers=1, cache=None)

    columns: dict[str, list[float]] = {}
    print(
        "| knowledge | scorer | triples alone | machine replies | with the fit | machine replies |"
    )
    print("|---|---|---|---|---|---|")
    for knowledge, scorers in SCORERS.items():
        for scorer in scorers:
            options = {"knowledge": knowledge, "scorer": scorer}
            alone, whole = (
                [
                    value(judgement)
                    for judgement in load_metric(commonsense, models, chosen).judge(asked)
                ]
                for chosen in (options | {"relevance_weight": 0.0}, options)
            )
            columns[f"{knowledge}, {scorer}"] = whole
            figures = [
                spearman(column, human, rows)
                for column in (alone, whole)
                for rows in (np.ones_like(machine), machine)
            ]
            cells = " | ".join((f"`{knowledge}`", f"`{scorer}`", *figures))
            print(f"| {cells} |", flush=True)
    print(f"n {len(human)}, of which by machines {int(machine.sum())}")
    compared = compare_correlations(
        columns, human, kind="spearman", baseline=next(iter(columns)), interval="percentile"
    )
    for comparison in compared.comparisons:
        print(
            f"{comparison.first} less {comparison.second}, with the fit: "
            f"{comparison.difference}, p {comparison.p_value:.2f}"
        )


def value(judgement: Judgement) -> float:
    if judgement.value is None:
        raise ValueError(judgement.reason)
    return judgement.value


def spearman(column: list[float], human: list[float | None], rows: np.ndarray) -> str:
    picked = np.flatnonzero(rows)
    estimate = correlation(
        [column[i] for i in picked], [human[i] for i in picked], kind="spearman", interval="bca"
    )
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


if __name__ == "__main__":
    main()
