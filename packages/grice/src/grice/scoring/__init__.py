"""Scores conversations: in Python with :func:`score` and :func:`load`, for files with ``run``."""

from __future__ import annotations

from grice.scoring.api import Grader, Settings, load, score
from grice.scoring.arrow import score_table

__all__ = ["Grader", "Settings", "load", "score", "score_table"]
