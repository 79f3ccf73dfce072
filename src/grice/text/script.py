"""Which writing a text is in, as far as the models that ship must know."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

from grice.text.tokens import LATIN_ALPHANUMERIC

LETTERS = 2000
"""Letters looked at: the script of a text shows in its beginning."""
LATIN_END = "\u0250"
"""The first character behind the Latin blocks of Unicode."""


@lru_cache(maxsize=4096)  # every metric asks it of every turn
def unreadable(text: str) -> str | None:
    """Return why a model of English cannot judge a text, or None if it may.

    Told apart are texts without a word and texts in another script; another language in Latin
    letters is not noticed.

    >>> unreadable("Where is it?"), unreadable("..."), unreadable("Где это?")
    (None, 'holds no word', 'is not in Latin letters')
    """
    if text.isascii():
        return None if LATIN_ALPHANUMERIC.search(text) else "holds no word"
    letters = list(islice((c for c in text if c.isalpha()), LETTERS))
    if not letters:
        return None if any(c.isdigit() for c in text) else "holds no word"
    latin = sum(c < LATIN_END for c in letters)
    return None if 2 * latin >= len(letters) else "is not in Latin letters"
