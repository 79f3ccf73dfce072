"""The page of a comparison: one self-contained file in the style of the report, no script."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import jinja2

from grice.errors import OutputError
from grice.report.page import _asset, _hash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grice.evaluation.compare import CompareResult, MetricDifference

__all__ = ["write_difference"]

WIDTH = 320


class Drawn(NamedTuple):
    """The interval of a difference on an axis through zero, in units of the drawing."""

    zero: float
    low: float
    high: float
    value: float
    reach: float


def write_difference(path: Path, result: CompareResult) -> None:
    """Write the page; it appears complete or not at all.

    Raises:
        OutputError: If the file cannot be written.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grice.report", "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = _asset("report.css") + _asset("difference.css")
    page = environment.get_template("difference.html.j2").stream(
        result=result,
        panels=list(_panels(result)),
        style=style,
        style_hash=_hash(style),
        width=WIDTH,
    )
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            page.dump(file, encoding="utf-8", errors="replace")
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: the page cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _panels(result: CompareResult) -> Iterator[tuple[MetricDifference, Drawn | None]]:
    for metric in result.metrics:
        yield metric, _drawn(metric)


def _drawn(metric: MetricDifference) -> Drawn | None:
    if metric.comparison is None:
        return None
    gap = metric.comparison.difference
    if gap.low is None or gap.high is None:
        return None
    reach = max(abs(gap.low), abs(gap.high), abs(gap.value)) or 1.0
    scale = (WIDTH / 2 - 8) / reach

    def at(value: float) -> float:
        return WIDTH / 2 + value * scale

    return Drawn(at(0), at(gap.low), at(gap.high), at(gap.value), reach)
