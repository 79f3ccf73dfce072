"""Writes the card of the bundle: what it learned from, and later what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from grice.models.bundle import file_sha256
from grice_research.recipes.plausibility.data import ACCENT, RELATIONS, Example, held_out


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1, equal values sharing their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def auc(scores: np.ndarray, labels: np.ndarray) -> float:
    positives = int(labels.sum())
    negatives = len(labels) - positives
    over = ranks(scores)[labels == 1].sum() - positives * (positives + 1) / 2
    return float(over / (positives * negatives))


def by_relation(scores: np.ndarray, labels: np.ndarray, names: Sequence) -> dict[str, float]:
    names = np.asarray(names)
    areas = {}
    for name in sorted(set(names.tolist())):
        rows = names == name
        if 0 < labels[rows].sum() < rows.sum():
            areas[str(name)] = round(auc(scores[rows], labels[rows]), 4)
    return areas


def weighted(scores: np.ndarray, labels: np.ndarray, names: Sequence) -> float:
    """AUC per relation, averaged by the number of rows; relations of one class are left out."""
    names = np.asarray(names)
    total = rows_seen = 0.0
    for name in set(names.tolist()):
        rows = names == name
        if 0 < labels[rows].sum() < rows.sum():
            total += auc(scores[rows], labels[rows]) * rows.sum()
            rows_seen += rows.sum()
    return total / rows_seen


KNOWN_WEIGHT = 3.0
"""Weight of a known tail's similarity; 2 to 4 did alike on the development part of CSKB
Population."""
KNOWN_CENTRE = 0.38
"""Mean similarity there: a tail as like a known one as usual changes nothing."""
FILES = ("plausibility.npz", "relations.npz")
SOURCES = {
    "atomic2018": "ATOMIC (Sap et al. 2019), samples (CC BY 4.0)",
    "atomic2020": "ATOMIC-2020 (Hwang et al. 2021), sample of train (CC BY 4.0)",
    "event2mind": "Event2Mind train (MIT)",
    "ethics_virtue": "ETHICS virtue train (MIT by its authors' card)",
    "ecare": "e-CARE train (MIT)",
    "copa_sse": "COPA-SSE dev (MIT)",
    "defeasible_nli": "Defeasible-NLI (MIT)",
    "omcs": "OMCS events of CSKB Population trn (MIT; ConceptNet CC BY-SA 4.0)",
}


def write_card(
    out: Path, examples: list[Example], dropped: dict[str, int], seed: int, used: set[str]
) -> None:
    """Write ``card.toml`` without figures; ``used`` names the sources that were learned from."""
    counts = Counter(e.source for e in examples if e.source in used and not held_out(e.group))
    data = [f'  "{SOURCES[name]}: {counts[name]} examples",' for name in SOURCES if counts[name]]
    reasons = "; ".join(f"{reason}: {count}" for reason, count in sorted(dropped.items()))
    lines = [
        'name = "plausibility"',
        'kind = "triple-head"',
        'version = "1"',
        'summary = "How sensible a commonsense triple is, and which relation two events stand in."',
        'licence = "CC-BY-SA-4.0"',
        'encoder = "encoder"',
        'inputs = "a triple of ATOMIC\'s event relations; or a head and a tail event"',
        'outputs = "plausibility 0 to 1, 0.5: as likely known as mismatched; or probabilities of'
        " ACCENT's 12 relations and none. It tells sensible from senseless among triples of the"
        " kind that knowledge bases hold; among the triples that people drew from replies it hardly"
        ' does, see DECO test below"',
        "",
        "[training]",
        "data = [",
        *data,
        "]",
        "selection = [",
        '  "CSKB Population dev",',
        '  "5 % of the heads, held out",',
        '  "DECO train (looked at beside the two; no better than noise for any choice)",',
        "]",
        f'excluded = "rows dropped: {reasons}"',
        'command = "python -m grice_research.recipes.plausibility.train"',
        f"seeds = [{seed}]",
        "",
        "[settings]",
        'schema = "atomic2020"',
        f"relations = {list(RELATIONS)}".replace("'", '"'),
        f"typed = {list(ACCENT)}".replace("'", '"'),
        f"known_weight = {KNOWN_WEIGHT}",
        f"known_centre = {KNOWN_CENTRE}",
        "",
        "[files]",
        *(f'"{name}" = "{file_sha256(out / name)}"' for name in FILES),
    ]
    (out / "card.toml").write_text("\n".join(lines) + "\n", "utf-8")
