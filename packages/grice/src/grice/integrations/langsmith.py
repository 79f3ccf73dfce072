"""Evaluators for LangSmith's ``evaluate`` and for openevals, which have one interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grice.errors import InputError
from grice.integrations.evaluator import METRICS, Evaluator


def grice_evaluator(
    metrics: str = METRICS, *, models: str | None = None
) -> Callable[..., list[dict[str, Any]]]:
    """Return an evaluator of ``inputs`` and ``outputs`` by metrics of :class:`Evaluator`.

    Its results have ``key``, ``score`` (None if it abstained), ``comment`` and ``metadata``.
    """
    evaluator = Evaluator(metrics, models=models)

    def grice(inputs: object = None, outputs: object = None, **_: object) -> list[dict[str, Any]]:
        if outputs is None:
            raise InputError("outputs: missing; a reply is needed")
        record = {"run_type": "llm", "id": "run", "inputs": inputs or "", "outputs": outputs}
        return [
            {
                "key": item.metric,
                "score": item.value,
                "comment": item.reason,
                "metadata": {"signature": item.signature},
            }
            for item in evaluator.logged([record], "langsmith")
        ]

    return grice
