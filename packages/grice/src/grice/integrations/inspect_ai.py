"""A scorer of Inspect: the last reply of a sample, or all of a dialogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.integrations.evaluator import METRICS, Evaluator, of_library

with of_library("inspect-ai", "0.3.285"):
    from inspect_ai.scorer import Score, mean, scorer, stderr

if TYPE_CHECKING:
    from inspect_ai.scorer import Scorer, Target
    from inspect_ai.solver import TaskState


@scorer(metrics={"*": [mean(), stderr()]})  # type: ignore[untyped-decorator]
def grice_scorer(
    metrics: str = METRICS, *, whole: bool = False, models: str | None = None
) -> Scorer:
    """Score the last reply of a sample, or all with ``whole``, by metrics of :class:`Evaluator`.

    The value of a metric that abstains is not a number, which Inspect keeps out of means.
    """
    evaluator = Evaluator(metrics, models=models)

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - no reference is used
        evaluate = evaluator.conversation if whole else evaluator.reply
        evaluations = evaluate(state.messages, str(state.sample_id))
        values = {
            item.metric: float("nan") if item.value is None else item.value for item in evaluations
        }
        return Score(
            value=values,
            answer=state.output.completion,
            explanation="; ".join(f"{item.metric}: {item.reason}" for item in evaluations),
            metadata={"signatures": {item.metric: item.signature for item in evaluations}},
        )

    return score
