"""Templates, styles and scripts of the pages; see :mod:`grice.pages`."""

from __future__ import annotations

from importlib import resources

import jinja2

from grice.text.markdown import as_read

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
