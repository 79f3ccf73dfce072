"""DECO test: the whole metric, its parts, and what people's own triples give (ACCENT, setup 1).

Nineteen of the hundred replies are by people, who are rated a point higher than machines: knowing
the writer alone gives 0.294, so that machines' replies are rows of their own. People draw more
triples from replies that make sense, and counting these gives 0.25: whatever reads triples is
also measured given their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.metrics.commonsense import commonsense
from grice.metrics.commonsense.scorers import scorer_names
from grice_research.accent import accent_rows, read_by_extractor
from grice_research.replies import (
    MIXED,
    Column,
    baseline,
    by_language_models,
    correlations,
    differences,
    gold_columns,
    judged,
    printed,
    read_replies,
    systems,
    trivial_columns,
    with_whole,
)
from grice_research.rows import Row
from grice_research.triples import knowledge_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext

TITLE = "Event commonsense of replies, DECO test"
PAPER = (
    "Ghazarian et al., ACCENT: An Automatic Event Commonsense Evaluation Metric for Open-Domain "
    "Dialogue Systems, Findings of ACL 2023"
)

SET = "deco_test"
ON = f"{SET}:events"
WHOLE_SET = "deco_all"
"""Training part and test: whether scores move as their evidence says needs no ratings."""
BASELINES = {
    "fed_appropriate": ("FED-appropriate", {"pearson": -0.16, "spearman": -0.10}),
    "fed_understandable": ("FED-understandable", {"pearson": -0.12, "spearman": -0.07}),
    "cross_encoder": ("Cross-encoder (BART)", {"pearson": 0.15, "spearman": 0.15}),
    "mlp_regressor": ("MLP regressor", {"pearson": 0.11, "spearman": 0.01}),
}
"""Metrics that are baselines, with the paper's row; it did not score triples found by search."""
EMBEDDERS = {"words": "bundle:words"}
"""Embedders other than the default that the scorer ``cosine`` is measured with."""
WHOLE = "ACCENT whole"
GOLD = "human (gold) tuples", {"pearson": 0.40, "spearman": 0.42}
PAPER_FIGURES = {
    "as generated": (WHOLE, {"pearson": 0.30, "spearman": 0.30}),
    "likelihood": ("COMET (neural)", {"spearman": 0.16}),
}
"""Tables 1, 5 and 6: the cosine is that of the embedder ``Sentence-BERT``."""
GOLD_FIGURES = {
    "as generated": GOLD,
    "likelihood": ("COMET (neural)", {"pearson": 0.14, "spearman": 0.25}),
}
"""Table 11."""
ABLATIONS = {
    "commonsense, without Pair": ("single", "T5 trained without Pair tuples", 0.19),
    "commonsense, without Single": ("pair", "T5 trained without Single tuples", 0.24),
}
SCORERS = {
    "bert": ("tuple scorer BERT", -0.08),
    "kg_bert": ("tuple scorer KG-BERT", 0.13),
}
"""The paper's row of each scorer; the others have none."""


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield ours, trivial baselines, ablations, each scorer, and the printed figures."""
    replies = read_replies(context, SET)
    default = _option("scorer")
    whole = judged(context, replies, "commonsense")
    yield from correlations(whole, replies, "ours", {"pearson": 0.30, "spearman": 0.30}, WHOLE)
    yield from systems(whole, replies)

    trivial = trivial_columns(context, replies, SET)
    trivial.append(Column("number of triples found", whole.counts, signature=whole.signature))
    for column in trivial:
        yield from correlations(column, replies, "baseline")
    yield from differences(whole, trivial, replies)

    for column in with_whole(context, replies):
        yield from correlations(column, replies, "ours")
    for row, (scope, beside, published) in ABLATIONS.items():
        part = judged(context, replies, row, scope=scope)
        yield from correlations(part, replies, "ours", {"spearman": published}, beside)
    for column in by_language_models(context, replies):
        yield from correlations(column, replies, "ours")
    for metric, (beside, shown) in BASELINES.items():
        column = baseline(context, replies, SET, metric)
        yield from correlations(column, replies, "baseline", shown, beside)
    for name, reference in EMBEDDERS.items():
        row = f"commonsense, scorer cosine, embedder {name}, triples alone"
        other = judged(
            context, replies, row, scorer="cosine", relevance_weight=0.0, embedder=reference
        )
        yield from correlations(other, replies, "ours")
    for name in scorer_names():
        if name != default:
            beside, *figure = SCORERS.get(name, ("",))
            other = judged(
                context,
                replies,
                f"commonsense, scorer {name}, triples alone",
                scorer=name,
                relevance_weight=0.0,
                knowledge=knowledge_of(name),
            )
            shown = {"spearman": figure[0]} if figure else {}
            yield from correlations(other, replies, "ours", shown, beside)

    extracted = read_by_extractor(context, replies)
    yield from accent_rows(context, replies, extracted, PAPER_FIGURES)

    counts = [len(triples) for triples in replies.triples]
    number = Column("number of gold tuples", counts, signature=replies.fingerprint)
    yield from correlations(number, replies, "baseline")
    for name in scorer_names():
        if name == "likelihood":
            continue  # one of the ways below
        row = "gold tuples" if name == default else f"gold tuples, scorer {name}"
        for column in gold_columns(context, replies, row, name, share=MIXED):
            beside, figures = GOLD if column.row == "gold tuples" else ("", {})
            yield from correlations(column, replies, "ours", figures, beside)
            if column.row == "gold tuples":
                yield from differences(column, [number], replies)
    yield from accent_rows(context, replies, replies.triples, GOLD_FIGURES, "gold tuples, ")
    for table in ("table 1", "table 5", "table 6"):
        yield from printed(table, ON)
    yield from printed("table 11", f"{SET}, gold tuples:events")


def _option(name: str) -> str:
    return str(next(option.default for option in commonsense.options if option.name == name))
