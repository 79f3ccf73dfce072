"""Plausibility of a triple: CSKB Population, and the triples people drew for DECO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.knowledge.protocols import KnowledgeBase
from grice.metrics.commonsense.scorers import mean_score
from grice.records import Triple
from grice.stats import compare_correlations, correlation
from grice_research.language_models.samples import LANGUAGE_MODEL, SHIPS, Place, sampled
from grice_research.replies import read_replies
from grice_research.roc import roc_areas
from grice_research.triples import GENERAL, SCORERS, TripleRows, read_triples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice_research.context import BenchContext
    from grice_research.rows import Row

__all__ = ["rows"]

MODEL = "bundle:knowledge-medium"
COUNT = 300
ON, GOLD = "CSKB Population test, sample", "DECO test, triples of people"
FLOORS = {"prior of the relation": "relation_rate", "cosine of head and tail": "cosine_head_tail"}
SHIPPED = {SHIPS: "compatibility", "ships: bundle:comet, likelihood": "likelihood"}


def rows(context: BenchContext) -> Iterator[Row]:
    """Yield areas on labelled triples, and correlations of people's triples with ratings."""
    yield from _population(context)
    yield from _gold(context)


def _population(context: BenchContext) -> Iterator[Row]:
    whole = read_triples(context.folder, "18 relations")
    labelled = sampled(
        list(zip(whole.triples, whole.plausible, strict=True)), COUNT, lambda row: repr(row[0])
    )
    chosen = TripleRows(*map(tuple, zip(*labelled, strict=True)))
    columns = {LANGUAGE_MODEL: _judged(context, chosen.triples)}
    for name, scorer in {**SHIPPED, **FLOORS}.items():
        columns[name] = SCORERS[scorer](chosen, context.models(), context.folder)
    labels = [float(label) for label in chosen.plausible]
    heads = [triple.head for triple in chosen.triples]
    place = Place(ON, context.models(), MODEL)
    pair = (LANGUAGE_MODEL, SHIPS)
    for measure, strata in (
        ("AUC, mean over relations", [triple.relation for triple in chosen.triples]),
        ("AUC", None),
    ):
        areas = roc_areas(columns, labels, groups=heads, strata=strata, pairs=[pair])
        yield from place.rows(measure, areas.areas, areas.differences[pair])


def _judged(context: BenchContext, triples: Sequence[Triple]) -> list[float]:
    model = context.models().open(MODEL, KnowledgeBase)
    return model.plausibility(
        [Triple(t.head, GENERAL.get(t.relation, t.relation), t.tail) for t in triples]
    )


def _gold(context: BenchContext) -> Iterator[Row]:
    replies = read_replies(context, "deco_test")
    places = [i for i, triples in enumerate(replies.triples) if triples]
    distinct = list(dict.fromkeys(triple for i in places for triple in replies.triples[i]))
    rows_of = TripleRows(tuple(distinct), (True,) * len(distinct))
    scored = {
        LANGUAGE_MODEL: _judged(context, distinct),
        SHIPS: SCORERS["compatibility"](rows_of, context.models(), context.folder),
    }
    columns = {}
    for name, values in scored.items():
        of = dict(zip(distinct, values, strict=True))
        columns[name] = [mean_score([of[triple] for triple in replies.triples[i]]) for i in places]
    columns["number of triples"] = [float(len(replies.triples[i])) for i in places]
    human = [replies.human[i] for i in places]
    gap = compare_correlations(
        {LANGUAGE_MODEL: columns[LANGUAGE_MODEL], SHIPS: columns[SHIPS]},
        human,
        kind="spearman",
        baseline=SHIPS,
    )
    estimates = {
        name: correlation(values, human, kind="spearman", interval="bca")
        for name, values in columns.items()
    }
    place = Place(GOLD, context.models(), MODEL)
    yield from place.rows("spearman", estimates, gap.comparisons[0].difference)
