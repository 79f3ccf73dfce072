"""Pages and other texts made from templates: their head, policy and filters.

A page is one self-contained file. Its content security policy allows only the styles and scripts
that grice wrote into it, by their hashes; scripts, event handlers, images and forms that come with
a scored text are blocked.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

import jinja2

from grice.report.svg import Axis, scatter
from grice.text.markup import as_read, visible

PACKAGE = "grice.report"
TEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {char: f"\\{char}" for char in "&%$#_{}"}
)
MARKDOWN = str.maketrans({char: f"\\{char}" for char in "\\`*_[]|<>"})


def head(
    title: str, *, style: str, script: str = "", pictures: Sequence[str] = (), connects: str = ""
) -> str:
    """Return the head of a page, from the document type to ``</head>``."""
    asks = f"connect-src {connects}; " if connects else ""
    policy = (
        f"default-src 'none'; style-src {hashes([style, *pictures])}; "
        f"script-src {hashes([script] if script else [])}; {asks}base-uri 'none'; "
        "form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        f'content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n"
    )


def hashes(sources: Sequence[str]) -> str:
    """Return the hashes of styles or scripts in the syntax of the policy."""
    digests = (hashlib.sha256(source.encode()).digest() for source in sources)
    hashes = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return " ".join(dict.fromkeys(hashes)) or "'none'"


def environment() -> jinja2.Environment:
    """Return where the templates are found; every text in those of HTML and XML is escaped."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader(PACKAGE, "assets"),
        autoescape=lambda name: name is None or not name.endswith((".md.j2", ".tex.j2")),
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


def rendered(name: str, **fields: Any) -> str:  # noqa: ANN401 - whatever the template shows
    """Return a template with these fields, its text ending with a line end."""
    templates = environment()
    templates.filters |= {
        "visible": visible,
        "tex": lambda text: text.translate(TEX),
        "cell": lambda text: visible(text).translate(MARKDOWN),
    }
    return templates.get_template(name).render(fields).rstrip("\n") + "\n"
