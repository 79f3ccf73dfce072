"""Intervals, correlations and agreement."""

from __future__ import annotations

from grice.stats.clusters import ClusteredMean, Interval

__all__ = ["ClusteredMean", "Interval"]
