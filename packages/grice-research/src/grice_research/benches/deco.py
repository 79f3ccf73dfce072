"""DECO test: the metric, and what people's own triples give (ACCENT, setup 1).

Nineteen of the hundred replies are by people, who are rated a point higher than machines: knowing
the writer alone gives 0.294, so that machines' replies are rows of their own. People draw more
triples from replies that make sense, and counting these gives 0.25: whatever reads triples is
also measured given their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_research.replies import Printed, measure_replies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext
    from grice_research.rows import Row

TITLE = "Event commonsense of replies, DECO test"
PAPER = (
    "Ghazarian et al., ACCENT: An Automatic Event Commonsense Evaluation Metric for Open-Domain "
    "Dialogue Systems, Findings of ACL 2023"
)
PRINTED = Printed(
    {"pearson": 0.30, "spearman": 0.30},
    {
        "fed_appropriate": ("FED-appropriate", {"pearson": -0.16, "spearman": -0.10}),
        "fed_understandable": ("FED-understandable", {"pearson": -0.12, "spearman": -0.07}),
        "cross_encoder": ("Cross-encoder (BART)", {"pearson": 0.15, "spearman": 0.15}),
        "mlp_regressor": ("MLP regressor", {"pearson": 0.11, "spearman": 0.01}),
    },
    {"pearson": 0.40, "spearman": 0.42},
)
"""Tables 1 and 11; the paper did not score triples found by search."""


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield ours, the baselines and the printed figures."""
    return measure_replies(context, "deco_test", PRINTED)
