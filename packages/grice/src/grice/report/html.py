"""Pages of a comparison and of a meta-evaluation, and the templates of all pages."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import jinja2

from grice.pages import head
from grice.report.svg import WIDTH, Axis, scatter
from grice.text.markdown import as_read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.evaluation.compare import CompareResult
    from grice.evaluation.meta import Block

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
    templates.globals |= {"axis": Axis, "scatter": scatter}
    return templates


def asset(name: str) -> str:
    """Return the text of a file in the folder ``assets``."""
    text = (resources.files(PACKAGE) / "assets" / name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def difference_page(result: CompareResult) -> str:
    """Return the page of a comparison: one file in the style of the report, no script."""
    style = asset("report.css") + asset("difference.css")
    title = f"{result.other} against {result.baseline}"
    template = environment().get_template("difference.html.j2")
    return template.render(result=result, head=head(title, style=style), width=WIDTH)


def evaluation_page(
    blocks: Sequence[Block],
    *,
    title: str,
    command: str,
    made: str,
    shared: Sequence[str],
) -> str:
    """Return the page of a meta-evaluation: one file that asks for nothing else."""
    signatures = [(row.metric, row.signature) for block in blocks for row in block.rows]
    template = environment().get_template("meta.html.j2")
    return template.render(
        title=title,
        command=command,
        made=made,
        shared=shared,
        head=head(title, style=asset("meta.css")),
        blocks=blocks,
        signatures=list(dict.fromkeys(signatures)),
    )
