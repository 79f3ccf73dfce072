"""Templates of tasks: each module of this package is one template, with its page.

A module declares the fields of :class:`Template` by functions of their names, ``ABOUT`` and
``OPTIONS``; its page is ``pages/NAME.html``.
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
    names = [each.name for each in iter_modules([str(Path(__file__).parent)])]
    return MappingProxyType({name: _template(name) for name in names if not name.startswith("_")})


def _template(name: str) -> Template:
    declared = vars(import_module(f"{__name__}.{name}"))
    declared = {"name": name, "about": declared["ABOUT"], **declared}
    declared["options"] = declared.get("OPTIONS", frozenset())
    return Template(**{field: declared[field] for field in Template._fields if field in declared})
