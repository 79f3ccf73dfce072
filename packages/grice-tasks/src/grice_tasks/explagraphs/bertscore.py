"""Likeness of two facts by BERTScore, if the package bert-score is installed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from grice.errors import GriceError

if TYPE_CHECKING:
    from collections.abc import Callable


def bert_likeness(
    model: str | None = None, layers: int | None = None
) -> Callable[[str, str], float]:
    """Return BERTScore F1 of two facts, as the official script takes it.

    Neither idf nor rescaling. A pair is computed when it is first asked for.

    Args:
        model: A name the package knows, or a folder of a model of transformers; by default that
            of the language ``en``, as in the official script.
        layers: Which layer's vectors are compared; needed for a folder.
    """
    try:
        package = import_module("bert_score")
    except ImportError as error:
        raise GriceError(
            "g_bertscore needs bert-score, which is not installed: pip install bert-score"
        ) from error
    try:
        scorer = (
            package.BERTScorer(lang="en")
            if model is None
            else package.BERTScorer(model_type=model, num_layers=layers)
        )
    except (AssertionError, KeyError, OSError, ValueError) as error:
        raise GriceError(
            f"bert-score cannot load {model or 'its model for English'}: {error}; a folder needs "
            "the number of the layer too"
        ) from error
    known: dict[tuple[str, str], float] = {}

    def alike(predicted: str, gold: str) -> float:
        if (predicted, gold) not in known:
            f1 = float(scorer.score([predicted], [gold])[2][0])
            known[predicted, gold] = min(1.0, max(0.0, f1))  # rounding may lead beyond 1
        return known[predicted, gold]

    return alike
