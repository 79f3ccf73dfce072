"""Templates, styles and scripts of the pages; see :mod:`grice.pages`."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import jinja2

from grice.pages import head
from grice.report.svg import WIDTH, gap
from grice.text.markdown import as_read

if TYPE_CHECKING:
    from grice.evaluation.compare import CompareResult

PACKAGE = "grice.report"


def environment() -> jinja2.Environment:
    """Return where the templates are found; every text in them is escaped."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader(PACKAGE, "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["as_read"] = as_read
    return templates


def asset(name: str) -> str:
    """Return the text of a file in the folder ``assets``."""
    text = (resources.files(PACKAGE) / "assets" / name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def difference_page(result: CompareResult) -> str:
    """Return the page of a comparison: one file in the style of the report, no script."""
    style = asset("report.css") + asset("difference.css")
    comparisons = ((metric, metric.comparison) for metric in result.metrics)
    return (
        environment()
        .get_template("difference.html.j2")
        .render(
            result=result,
            panels=[(metric, pair and gap(pair.difference)) for metric, pair in comparisons],
            head=head(f"{result.other} against {result.baseline}", style=style),
            width=WIDTH,
        )
    )
