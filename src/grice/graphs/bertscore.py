"""Likeness of two facts by BERTScore, if the package bert-score is installed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from grice.errors import GriceError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["bert_likeness"]


def bert_likeness() -> Callable[[str, str], float]:
    """Return BERTScore F1 of two facts, as the official script takes it.

    Language ``en``, neither idf nor rescaling. A pair is computed when it is first asked for.


    Raises:
        GriceError: If bert-score is not installed.
    """
    try:
        package = import_module("bert_score")
    except ImportError as error:
        raise GriceError(
            "g_bertscore needs bert-score, which is not installed: pip install bert-score"
        ) from error
    scorer = package.BERTScorer(lang="en")
    known: dict[tuple[str, str], float] = {}

    def alike(predicted: str, gold: str) -> float:
        if (predicted, gold) not in known:
            known[predicted, gold] = float(scorer.score([predicted], [gold])[2][0])
        return known[predicted, gold]

    return alike
