"""A language model in every place, beside what ships there and trivial baselines.

The samples are small, for a reading takes a processor a tenth of a second: an interval that holds
the figure of what ships says that nothing was shown. The figures are of SmolLM2-135M-Instruct
(``model:medium``) in the mode ``fast``; what calibrates it is training data alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_research.benches._turns import missing_model
from grice_research.language_models import (
    coherence,
    extraction,
    graphs,
    judgements,
    keywords,
    links,
    plausibility,
    relevance,
    tails,
)
from grice_research.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext

TITLE = "A language model in every place"
PAPER = "SmolLM2-135M-Instruct (Allal et al., 2025) asked zero-shot, or after a few examples"
PLACES = (
    relevance,
    plausibility,
    extraction,
    tails,
    judgements,
    graphs,
    links,
    keywords,
    coherence,
)


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield the rows of every place."""
    if why := missing_model(context, "likelihood"):
        yield Row(row="language model", measure="all", estimate=None, kind="ours", why=why)
        return
    for place in PLACES:
        yield from place.rows(context)
