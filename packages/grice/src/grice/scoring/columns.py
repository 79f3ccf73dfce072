"""What is said of the scores of one name, whoever made them: a metric, or a blend of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from grice.metrics.declaration import Judges, Metric


class ScoreColumn(NamedTuple):
    """The scores of one name in a run.

    Attributes:
        name: The metric that each of these scores names.
        summary: The question they answer, one line.
        judges: Whether an item is a ``Response`` or a ``Conversation``.
        low, high: Smallest and largest value; infinite where there is no bound.
        neutral: Value of an abstained score.
        source: Where the method was published.
        signature: What exactly was computed.
    """

    name: str
    summary: str
    judges: Judges
    low: float
    high: float
    neutral: float
    source: str
    signature: str


def column_of(metric: Metric, signature: str) -> ScoreColumn:
    """Return what is said of the scores of a metric."""
    return ScoreColumn(
        metric.name, metric.summary, metric.judges, metric.low, metric.high, metric.neutral,
        metric.source, signature,
    )  # fmt: skip
