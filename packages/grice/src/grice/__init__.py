"""Scores open-domain dialogue and commonsense text, with the evidence behind each number.

>>> import grice
>>> talk = ["What do you do for a living?", "I teach maths at a school."]
>>> [score] = grice.score(talk, "relevance")
>>> score.status
'ok'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grice.data import (
        Conversation,
        Evidence,
        Finding,
        Judgement,
        Response,
        Score,
        Span,
        Triple,
        Turn,
    )
    from grice.errors import GriceError
    from grice.evaluation.checks import check
    from grice.readers import read
    from grice.report import score_files
    from grice.scoring import load, score

__version__ = "0.3.0"

# Names are imported when they are first used: `import grice` must cost next to nothing.
_HOMES = {
    **dict.fromkeys(("Conversation", "Evidence", "Finding", "Judgement", "Response"), "data"),
    **dict.fromkeys(("Score", "Span", "Triple", "Turn"), "data"),
    **dict.fromkeys(("load", "score"), "scoring"),
    "GriceError": "errors",
    "check": "evaluation.checks",
    "read": "readers",
    "score_files": "report",
}

__all__ = [
    "Conversation", "Evidence", "Finding", "GriceError", "Judgement", "Response", "Score", "Span",
    "Triple", "Turn", "check", "load", "read", "score", "score_files",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'grice' has no attribute {name!r}")
    return getattr(import_module(f"grice.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
