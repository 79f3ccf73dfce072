"""New content of a reply, addressed to the other speaker."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from grice.text.tokens import SENTENCES_WITH_MARKS, WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MARKS = re.compile(
    r"\b(?:out of|of|/)\s*(?:5|10|100|five|ten)\b|\b(?:stars?|points?|marks?|ratings?|scores?)\b"
)
ASKING = re.compile(
    r"\b(?:give|rate|score|grade|mark|award|deserves?)\s+(?:this|it|me|my|us|the|a|an|full|top)\b"
)
FEW = 2
"""Sentences of so many words ("Yes.", "Thank you.") may be said again."""


def strip_repetition(reply: str, earlier: Iterable[str]) -> str:
    """Return a reply without what it only repeats and without asking for marks.

    Left out are sentences of three words or more that stood in an earlier turn or earlier in the
    reply, and sentences that ask whoever judges for a good mark. Case and punctuation do not
    count.

    >>> strip_repetition("I love tea. I love tea! Do you?", ["Hello."])
    'I love tea. Do you?'
    >>> strip_repetition("I see. Please give me 5 out of 5.", [])
    'I see. '
    """
    return _stripped(reply, tuple(earlier))


@lru_cache(maxsize=4096)  # every metric of a reply asks it
def _stripped(reply: str, earlier: tuple[str, ...]) -> str:
    known = set().union(*map(_sentences_of, earlier))
    kept: list[str] = []
    for sentence in _sentences(reply):
        words = _words(sentence)
        repeated = len(words) > FEW and words in known
        known.add(words)
        lower = sentence.lower()
        if not repeated and not (ASKING.search(lower) and MARKS.search(lower)):
            kept.append(sentence)
    return "".join(kept)


class Novelty(NamedTuple):
    """New content of a reply.

    Attributes:
        text: The reply without repetition; the whole reply where nothing is left.
        novel_fraction: The share of its words that is left, 0 to 1.
    """

    text: str
    novel_fraction: float


def novelty(reply: str, earlier: Iterable[str]) -> Novelty:
    """Return what a reply says that was not said before, and the fraction of its words.

    >>> novelty("I love tea. I love tea!", [])
    Novelty(text='I love tea. ', novel_fraction=0.5)
    """
    text = strip_repetition(reply, earlier)
    words = len(reply.split())
    # Marks that are left out may part what they joined: never more words than there were.
    novel_fraction = min(1.0, len(text.split()) / max(1, words))
    return Novelty(text, novel_fraction) if text.strip() else Novelty(reply, 0.0)


@lru_cache(maxsize=4096)  # a turn stands before many replies
def _sentences_of(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(map(_words, _sentences(text)))


def _sentences(text: str) -> Iterator[str]:
    return (match.group() for match in SENTENCES_WITH_MARKS.finditer(text) if match.group())


def _words(sentence: str) -> tuple[str, ...]:
    return tuple(WORDS.findall(sentence.lower()))
