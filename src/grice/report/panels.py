"""What the report says about a metric and about a whole run."""

from __future__ import annotations

from typing import Literal

import msgspec

from grice.records import Status

__all__ = ["MetricPanel", "MetricTotals", "Summary"]


class MetricPanel(msgspec.Struct, frozen=True):
    """What a reader must know to read a metric's numbers; higher is better.

    Attributes:
        name: Name of the metric, as its scores carry it.
        range: Smallest and largest value it can give; infinite where it has no bound.
        neutral: Value that an abstained score carries.
        judges: Whether it scores single replies or whole conversations.
        signature: What exactly was computed; a score with another signature shows its own.
        does_not_see: What was measured of its limits, in one line.
        limits: The same in sentences with figures.
    """

    name: str
    summary: str
    range: tuple[float, float] = (0.0, 1.0)
    neutral: float = 0.5
    judges: Literal["response", "conversation"] = "response"
    source: str = ""
    signature: str = ""
    does_not_see: str = ""
    limits: tuple[str, ...] = ()


class MetricTotals(msgspec.Struct, frozen=True):
    """One metric over a run.

    Attributes:
        mean: Mean over the scores of status ``ok``; None if there are none.
        low: Lower bound of its 95 % interval, clustered by conversation; None if unknown.
        counts: Number of scores by status; a status that is missing counts 0.
    """

    metric: str
    mean: float | None
    low: float | None
    high: float | None
    counts: dict[Status, int]


class Summary(msgspec.Struct, frozen=True):
    """A whole run, as the head of the report states it.

    Attributes:
        metrics: One entry per metric, in any order.
        skipped: Records of the input that could not be used.
        problems: Why, one line each; may be fewer than ``skipped``.
        command: The command line that made the report.
        date: When it was made; None keeps two runs of one command equal byte by byte.
    """

    metrics: tuple[MetricTotals, ...]
    conversations: int
    turns: int
    skipped: int = 0
    problems: tuple[str, ...] = ()
    command: str = ""
    version: str = ""
    date: str | None = None
