"""How probable the knowledge base itself finds the tail: "COMET (neural)" of ACCENT.

For a generative knowledge base it is ``exp(-loss)`` of the tail given head and relation; for a
stored one, which has no probabilities, what its ``plausibility`` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.knowledge.compatibility import checked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.compatibility import Sources
    from grice.records import Triple

__all__ = ["compatibility"]


def compatibility(triples: Sequence[Triple], sources: Sources) -> list[float]:
    """Return the knowledge base's own plausibility of each triple, 0 to 1."""
    checked(triples)
    return sources.knowledge.plausibility(triples) if triples else []
