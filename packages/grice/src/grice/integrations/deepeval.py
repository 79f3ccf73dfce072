"""A conversational metric of DeepEval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.integrations.evaluator import Evaluator, of_library

with of_library("deepeval", "4.3.1"):
    from deepeval.metrics import BaseConversationalMetric

if TYPE_CHECKING:
    from deepeval.test_case import ConversationalTestCase


class GriceMetric(BaseConversationalMetric):  # type: ignore[misc] # has no types
    """One metric of grice over the replies of a conversation; a mean below ``threshold`` fails."""

    def __init__(
        self, metric: str = "relevance", threshold: float = 0.5, models: str | None = None
    ) -> None:
        self.metric = metric
        self.threshold = threshold
        self.async_mode = False
        self.include_reason = True
        self._evaluator = Evaluator(metric, threshold, models)

    def measure(self, test_case: ConversationalTestCase, *_: Any, **__: Any) -> float:  # noqa: ANN401
        """Return the mean over the replies of the assistant; 0 where the metric abstained."""
        [evaluation] = self._evaluator.conversation(test_case.turns, test_case.name or "test case")
        self.score = evaluation.value
        self.skipped = evaluation.value is None
        self.success = evaluation.passed is not False
        self.reason = evaluation.reason
        return evaluation.value or 0.0

    async def a_measure(self, test_case: ConversationalTestCase, *_: Any, **__: Any) -> float:  # noqa: ANN401
        """Return the result of :meth:`measure`."""
        return self.measure(test_case)

    def is_successful(self) -> bool:
        """Return whether the last mean reached the threshold; an abstention is no failure."""
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return f"grice {self.metric}"
