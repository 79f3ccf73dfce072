"""Coherence and overall quality of the 2,200 conversations of DSTC9."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_research.benches._conversations import Aspect, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext
    from grice_research.rows import Row

TITLE = "Coherence of the conversations of DSTC9"
PAPER = "Gunasekara et al., Overview of DSTC9, 2020; DEAM's figures: Ghazarian et al., ACL 2022"
ASPECTS = (Aspect("coherence", "coherent", 0.19), Aspect("overall", "overall", 0.20))


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield the rows."""
    return rows(context, "dstc9_dialogue", ASPECTS)
