"""Better replies from the model that is there: candidates, judged by the metrics."""

from __future__ import annotations

from grice.steer.blend import Blend
from grice.steer.rerank import Candidate, Ranked, rerank

__all__ = ["Blend", "Candidate", "Ranked", "rerank"]
