"""The ConTurE part of ACCENT: replies of chatbots, all by machines (setup 1).

One cosine with the turn before gives 0.40 here, above everything in the paper's tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.metrics.commonsense import commonsense
from grice.metrics.commonsense.scorers import scorer_names
from grice_research.accent import accent_rows, read_by_extractor
from grice_research.benches.deco import ABLATIONS, BASELINES, EMBEDDERS, PAPER, SCORERS, WHOLE
from grice_research.replies import (
    Column,
    baseline,
    by_language_models,
    correlations,
    differences,
    judged,
    printed,
    read_replies,
    trivial_columns,
    with_whole,
)
from grice_research.triples import knowledge_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext
    from grice_research.rows import Row

__all__ = ["PAPER", "TITLE", "measure"]

TITLE = "Event commonsense of replies, ConTurE"

SET = "conture_events"
PRINTED = {
    "T5 trained without Pair tuples": 0.08,
    "T5 trained without Single tuples": 0.18,
    "tuple scorer BERT": 0.09,
    "tuple scorer KG-BERT": 0.19,
}
PAPER_FIGURES = {
    "as generated": (WHOLE, {"pearson": 0.21, "spearman": 0.22}),
    "likelihood": ("COMET (neural)", {"spearman": 0.05}),
}
"""Tables 1, 5 and 6."""

OTHERS = {
    "fed_appropriate": {"pearson": -0.09, "spearman": -0.04},
    "fed_understandable": {"pearson": -0.08, "spearman": -0.04},
    "cross_encoder": {"pearson": -0.05, "spearman": -0.09},
    "mlp_regressor": {"pearson": 0.17, "spearman": 0.16},
}
"""The paper's figures of the baselines."""


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield ours, trivial baselines, ablations, each scorer, and the printed figures."""
    replies = read_replies(context, SET)
    whole = judged(context, replies, "commonsense")
    published = {"pearson": 0.21, "spearman": 0.22}
    yield from correlations(whole, replies, "ours", published, WHOLE)

    relevance = Column(
        "relevance",
        [0.5 if v is None else v for v in context.metric_values("relevance", SET)],
        signature=context.grader("relevance")[1]["relevance"],
        why="its training keeps out every text of the set",
    )
    yield from correlations(relevance, replies, "ours")
    trivial = trivial_columns(context, replies, SET)
    trivial.append(Column("number of triples found", whole.counts, signature=whole.signature))
    for column in trivial:
        yield from correlations(column, replies, "baseline")
    yield from differences(whole, [*trivial, relevance], replies)

    for column in with_whole(context, replies):
        yield from correlations(column, replies, "ours")
    for column in by_language_models(context, replies):
        yield from correlations(column, replies, "ours")
    for row, (scope, beside, _) in ABLATIONS.items():
        part = judged(context, replies, row, scope=scope)
        yield from correlations(part, replies, "ours", {"spearman": PRINTED[beside]}, beside)
    default = next(option.default for option in commonsense.options if option.name == "scorer")
    for name in scorer_names():
        if name != default:
            beside, *_ = SCORERS.get(name, ("",))
            other = judged(
                context,
                replies,
                f"commonsense, scorer {name}, triples alone",
                scorer=name,
                relevance_weight=0.0,
                knowledge=knowledge_of(name),
            )
            shown = {"spearman": PRINTED[beside]} if beside else {}
            yield from correlations(other, replies, "ours", shown, beside)
    extracted = read_by_extractor(context, replies)
    yield from accent_rows(context, replies, extracted, PAPER_FIGURES)
    for metric, (beside, _) in BASELINES.items():
        column = baseline(context, replies, SET, metric)
        yield from correlations(column, replies, "baseline", OTHERS.get(metric, {}), beside)
    for name, reference in EMBEDDERS.items():
        row = f"commonsense, scorer cosine, embedder {name}, triples alone"
        other = judged(
            context, replies, row, scorer="cosine", relevance_weight=0.0, embedder=reference
        )
        yield from correlations(other, replies, "ours")
    for table in ("table 1", "table 5", "table 6"):
        yield from printed(table, f"{SET}:events")
