"""The ConTurE part of ACCENT: replies of chatbots, all by machines (setup 1).

One cosine with the turn before gives 0.40 here, above everything in the paper's tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_research.benches.deco import PAPER
from grice_research.replies import Printed, measure_replies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext
    from grice_research.rows import Row

__all__ = ["PAPER", "TITLE", "measure"]

TITLE = "Event commonsense of replies, ConTurE"
PRINTED = Printed(
    {"pearson": 0.21, "spearman": 0.22},
    {
        "fed_appropriate": ("FED-appropriate", {"pearson": -0.09, "spearman": -0.04}),
        "fed_understandable": ("FED-understandable", {"pearson": -0.08, "spearman": -0.04}),
        "cross_encoder": ("Cross-encoder (BART)", {"pearson": -0.05, "spearman": -0.09}),
        "mlp_regressor": ("MLP regressor", {"pearson": 0.17, "spearman": 0.16}),
    },
)
"""Table 1."""


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield ours, the baselines and the printed figures."""
    return measure_replies(context, "conture_events", PRINTED)
