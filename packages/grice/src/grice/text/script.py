"""Detection of the writing system of a text, as far as the shipped models need it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
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


SCRIPTS = (
    (0x0250, "Latin"), (0x0370, ""), (0x0400, "Greek"), (0x0530, "Cyrillic"),
    (0x0590, "Armenian"), (0x0600, "Hebrew"), (0x0700, "Arabic"), (0x0900, ""),
    (0x0980, "Devanagari"), (0x0A00, "Bengali"), (0x0A80, "Gurmukhi"), (0x0B00, "Gujarati"),
    (0x0B80, ""), (0x0C00, "Tamil"), (0x0C80, "Telugu"), (0x0D00, "Kannada"),
    (0x0D80, "Malayalam"), (0x0E00, ""), (0x0E80, "Thai"), (0x10A0, ""),
    (0x1100, "Georgian"), (0x1200, "Hangul"), (0x1380, "Ethiopic"), (0x1E00, ""),
    (0x1F00, "Latin"), (0x2000, "Greek"), (0x3040, ""), (0x3100, "Kana"), (0x3400, ""),
    (0xA000, "Han"), (0xAC00, ""), (0xD7B0, "Hangul"),
)  # fmt: skip
"""First code point behind each range of Unicode blocks, and the script of its letters."""
_ENDS = tuple(end for end, _ in SCRIPTS)


def scripts(text: str) -> Counter[str]:
    """Count the letters of a text by script; those of rare scripts and symbols are not counted.

    >>> scripts("Ok, \u0433\u0434\u0435?")
    Counter({'Cyrillic': 3, 'Latin': 2})
    """
    letters = islice((c for c in text if c.isalpha()), LETTERS)
    names = (bisect_right(_ENDS, ord(c)) for c in letters)
    found = Counter(SCRIPTS[name][1] for name in names if name < len(SCRIPTS))
    del found[""]
    return found
