"""Checks for other people's tests: what every metric must keep, and what it must notice."""

from __future__ import annotations

from grice.testing.conformance import check_metric
from grice.testing.perturbations import broken_pairs, check_prefers_intact

__all__ = ["broken_pairs", "check_metric", "check_prefers_intact"]
