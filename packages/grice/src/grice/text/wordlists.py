"""Lists of English words and patterns by name, from ``data/words.txt`` and ``data/said.txt``.

``+NAME`` in a list stands for the words of another one; a line that begins with ``#`` is a comment.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def packaged_lines(name: str) -> list[str]:
    """Return the lines of a text file of the package's data."""
    return resources.files("grice").joinpath("data", name).read_text("utf-8").splitlines()


@cache
def _lists(file: str = "words.txt") -> dict[str, str]:
    lines = "\n".join(line for line in packaged_lines(file) if not line.startswith("#"))
    named = (block.strip().partition("\n") for block in lines.split("\n\n"))
    return {name: words for name, _, words in named}


@cache
def pattern_of(name: str) -> re.Pattern[str]:
    """Compile a pattern of ``data/said.txt``, whose lines are alternatives."""
    return re.compile("|".join(_lists("said.txt")[name].splitlines()), re.IGNORECASE)


def __getattr__(name: str) -> frozenset[str]:
    if name not in _lists():
        raise AttributeError(f"module {__name__!r} has no list of words {name!r}")
    words = words_of(_lists()[name])
    others = [word for word in words if word.startswith("+")]
    found = words.difference(others).union(*(__getattr__(other[1:]) for other in others))
    globals()[name] = found
    return found
