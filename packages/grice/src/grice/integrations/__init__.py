"""Scoring on distributed engines, and adapters for other tools."""

from __future__ import annotations

from grice.integrations.engines import ENGINES, Grading, Shard, score_on

__all__ = ["ENGINES", "Grading", "Shard", "score_on"]
