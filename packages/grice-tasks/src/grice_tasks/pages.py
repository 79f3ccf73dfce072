"""Self-contained HTML pages from a template, a style and a script in the folder ``assets``."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from grice.report.html import head

if TYPE_CHECKING:
    from collections.abc import Sequence


def render_page(name: str, title: str, *, pictures: Sequence[str] = (), **values: object) -> str:
    """Render a page; every text in it is escaped, and only its own style and script count."""
    style, script = (
        (resources.files("grice_tasks") / "assets" / f"{name}.{end}").read_text("utf-8")
        for end in ("css", "js")
    )
    return template(f"{name}.html.j2").render(
        head=Markup(head(title, style=style, script=script, pictures=pictures)),
        title=title,
        script=Markup(script),
        **values,
    )


@cache
def template(name: str) -> jinja2.Template:
    """Return a template of the folder ``assets``."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grice_tasks", "assets"),
        autoescape=jinja2.select_autoescape(["html.j2", "svg.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["visible"] = visible
    return environment.get_template(name)


def visible(text: str) -> str:
    """Replace control characters, which XML and HTML cannot hold even if escaped."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
