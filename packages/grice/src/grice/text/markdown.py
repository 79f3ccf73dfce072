"""The visible text of a turn: without the marks that a rendered page does not show.

Metrics judge the marks with the text, as they did when their figures were recorded; only what is
shown is rid of them. The report's script reads Markdown once more (``markdown.js``), to set it.
"""

from __future__ import annotations

import re
from itertools import chain

from grice.text.markup import thoughts

READ = 20_000
"""Characters of a text in which marks are looked for; what is behind them stays as it is."""

CODE = (
    re.compile(r"^```[^\n]*\n(?P<kept>.*?)(?:^```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL),
    re.compile(r"(?<!`)(`+)(?!`)(?P<kept>[^\n]{0,1000}?[^`\n])\1(?!`)"),
)
LINES = re.compile(
    r"^[ \t]{0,3}(?:#{1,6}[ \t]+|(?:>[ \t]?)+|[-*+][ \t]+(?=\S)|(?:[-*_][ \t]*){3,}$)", re.MULTILINE
)
PAIRS = (
    re.compile(r"!?\[(?P<kept>[^\[\]\n]{1,500})\]\((?:[^()\s]|\([^()\s]{0,200}\)){0,2000}\)"),
    re.compile(r"\*\*(?=\S)(?P<kept>[^\n]{1,1000}?)(?<=\S)\*\*"),
    re.compile(r"(?<!\w)__(?=\S)(?P<kept>[^\n]{1,1000}?)(?<=\S)__(?!\w)"),
    re.compile(r"~~(?=\S)(?P<kept>[^\n]{1,1000}?)(?<=\S)~~"),
    re.compile(r"(?<![\w*])\*(?![\s*])(?P<kept>[^*\n]{1,1000}?)(?<!\s)\*(?![\w*])"),
    re.compile(r"(?<![\w_])_(?![\s_])(?P<kept>[^_\n]{1,1000}?)(?<!\s)_(?![\w_])"),
)
"""A link, strong, strong, struck out, emphasis, emphasis."""


def marks(text: str) -> list[tuple[int, int]]:
    """Return the stretches of a text that are marks of Markdown, in order.

    >>> [("**Click** on `it`"[start:end]) for start, end in marks("**Click** on `it`")]
    ['**', '**', '`', '`']
    """
    text = text[:READ]
    stretches = []
    for pattern in CODE:
        for code in pattern.finditer(text):
            stretches += _around(code)
        # Signs inside code are no marks: placeholders keep their offsets.
        text = pattern.sub(lambda code: "\0" * len(code[0]), text)
    stretches += [line.span() for line in LINES.finditer(text)]
    for pair in chain.from_iterable(pattern.finditer(text) for pattern in PAIRS):
        stretches += _around(pair)
    return sorted(stretches)


def _around(pair: re.Match[str]) -> list[tuple[int, int]]:
    start, end = pair.span("kept")
    return [(pair.start(), start), (end, pair.end())]


def as_read(text: str, start: int = 0, end: int | None = None) -> str:
    """Return a text, or a stretch of it, without thinking and marks of Markdown.

    >>> as_read("<think>Policy 7.</think>Click on **Forgot password**, see [help](https://a.b).")
    ' Click on Forgot password, see help.'
    """
    end = len(text) if end is None else end
    pieces = []
    place = start
    unread = chain(
        ((*mark, "") for mark in marks(text)), ((*thought, " ") for thought in thoughts(text))
    )
    for first, last, shown in sorted(unread):
        if last > place and first < end:
            pieces += [text[place : max(place, first)], shown]
            place = last
    return "".join([*pieces, text[place:end]])
