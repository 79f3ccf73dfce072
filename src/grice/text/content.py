"""The words of a text that say what it is about, and its sentences, each with its place."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from grice.text.tokens import PLAIN_CONTRACTIONS, SENTENCES_WITH_MARKS, WORD_CHARACTER
from grice.text.wordlists import (
    ADVERBS,
    AUXILIARIES,
    BE,
    DEGREES,
    DETERMINERS,
    INDEFINITE,
    NOT_VERBS,
    PREPOSITIONS,
    QUESTIONS,
    THINGS,
)

MOST_SENTENCES = 16
"""Sentences of a text that are looked at: a text of a thousand must not cost a million."""
COMMON = (
    "ah aha alright cool get go got ha haha having hello hey hi hm hmm know like lol nope oh ok "
    "okay one sure thanks think um well wow yeah yep yes"
)
"""Interjections, and verbs of any subject."""
OF_NO_CONTENT = (
    ADVERBS
    | AUXILIARIES
    | BE
    | DEGREES
    | DETERMINERS
    | INDEFINITE
    | NOT_VERBS
    | PREPOSITIONS
    | QUESTIONS
    | THINGS
    | frozenset(COMMON.split())
)


class Stretch(NamedTuple):
    """A stretch of a text: ``text[start:end]``, and what stands there."""

    start: int
    end: int
    text: str


@lru_cache(maxsize=4096)  # a turn stands before many replies
def sentences(text: str) -> tuple[Stretch, ...]:
    """Return the first sixteen sentences that hold a word, without the blanks around them.

    >>> [sentence.text for sentence in sentences("Yes! ... I like tea.")]
    ['Yes!', 'I like tea.']
    """
    matches = (m for m in SENTENCES_WITH_MARKS.finditer(text) if WORD_CHARACTER.search(m[0]))
    return tuple(_without_blanks(m.start(), m[0]) for m in islice(matches, MOST_SENTENCES))


def _without_blanks(start: int, text: str) -> Stretch:
    start += len(text) - len(text.lstrip())
    stripped = text.strip()
    return Stretch(start, start + len(stripped), stripped)


@lru_cache(maxsize=4096)
def content_words(text: str) -> tuple[Stretch, ...]:
    """Return the words of open classes, in lower case.

    >>> [word.text for word in content_words("I don't like the green tea.")]
    ['green', 'tea']
    """
    words = (Stretch(m.start(), m.end(), m[0].lower()) for m in PLAIN_CONTRACTIONS.finditer(text))
    return tuple(
        word
        for word in words
        if word.text not in OF_NO_CONTENT and "'" not in word.text and "’" not in word.text
    )
