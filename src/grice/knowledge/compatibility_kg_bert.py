"""KG-BERT: a network judges the vector of the whole triple, read as one text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.knowledge.compatibility import checked
from grice.knowledge.triple_networks import judged, together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.compatibility import Sources
    from grice.records import Triple

__all__ = ["compatibility"]


def compatibility(triples: Sequence[Triple], sources: Sources) -> list[float]:
    """Return how probably each triple is a known one and no mismatched one, 0 to 1."""
    checked(triples)
    if not triples:
        return []
    features = together(triples, sources.head.encoder)
    return judged(features, sources, "kg_bert.npz")
