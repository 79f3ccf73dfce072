"""Coherence and overall quality of the 125 conversations of FED."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_research.benches._conversations import Aspect, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext
    from grice_research.rows import Row

TITLE = "Coherence of the conversations of FED"
PAPER = "Mehri and Eskenazi, SIGDIAL 2020; DEAM's figures: Ghazarian et al., ACL 2022"
ASPECTS = (Aspect("coherence", "coherent", 0.47), Aspect("overall", "overall", 0.55))


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield the rows."""
    return rows(context, "fed_dialogue", ASPECTS)
