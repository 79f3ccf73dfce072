"""A scorer of MLflow for whole sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.json import decode

from grice.integrations.evaluator import METRICS, Evaluator, of_library

with of_library("mlflow", "3.17.2"):
    from mlflow.entities import AssessmentSource, Feedback
    from mlflow.genai.scorers import scorer

if TYPE_CHECKING:
    from mlflow.entities import Trace
    from mlflow.genai.scorers import Scorer


def grice_scorer(metrics: str = METRICS, *, models: str | None = None) -> Scorer:
    """Return a scorer of sessions for ``mlflow.genai.evaluate``, by metrics of :class:`Evaluator`.

    A feedback is the mean of a metric over the replies; None if it abstains.
    """
    evaluator = Evaluator(metrics, models=models)

    @scorer(name="grice")  # type: ignore[untyped-decorator] # has no types
    def grice(session: list[Trace]) -> list[Feedback]:
        traces = [decode(trace.to_json()) for trace in session]
        return [
            Feedback(
                name=item.metric,
                value=item.value,
                rationale=item.reason,
                source=AssessmentSource(source_type="CODE", source_id="grice"),
                metadata={"signature": item.signature},
            )
            for item in evaluator.logged(traces, "mlflow")
        ]

    return grice
