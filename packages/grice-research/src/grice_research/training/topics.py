"""Topics of beliefs, which ExplaGraphs did not release: clusters of their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grice.models.protocols import Vector

TOPICS, ROUNDS = 53, 40  # the number of topics of the train split, and rounds of k-means


def topics(beliefs: Sequence[str], vectors: Sequence[Vector]) -> dict[str, int]:
    """Return the topic of each belief (k-means on unit vectors)."""
    rows, count = np.stack(vectors), min(TOPICS, len(beliefs))
    centres = rows[np.random.default_rng(0).choice(len(rows), count, replace=False)].copy()
    for _ in range(ROUNDS):
        nearest = (rows @ centres.T).argmax(axis=1)
        for cluster in range(count):
            if (nearest == cluster).any():
                centre = rows[nearest == cluster].mean(axis=0)
                centres[cluster] = centre / np.linalg.norm(centre)
    return dict(zip(beliefs, nearest.tolist(), strict=True))
