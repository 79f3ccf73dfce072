"""Relevance of replies, alone and together with engagement, on 600 rated DailyDialog replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.evaluation.rated_replies import SETS, floor_rows, our_rows, printed_rows, test_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.evaluation.rows import Row
    from grice.evaluation.workshop import Workshop

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
RELEVANCE, MEAN = "record:released.ctx_ruber_unref", "MLP BERT(mean) + Ctx_RUBER"
BLEND = "record:released.eng_mean+released.ctx_ruber_unref"


def measure(shop: Workshop) -> Iterator[Row]:
    """Yield printed, recomputed and our figures on generated, human-written and all replies."""
    yield from printed_rows(shop, SYSTEMS, tuple(SETS))
    for label in SETS:
        yield from our_rows(shop, "relevance", ("relevance",), label, beside="Ctx_RUBER")
        yield from test_row(
            shop, "relevance", ("relevance",), label, against=RELEVANCE, called="Ctx_RUBER"
        )
        yield from our_rows(shop, "relevance+engagement", BOTH, label, beside=MEAN)
        yield from test_row(shop, "relevance+engagement", BOTH, label, against=BLEND, called=MEAN)
        yield from floor_rows(shop, label)
