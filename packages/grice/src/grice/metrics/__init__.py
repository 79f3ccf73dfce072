"""One file per metric. :mod:`grice.metrics.declaration` documents the declaration."""

from __future__ import annotations

from grice.metrics.declaration import Count, Example, Fraction, Metric, Option, metric

__all__ = ["Count", "Example", "Fraction", "Metric", "Option", "metric"]
