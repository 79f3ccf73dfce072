"""What a reply says that was not said before, and says to the other speaker."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["said_anew"]

SENTENCE = re.compile(r"[^.!?…]*[.!?…]*\s*")
WORDS = re.compile(r"[a-z0-9']+")
MARKS = re.compile(
    r"\b(?:out of|of|/)\s*(?:5|10|100|five|ten)\b|\b(?:stars?|points?|marks?|ratings?|scores?)\b"
)
ASKING = re.compile(
    r"\b(?:give|rate|score|grade|mark|award|deserves?)\s+(?:this|it|me|my|us|the|a|an|full|top)\b"
)
TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
FEW = 2
"""Sentences of so many words ("Yes.", "Thank you.") may be said again."""


def said_anew(reply: str, earlier: Iterable[str]) -> str:
    """Return a reply without what it only repeats, without asking for marks, without markup.

    Left out are sentences of three words or more that stood in an earlier turn or earlier in the
    reply, sentences that ask whoever judges for a good mark, and tags. Case and punctuation do
    not count.

    >>> said_anew("I love tea. I love tea! Do you?", ["Hello."])
    'I love tea. Do you?'
    >>> said_anew("I see. Please give me 5 out of 5.", [])
    'I see. '
    """
    known = {words for text in earlier for words in map(_words, _sentences(text))}
    kept: list[str] = []
    for sentence in _sentences(TAG.sub(" ", reply)):
        words = _words(sentence)
        again = len(words) > FEW and words in known
        known.add(words)
        if not again and not _asks_for_marks(sentence.lower()):
            kept.append(sentence)
    return "".join(kept)


def _sentences(text: str) -> Iterator[str]:
    return (found.group() for found in SENTENCE.finditer(text) if found.group())


def _words(sentence: str) -> tuple[str, ...]:
    return tuple(WORDS.findall(sentence.lower()))


def _asks_for_marks(sentence: str) -> bool:
    return bool(ASKING.search(sentence) and MARKS.search(sentence))
