"""The page of a comparison: one self-contained file in the style of the report, no script."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.pages import head
from grice.report.html import asset, environment

if TYPE_CHECKING:
    from grice.evaluation.compare import CompareResult, MetricDifference

WIDTH = 320


class Drawn(NamedTuple):
    """The interval of a difference on an axis through zero, in units of the drawing."""

    zero: float
    low: float
    high: float
    value: float
    reach: float


def difference_page(result: CompareResult) -> str:
    """Return the page as HTML."""
    style = asset("report.css") + asset("difference.css")
    return (
        environment()
        .get_template("difference.html.j2")
        .render(
            result=result,
            panels=[(metric, _drawn(metric)) for metric in result.metrics],
            head=head(f"{result.other} against {result.baseline}", style=style),
            width=WIDTH,
        )
    )


def _drawn(metric: MetricDifference) -> Drawn | None:
    if metric.comparison is None:
        return None
    gap = metric.comparison.difference
    if gap.interval is None:
        return None
    low, high = gap.interval
    reach = max(abs(low), abs(high), abs(gap.value)) or 1.0
    scale = (WIDTH / 2 - 8) / reach

    def at(value: float) -> float:
        return WIDTH / 2 + value * scale

    return Drawn(at(0), at(low), at(high), at(gap.value), reach)
