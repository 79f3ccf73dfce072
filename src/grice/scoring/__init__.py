"""Scores conversations: in Python with :func:`score` and :func:`load`, for files with ``run``."""

from __future__ import annotations

from grice.scoring.api import Grader, load, score

__all__ = ["Grader", "load", "score"]
