"""Fits kernel heads: rows to scale, random features, ridge regression on the classes."""

from __future__ import annotations

import numpy as np

from grice_research.surface import projections, random_features
from grice_tasks.explagraphs.kernel import KernelHead, Scaling

BLOCK = 4096
"""Rows whose features are held at once."""


def scaling(counts: np.ndarray, vectors: np.ndarray, *, share: float, width: float) -> Scaling:
    """Return the scaling under which a median squared distance is ``2 * width``."""
    rows = np.concatenate([counts, vectors], axis=1)
    mean = rows.mean(axis=0)
    spread = np.maximum(rows.std(axis=0), 1e-3)
    part = np.concatenate(
        [
            np.full(counts.shape[1], share / counts.shape[1]),
            np.full(vectors.shape[1], (1 - share) / vectors.shape[1]),
        ]
    )
    # The expected squared distance of a column of unit spread is 2.
    factor = np.sqrt(part * width) / spread
    return Scaling(
        mean.astype(np.float16).astype(np.float32), factor.astype(np.float16).astype(np.float32)
    )


def fit_kernel(
    counts: np.ndarray,
    vectors: np.ndarray,
    labels: np.ndarray,
    *,
    classes: int,
    weights: np.ndarray | None = None,
    share: float = 0.5,
    width: float = 1.0,
    ridge: float = 1.0,
    features: int = 2048,
    seed: int = 0,
) -> KernelHead:
    """Return a head whose scores approach the probabilities of the classes."""
    scale = scaling(counts, vectors, share=share, width=width)
    rows = (np.concatenate([counts, vectors], axis=1) - scale.mean) * scale.factor
    project = projections(rows.shape[1], features, seed)
    w = np.ones(len(rows)) if weights is None else weights
    target = np.eye(classes)[labels]
    bias = (w[:, None] * target).sum(axis=0) / w.sum()
    centre = target - bias
    gram, goal = ridge * np.eye(features), np.zeros((features, classes))
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        made = random_features(rows[part].astype(np.float32), project)
        weighted = made * w[part, None].astype(np.float32)
        gram += made.T @ weighted
        goal += weighted.T @ centre[part]
    weight = np.linalg.solve(gram, goal)
    return KernelHead(scale, weight.astype(np.float32), bias.astype(np.float32), seed=seed)


def scores(head: KernelHead, counts: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the scores of many rows at once, equal to the head's own but for rounding."""
    rows = (np.concatenate([counts, vectors], axis=1) - head.scaling.mean) * head.scaling.factor
    made = random_features(rows.astype(np.float32), head._project)
    return made @ head._weight + head._bias
