"""BERTSAGE: BERT with the mean of what is known about the head and about the tail beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grice.knowledge.compatibility import checked
from grice.knowledge.triple_networks import judged, neighbours, separate

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
    parts = (separate(triples, sources.head.encoder), neighbours(triples, sources))
    features = np.concatenate(parts, axis=1)
    return judged(features, sources, "bert_sage.npz")
