"""What the report says about a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from grice.scoring.loaded import ScoreColumn


class MetricPanel(msgspec.Struct, frozen=True):
    """What a reader must know to read a metric's numbers; higher is better.

    Attributes:
        name: Name of the metric, as its scores carry it.
        range: Smallest and largest value it can give; infinite where it has no bound.
        neutral: Value that an abstained score carries.
        judges: Whether it scores single replies or whole conversations.
        signature: What exactly was computed; a score with another signature shows its own.
    """

    name: str
    summary: str
    range: tuple[float, float] = (0.0, 1.0)
    neutral: float = 0.5
    judges: Literal["response", "conversation"] = "response"
    source: str = ""
    signature: str = ""


def panel_of(column: ScoreColumn) -> MetricPanel:
    """Return the panel of the scores of one name."""
    return MetricPanel(
        column.name,
        column.summary,
        (column.low, column.high),
        column.neutral,
        column.judges,
        column.source,
        column.signature,
    )
