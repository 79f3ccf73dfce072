"""A few lines of a reply as a person reads it, with the words that evidence points at marked."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from grice.text.markdown import marks
from grice.text.markup import thoughts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

READ = 20_000
"""Characters of a reply that are looked at."""
BEFORE = 60
"""Characters that stand before marked words which do not stand in the beginning."""


class Piece(NamedTuple):
    """A stretch of a snippet, and whether it is marked."""

    text: str
    marked: bool


def snippet(
    text: str, spans: Iterable[tuple[int, int]], most: int, *, as_written: bool = False
) -> list[Piece]:
    """Return at most so many characters of a text, in pieces that are marked or not.

    Thinking and marks of Markdown are left out, and the text is cut between words. Where the
    first marked words stand far behind, it begins shortly before them.

    >>> snippet("Click on **Forgot password** below.", [(9, 28)], 40)
    [Piece(text='Click on ', marked=False), Piece(text='Forgot password', marked=True), \
Piece(text=' below.', marked=False)]
    """
    words = _words(text[:READ], spans, as_written=as_written)
    first = next((i for i, word in enumerate(words) if any(marked for _, marked in word)), 0)
    start = first if sum(len(word) + 1 for word in words[:first]) > most - BEFORE else 0
    room = BEFORE
    while start and room > len(words[start - 1]):
        start -= 1
        room -= len(words[start]) + 1
    signs: list[tuple[str, bool]] = [("…", False)] if start else []
    for place, word in enumerate(words[start:]):
        if signs and len(signs) + len(word) + 1 > most:
            signs.append(("…", False))
            break
        if place:
            # A blank between two marked words is marked with them.
            signs.append((" ", signs[-1][1] and word[0][1]))
        signs += word[:most]
    return [
        Piece("".join(sign for sign, _ in group), marked)
        for marked, group in groupby(signs, key=lambda sign: sign[1])
    ]


def _words(
    text: str, spans: Iterable[tuple[int, int]], *, as_written: bool
) -> list[list[tuple[str, bool]]]:
    """Return the words that are read, each as its signs and whether they are marked."""
    marked = bytearray(len(text))
    for start, end in spans:
        marked[start:end] = b"\1" * len(marked[start:end])
    signs = list(text)
    for start, end in () if as_written else thoughts(text):
        signs[start:end] = [" "] * (end - start)
    for start, end in () if as_written else marks(text):
        signs[start:end] = [""] * (end - start)
    return list(_parted(zip(signs, map(bool, marked), strict=True)))


def _parted(signs: Iterable[tuple[str, bool]]) -> Iterator[list[tuple[str, bool]]]:
    read = (sign for sign in signs if sign[0])
    for blank, word in groupby(read, key=lambda sign: sign[0].isspace()):
        if not blank:
            yield list(word)
