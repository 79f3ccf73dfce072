"""One file per metric. :mod:`grice.metrics.declaration` says how a metric is declared."""

from __future__ import annotations

from grice.metrics.declaration import Example, Metric, Option, metric

__all__ = ["Example", "Metric", "Option", "metric"]
