"""Relevance of replies, alone and together with engagement, on 600 rated DailyDialog replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.evaluation.datasets import known_sets
from grice.stats.estimate import Estimate
from grice_research.measures import measured
from grice_research.published import load_bench
from grice_research.rated_replies import (
    SETS,
    baseline_rows,
    blended,
    our_rows,
    printed_rows,
    test_row,
)
from grice_research.replication import Verdict, verdict_on
from grice_research.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext

__all__ = ["PAPER", "TITLE", "measure"]

TITLE = "Relevance of replies: the published figures, the released scores and ours"
PAPER = (
    "Ghazarian et al., Better Automatic Evaluation of Open-Domain Dialogue Systems with "
    "Contextualized Embeddings, NeuralGen 2019; Predictive Engagement, AAAI 2020"
)

SYSTEMS = (
    "RUBER",
    "Ctx_RUBER",
    "MLP BERT(mean) + Ctx_RUBER",
    "MLP BERT(max) + Ctx_RUBER",
)
BOTH = ("relevance", "engagement")
WAYS = {"relevance": BOTH[:1], "relevance+engagement": BOTH}
BEST_KNOWN = "best_known"
NO_SYSTEM = ("cosine with", "one judge")
"""Beginnings of the rows of that bench that are trivial baselines and upper bounds."""
OUTCOMES: dict[Verdict, str] = {
    "beside: above": "sets above the best published figure",
    "beside: level": "sets level with the best published figure",
    "beside: below": "sets below the best published figure",
}
ROUNDING = 0.0005
"""Best figures are printed with three decimals."""
OWN = ("predictive_engagement_dd",)
"""Measured in rows of their own."""
RELEVANCE, MEAN = "record:released.ctx_ruber_unref", "MLP BERT(mean) + Ctx_RUBER"
BLEND = "record:released.eng_mean+released.ctx_ruber_unref"


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield printed, recomputed and our figures on generated, human-written and all replies."""
    yield from printed_rows(context, SYSTEMS, tuple(SETS))
    for label in SETS:
        yield from our_rows(context, "relevance", ("relevance",), label, beside="Ctx_RUBER")
        yield from test_row(
            context, "relevance", ("relevance",), label, against=RELEVANCE, called="Ctx_RUBER"
        )
        yield from our_rows(context, "relevance+engagement", BOTH, label, beside=MEAN)
        yield from test_row(
            context, "relevance+engagement", BOTH, label, against=BLEND, called=MEAN
        )
        yield from baseline_rows(context, label)
    yield from _other_sets(context)


def _other_sets(context: BenchContext) -> Iterator[Row]:
    """Yield our figures on the other rated sets, and how many are above the best published."""
    verdicts: dict[str, list[Verdict]] = {name: [] for name in WAYS}
    signatures = {
        way: "+".join(context.grader(metric)[1][metric] for metric in metrics)
        for way, metrics in WAYS.items()
    }
    for on, system, best in _best_published(context):
        name, _, aspect = on.partition(":")
        for way, metrics in WAYS.items():
            values = blended([context.metric_values(metric, name) for metric in metrics])
            estimate = measured("spearman", values, context.rated(name), aspect)
            verdicts[way].append(
                verdict_on(
                    best,
                    estimate.value,
                    (estimate.low, estimate.high),
                    computed="another method",
                    rounding=ROUNDING,
                )
            )
            warned = "; ".join(filter(None, (context.trained(metric, on) for metric in metrics)))
            yield Row(
                row=f"{way} {on}",
                measure="spearman",
                estimate=estimate,
                kind="ours",
                published=best,
                beside=f"{system}, the best published",
                rounding=ROUNDING,
                why=warned,
                signature=f"{signatures[way]}|on:{context.rated(name).fingerprint}",
            )
    for way, each in verdicts.items():
        for verdict, outcome in OUTCOMES.items() if each else ():
            yield Row(
                row=f"{way}, other rated sets",
                measure=outcome,
                estimate=_count(each.count(verdict), len(each)),
                kind="ours",
                why="sets of single replies at hand for which a figure of a metric is published",
                signature=signatures[way],
            )


def _count(count: int, n: int) -> Estimate:
    return Estimate(float(count), None, None, 0.95, n, "a count has no interval")


def _best_published(context: BenchContext) -> Iterator[tuple[str, str, float]]:
    """Yield set and aspect, the best published system and its Spearman correlation."""
    for table in load_bench(BEST_KNOWN).tables:
        [column] = table.columns()
        name = column.on.partition(":")[0]
        known = known_sets().get(name)
        systems = {
            system: cells[0].value
            for system, cells in table.rows().items()
            if cells[0] is not None and not system.startswith(NO_SYSTEM)
        }
        here = known is not None and known.level == "turn" and name not in (*OWN, *context.missing)
        if here and systems and column.measure == "spearman":
            best = max(systems, key=lambda system: systems[system])
            yield column.on, best, systems[best]
