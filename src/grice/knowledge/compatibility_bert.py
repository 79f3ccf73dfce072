"""BERT: head, relation and tail are read each by itself, one network judges the three vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.knowledge.compatibility import checked
from grice.knowledge.triple_networks import judged, separate

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
    features = separate(triples, sources.head.encoder)
    return judged(features, sources, "bert.npz")
