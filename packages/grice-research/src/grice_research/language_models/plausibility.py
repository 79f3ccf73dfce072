"""Plausibility of a triple: CSKB Population, and the triples people drew for DECO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.knowledge.protocols import KnowledgeBase
from grice.metrics.commonsense.scorers import mean_score
from grice.records import Triple
from grice.stats import compare_correlations, correlation
from grice_research.language_models.samples import SHIPS, Place, sampled, sampled_replies
from grice_research.replies import read_replies
from grice_research.roc import roc_areas
from grice_research.triples import GENERAL, SCORERS, TripleRows, read_triples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice_research.context import BenchContext
    from grice_research.language_models.samples import Candidate, Size
    from grice_research.rows import Row

__all__ = ["rows"]

KNOWLEDGE = "knowledge"
COUNTS: dict[Size, int] = {"medium": 300, "large": 150}
REPLIES: dict[Size, int] = {"medium": 100, "large": 40}
"""Of DECO test, with the triples that people drew."""
ON, GOLD = "CSKB Population test, sample", "DECO test, triples of people"
FLOORS = {"prior of the relation": "relation_rate", "cosine of head and tail": "cosine_head_tail"}
SHIPPED = {SHIPS: "compatibility", "ships: bundle:comet, likelihood": "likelihood"}


def rows(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    """Yield areas on labelled triples, and correlations of people's triples with ratings."""
    yield from _population(context, candidate)
    yield from _gold(context, candidate)


def _population(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    whole = read_triples(context.folder, "18 relations")
    labelled = sampled(
        list(zip(whole.triples, whole.plausible, strict=True)),
        COUNTS[candidate.size],
        lambda row: repr(row[0]),
    )
    chosen = TripleRows(*map(tuple, zip(*labelled, strict=True)))
    columns = {candidate.row: _judged(context, candidate, chosen.triples)}
    for name, scorer in {**SHIPPED, **FLOORS}.items():
        columns[name] = SCORERS[scorer](chosen, context.models(), context.folder)
    labels = [float(label) for label in chosen.plausible]
    heads = [triple.head for triple in chosen.triples]
    place = _place(context, candidate, candidate.on(ON))
    pair = (candidate.row, SHIPS)
    for measure, strata in (
        ("AUC, mean over relations", [triple.relation for triple in chosen.triples]),
        ("AUC", None),
    ):
        areas = roc_areas(columns, labels, groups=heads, strata=strata, pairs=[pair])
        yield from place.rows(measure, areas.areas, areas.differences[pair])


def _place(context: BenchContext, candidate: Candidate, on: str) -> Place:
    return Place(on, context.models(), candidate, candidate.bundle(KNOWLEDGE))


def _judged(context: BenchContext, candidate: Candidate, triples: Sequence[Triple]) -> list[float]:
    model = context.models().open(candidate.bundle(KNOWLEDGE), KnowledgeBase)
    return model.plausibility(
        [Triple(t.head, GENERAL.get(t.relation, t.relation), t.tail) for t in triples]
    )


def _gold(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    whole = read_replies(context, "deco_test")
    replies = whole.only(sampled_replies(whole, REPLIES[candidate.size]))
    places = [i for i, triples in enumerate(replies.triples) if triples]
    distinct = list(dict.fromkeys(triple for i in places for triple in replies.triples[i]))
    rows_of = TripleRows(tuple(distinct), (True,) * len(distinct))
    scored = {
        candidate.row: _judged(context, candidate, distinct),
        SHIPS: SCORERS["compatibility"](rows_of, context.models(), context.folder),
    }
    columns = {}
    for name, values in scored.items():
        of = dict(zip(distinct, values, strict=True))
        columns[name] = [mean_score([of[triple] for triple in replies.triples[i]]) for i in places]
    columns["number of triples"] = [float(len(replies.triples[i])) for i in places]
    human = [replies.human[i] for i in places]
    gap = compare_correlations(
        {row: columns[row] for row in (candidate.row, SHIPS)},
        human,
        kind="spearman",
        baseline=SHIPS,
    )
    estimates = {
        name: correlation(values, human, kind="spearman", interval="bca")
        for name, values in columns.items()
    }
    place = _place(context, candidate, candidate.on(GOLD))
    yield from place.rows("spearman", estimates, gap.comparisons[0].difference)
