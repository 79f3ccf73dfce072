"""Templates of tasks: each module of this package is one template, with its page.

A module declares ``TEMPLATE``; its page is ``pages/NAME.html``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING

from grice_annotate.templates._template import Column, Followed, Judged, Page, Submitted, Template

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Column", "Followed", "Judged", "Page", "Submitted", "Template", "find_templates"]


@cache
def find_templates() -> Mapping[str, Template]:
    """Return all templates by name."""
    modules = (
        import_module(f"{__name__}.{module.name}")
        for module in iter_modules([str(Path(__file__).parent)])
        if not module.name.startswith("_")
    )
    return MappingProxyType({module.TEMPLATE.name: module.TEMPLATE for module in modules})
