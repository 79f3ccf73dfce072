"""CSKB Population: is a triple of commonsense plausible? (ACCENT, setup 3).

How often people find a triple plausible differs much between relations, so that a prior which
reads no text (the row relation_rate) has a high pooled area under the curve. The figure to trust
is the mean over relations weighted by their size, which the authors of the set used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from grice.data import Triple
from grice.knowledge.plausibility import TripleHead
from grice.knowledge.schema import RELATIONS
from grice.knowledge.store import KnowledgeBase
from grice.metrics.commonsense import nearest_known
from grice.models.protocols import Encoder
from grice.stats.estimate import Estimate
from grice_research.benches._turns import table_lines
from grice_research.context import BenchContext, data_digest
from grice_research.figures import Figure, figure
from grice_research.published import printed
from grice_research.roc import roc_areas

TITLE = "Plausibility of commonsense triples, CSKB Population"
PAPER = (
    "Fang et al., Benchmarking Commonsense Knowledge Base Population with an Effective Evaluation "
    "Dataset, EMNLP 2021; figures beside ours from ACCENT, 2023"
)

TEST, DEV = "cskb_population/tst.tsv.gz", "cskb_population/dev.tsv.gz"
SOURCE = (
    "github.com/HKUST-KnowComp/CSKB-Population (MIT): tab-separated head, relation, tail, label"
)
MOST_WORDS = 10  # longer heads and tails are dropped, as the script of ACCENT does

OF_ACCENT = frozenset(RELATIONS)


class TripleRows(NamedTuple):
    """Labelled triples: whether people find them plausible."""

    triples: tuple[Triple, ...]
    plausible: tuple[bool, ...]


def read_triples(folder: Path, aspect: str, *, split: str = TEST) -> TripleRows:
    """Return the triples of the 12 relations of ACCENT, or of all 18."""
    triples, plausible = [], []
    for row in table_lines(folder, split, SOURCE):
        short = max(len(row["head"].split()), len(row["tail"].split())) <= MOST_WORDS
        if short and (aspect == "18 relations" or row["relation"] in OF_ACCENT):
            triples.append(Triple(row["head"], row["relation"], row["tail"]))
            plausible.append(row["label"] == "1")
    return TripleRows(tuple(triples), tuple(plausible))


GENERAL = {"general Want": "xWant", "general Effect": "xEffect", "general React": "xReact"}
"""Relations that say nothing of who wants or feels, and what they are judged as."""


HEADS, ENCODER, STORE = "builtin:plausibility", "builtin:encoder", "builtin:atomic"


def _compatibility(rows: TripleRows, context: BenchContext) -> list[float]:
    models = context.models()
    head = cast("TripleHead", models.load(HEADS))
    store = cast("KnowledgeBase", models.load(STORE))
    encoder = cast("Encoder", models.load(ENCODER))
    triples = [
        Triple(triple.head, GENERAL.get(triple.relation, triple.relation), triple.tail)
        for triple in rows.triples
    ]
    return head.plausibility(triples, nearest_known(triples, store, encoder))


def _cosine(rows: TripleRows, context: BenchContext) -> list[float]:
    encoder = cast("Encoder", context.models().load(ENCODER))
    heads = encoder.encode([triple.head for triple in rows.triples])
    tails = encoder.encode([triple.tail for triple in rows.triples])
    return [float(head @ tail) for head, tail in zip(heads, tails, strict=True)]


def _relation_rate(rows: TripleRows, context: BenchContext) -> list[float]:
    """Return how often the relation of each triple is plausible in the other split."""
    dev = read_triples(context.folder, "18 relations", split=DEV)
    labels = defaultdict(list)
    for triple, label in zip(dev.triples, dev.plausible, strict=True):
        labels[triple.relation].append(label)
    rates = {relation: sum(given) / len(given) for relation, given in labels.items()}
    return [rates.get(triple.relation, 0.5) for triple in rows.triples]


class Scorer(NamedTuple):
    """A scorer of triples, with the models that it rests on."""

    score: Callable[[TripleRows, BenchContext], list[float]]
    models: tuple[str, ...]


SCORERS = {
    "compatibility": Scorer(_compatibility, (HEADS, STORE, ENCODER)),
    "cosine_head_tail": Scorer(_cosine, (ENCODER,)),
    "relation_rate": Scorer(_relation_rate, ()),
}
"""By name: what the metric ``commonsense`` gives a triple it has read, and two trivial baselines,
of which the last reads no text."""
AREAS = ("AUC", "AUC, mean over relations")


def area(measure: str, scores: Sequence[float], rows: TripleRows) -> Estimate:
    """Return the area under the ROC curve, 0 to 1, with an interval over heads."""
    return roc_areas(
        {measure: scores},
        [float(label) for label in rows.plausible],
        groups=[triple.head for triple in rows.triples],
        strata=None if measure == AREAS[0] else [triple.relation for triple in rows.triples],
    ).areas[measure]


MEASURES = {"auc_weighted": AREAS[1], "auc_pooled": AREAS[0]}
ALL = "18 relations"
PARTS = {ALL: "", "12 relations": ", ACCENT's 12 relations"}
BESIDE = "ACCENT"
BASELINES = ("relation_rate", "cosine_head_tail")


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield both areas of ours and of the baselines; the bench accent has the printed rows."""
    rows = read_triples(context.folder, ALL)
    for name in ("compatibility", *BASELINES):
        scorer = SCORERS[name]
        scores = scorer.score(rows, context)
        models = map(context.models().fingerprint, scorer.models)
        fingerprint = "|".join([name, *models, f"on:{data_digest(context.folder, TEST)}"])
        for part, suffix in PARTS.items():
            yield from _areas(name, scores, rows, part, suffix, fingerprint)


def _areas(
    name: str, scores: list[float], rows: TripleRows, part: str, suffix: str, fingerprint: str
) -> Iterator[Figure]:
    places = [i for i, t in enumerate(rows.triples) if part == ALL or t.relation in OF_ACCENT]
    triples, plausible = (tuple(column[i] for i in places) for column in rows)
    chosen = TripleRows(triples, plausible)  # type: ignore[arg-type]
    stated = printed("accent", "table 4")[BESIDE][f"cskb_population:{part}", "AUC"]
    for measure, title in MEASURES.items():
        beside = measure == "auc_pooled" and name not in BASELINES
        yield figure(
            row=f"{name}{suffix}",
            measure=measure,
            estimate=area(title, [scores[i] for i in places], chosen),
            kind="baseline" if name in BASELINES else "ours",
            published=stated if beside else None,
            beside=BESIDE * beside,
            signature=f"{fingerprint}|{part}|measure:{title}",
        )
