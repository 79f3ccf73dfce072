"""Scoring on engines, and what other tools call."""

from __future__ import annotations

from grice.integrations.engines import ENGINES, Grading, Shard, score_on

__all__ = ["ENGINES", "Grading", "Shard", "score_on"]
