"""Plausible or not: scorers of commonsense triples against human labels.

The set of CSKB Population (Fang et al., EMNLP 2021). How often a relation is labelled plausible
differs so much between relations that a pooled area under the curve rewards knowing the relation
alone; the mean over relations, weighted by their size, does not.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from grice.data import Triple
from grice.errors import InputError
from grice.knowledge.schema import RELATIONS
from grice.metrics.commonsense import nearest_known
from grice_research.roc import roc_areas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from grice.knowledge.plausibility import TripleHead
    from grice.knowledge.store import KnowledgeBase
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Encoder
    from grice.stats.estimate import Estimate

TEST, DEV = "cskb_population/tst.tsv.gz", "cskb_population/dev.tsv.gz"
SOURCE = (
    "github.com/HKUST-KnowComp/CSKB-Population (MIT): tab-separated head, relation, tail, label"
)
MOST_WORDS = 10
"""Longer heads and tails are dropped, as the script of ACCENT does."""

OF_ACCENT = frozenset(RELATIONS)


class TripleRows(NamedTuple):
    """Labelled triples: whether people find them plausible."""

    triples: tuple[Triple, ...]
    plausible: tuple[bool, ...]


def read_triples(folder: Path | None, aspect: str, *, split: str = TEST) -> TripleRows:
    """Return the triples of the 12 relations of ACCENT, or of all 18."""
    if folder is None or not (folder / split).is_file():
        raise InputError(f"{split} is not in the data folder; it is from {SOURCE}")
    text = gzip.decompress((folder / split).read_bytes()).decode("utf-8")
    triples, plausible = [], []
    for row in csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE):
        short = max(len(row["head"].split()), len(row["tail"].split())) <= MOST_WORDS
        if short and (aspect == "18 relations" or row["relation"] in OF_ACCENT):
            triples.append(Triple(row["head"], row["relation"], row["tail"]))
            plausible.append(row["label"] == "1")
    return TripleRows(tuple(triples), tuple(plausible))


GENERAL = {"general Want": "xWant", "general Effect": "xEffect", "general React": "xReact"}
"""Relations that say nothing of who wants or feels, and what they are judged as."""


HEADS, ENCODER, STORE = "bundle:plausibility", "bundle:encoder", "bundle:atomic"
MODELS_OF: dict[str, tuple[str, ...]] = {
    "commonsense": (HEADS, STORE, ENCODER),
    "compatibility": (HEADS, STORE, ENCODER),
    "cosine_head_tail": (ENCODER,),
    "relation_rate": (),
}
"""By name of a scorer, the models that it rests on."""


def compatibility(triples: Sequence[Triple], models: ModelLoader) -> list[float]:
    """Return what the metric ``commonsense`` gives triples."""
    head = cast("TripleHead", models.load(HEADS))
    store = cast("KnowledgeBase", models.load(STORE))
    encoder = cast("Encoder", models.load(ENCODER))
    return head.plausibility(triples, nearest_known(triples, store, encoder))


def _compatibility(rows: TripleRows, models: ModelLoader, folder: Path) -> list[float]:  # noqa: ARG001
    return compatibility(
        [
            Triple(triple.head, GENERAL.get(triple.relation, triple.relation), triple.tail)
            for triple in rows.triples
        ],
        models,
    )


def _cosine(rows: TripleRows, models: ModelLoader, folder: Path) -> list[float]:  # noqa: ARG001
    encoder = cast("Encoder", models.load(ENCODER))
    heads = encoder.encode([triple.head for triple in rows.triples])
    tails = encoder.encode([triple.tail for triple in rows.triples])
    return [float(head @ tail) for head, tail in zip(heads, tails, strict=True)]


def _relation_rate(rows: TripleRows, models: ModelLoader, folder: Path) -> list[float]:  # noqa: ARG001
    """Return how often the relation of each triple is plausible in the other split."""
    dev = read_triples(folder, "18 relations", split=DEV)
    labels = defaultdict(list)
    for triple, label in zip(dev.triples, dev.plausible, strict=True):
        labels[triple.relation].append(label)
    rates = {relation: sum(given) / len(given) for relation, given in labels.items()}
    return [rates.get(triple.relation, 0.5) for triple in rows.triples]


if TYPE_CHECKING:
    Scorer: TypeAlias = Callable[[TripleRows, ModelLoader, Path], list[float]]


SCORERS: dict[str, Scorer] = {
    "commonsense": _compatibility,
    "compatibility": _compatibility,
    "cosine_head_tail": _cosine,
    "relation_rate": _relation_rate,
}
"""Scorers of triples by name: what the metric ``commonsense`` gives a triple it has read (under two
names), and two trivial baselines, of which the last reads no text."""

AREAS = ("AUC", "AUC, mean over relations")


def area(measure: str, scores: Sequence[float], rows: TripleRows) -> Estimate:
    """Return the area under the ROC curve, 0 to 1, with an interval over heads."""
    return roc_areas(
        {measure: scores},
        [float(label) for label in rows.plausible],
        groups=[triple.head for triple in rows.triples],
        strata=None if measure == AREAS[0] else [triple.relation for triple in rows.triples],
    ).areas[measure]
