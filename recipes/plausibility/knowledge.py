"""Which knowledge base and which scorer ``commonsense`` does best with, on DECO train.

PYTHONPATH=src:. python -m recipes.plausibility.knowledge [--data ../shared/data]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import msgspec
import numpy as np

from grice.evaluation.datasets import known_sets, load_rated
from grice.evaluation.replies import PERSON
from grice.metrics.commonsense import FIT, combined, commonsense
from grice.records import FeatureEvidence, Judgement
from grice.scoring.items import responses
from grice.scoring.loaded import load_metric
from grice.scoring.models import Models
from grice.stats import compare_correlations, correlation

KNOWLEDGE = ("bundle:atomic", "bundle:comet", "bundle:atomic-comet")
SCORERS = ("calibrated", "cosine", "likelihood")
SHARE = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    data = parser.parse_args().data
    entry = msgspec.structs.replace(
        known_sets()["deco_test"], name="deco_train", file="accent_deco/deco_train.jsonl"
    )
    items = load_rated(entry, data).items
    asked = [responses(item.conversation)[-1] for item in items]
    human = [item.human("events") for item in items]
    machine = np.array([item.system != PERSON for item in items])
    models = Models(mode="exact", workers=1, cache=None)
    fits = [fit(one) for one in load_metric(commonsense, models, {}).judge(asked)]

    columns: dict[str, list[float]] = {}
    print(
        "| knowledge | scorer | triples alone | machine replies | with the fit | machine replies |"
    )
    print("|---|---|---|---|---|---|")
    for knowledge in KNOWLEDGE:
        for scorer in SCORERS:
            options = {"knowledge": knowledge, "scorer": scorer, "share": 0.0}
            judged = load_metric(commonsense, models, options).judge(asked)
            alone = [value(one) for one in judged]
            whole = [
                one if judgement.status == "abstained" else combined(one, other, SHARE)
                for one, other, judgement in zip(alone, fits, judged, strict=True)
            ]
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
    for one in compared.comparisons:
        print(f"{one.first} less {one.second}, with the fit: {one.difference}, p {one.p_value:.2f}")


def value(judgement: Judgement) -> float:
    if judgement.value is None:
        raise ValueError(judgement.reason)
    return judgement.value


def fit(judgement: Judgement) -> float | None:
    """Return how well the reply fits what was said; None where it was not judged."""
    found = (one for one in judgement.evidence if isinstance(one, FeatureEvidence))
    return next((one.value for one in found if one.name == FIT), None)


def spearman(column: list[float], human: list[float | None], rows: np.ndarray) -> str:
    picked = np.flatnonzero(rows)
    found = correlation(
        [column[i] for i in picked], [human[i] for i in picked], kind="spearman", interval="bca"
    )
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


if __name__ == "__main__":
    main()
