"""Better replies from the model that is there: candidates, judged by the metrics."""

from __future__ import annotations

from grice_tasks.steering.blend import Blend
from grice_tasks.steering.rerank import Candidate, Ranked, rerank

__all__ = ["Blend", "Candidate", "Ranked", "rerank"]
