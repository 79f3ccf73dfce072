"""Scoring on engines, and what other tools call."""

from __future__ import annotations

from grice.integrations.engines import ENGINES, score_on
from grice.integrations.shards import Grading, Shard

__all__ = ["ENGINES", "Grading", "Shard", "score_on"]
