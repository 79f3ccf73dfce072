"""Templates of self-contained pages, and their files; see :mod:`grice.pages`."""

from __future__ import annotations

from importlib import resources

import jinja2

__all__ = ["asset", "environment"]


def environment(package: str) -> jinja2.Environment:
    """Return where the templates of a package are found; every text in them is escaped.

    Args:
        package: Its folder ``assets`` holds them.
    """
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package, "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def asset(package: str, name: str) -> str:
    """Return the text of a file in the folder ``assets`` of a package."""
    text = (resources.files(package) / "assets" / name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")
