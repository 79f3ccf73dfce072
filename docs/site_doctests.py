"""An extension of Griffe: examples in docstrings (``>>>``) are code, not quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Fences every example of a docstring."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Rewrite the docstrings of a package that was read whole."""
        objects: list[griffe.Object | griffe.Alias] = [pkg]
        while objects:
            current = objects.pop()
            objects += [member for member in current.members.values() if not member.is_alias]
            if current.docstring:
                value = current.docstring.value
                current.docstring.value = EXAMPLE.sub(
                    lambda block: f"```pycon\n{block[0]}\n```", value
                )
