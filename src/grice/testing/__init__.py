"""Checks for other people's tests: what every metric must keep."""

from __future__ import annotations

from grice.testing.conformance import check_metric

__all__ = ["check_metric"]
