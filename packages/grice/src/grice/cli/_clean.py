"""Text of files on a terminal: it must not steer it."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Return a text with a mark for every character that is not printed, line ends excepted.

    >>> visible("red: \x1b[31m")
    'red: �[31m'
    """
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
