"""A metric of Opik for conversation threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.integrations.evaluator import METRICS, Evaluator, of_library

with of_library("opik", "2.2.122"):
    from opik.evaluation.metrics.conversation.conversation_thread_metric import (
        ConversationThreadMetric,
    )
    from opik.evaluation.metrics.score_result import ScoreResult

if TYPE_CHECKING:
    from opik.evaluation.metrics.conversation.types import Conversation


class GriceMetric(ConversationThreadMetric):  # type: ignore[misc] # has no types
    """Metrics of grice over the replies of a thread; ``track`` lets Opik log the evaluation."""

    def __init__(
        self, metrics: str = METRICS, *, models: str | None = None, track: bool = True
    ) -> None:
        super().__init__(name="grice", track=track)
        self._evaluator = Evaluator(metrics, models=models)

    def score(self, conversation: Conversation, **_: Any) -> list[ScoreResult]:  # noqa: ANN401
        """Return a result for each metric; one that abstains is marked as failed to score."""
        return [
            ScoreResult(
                name=item.metric,
                value=item.value or 0.0,
                reason=item.reason,
                scoring_failed=item.value is None,
                metadata={"signature": item.signature},
            )
            for item in self._evaluator.conversation(conversation)
        ]
