"""Patterns that find the words, tokens and sentences of a text, and where to cut a long one.

Weights of shipped models were learned on the output of most of them, so a pattern never changes: a
reader that needs other words gets a pattern of its own. Patterns that name ``a-z`` are meant for
text in lower case.
"""

from __future__ import annotations

import re

# a-z only
WORDS = re.compile(r"[a-z0-9']+")
CONTRACTED_WORDS = re.compile(r"[a-z0-9]+(?:['’][a-z]+)?")
LETTERS = re.compile(r"[a-z]+")
LATIN_ALPHANUMERIC = re.compile(r"[A-Za-z0-9]")

# letters of any script
WORD_CHARACTER = re.compile(r"\w")
UNICODE_LETTERS = re.compile(r"[^\W\d_]+")
SHORT_FORMS = re.compile(r"[\w']+")
PLAIN_WORDS = re.compile(r"[^\W_]+")
PLAIN_WORDS_AND_NUMBERS = re.compile(
    r"[^\W\d_]*\d+(?:[.,:]\d+)+[^\W_]*|"
    r"[^\W_]+(?:\.[^\W_]+){0,4}\."
    r"(?:com|org|net|edu|io|uk|de|se|fr|eu|py|js|html?|md|txt|pdf|csv|json|ya?ml|toml|docx?|xlsx?)\b|"
    r"[^\W_]+(?:['’][^\W_]+)*"
)
"""Numbers (``4.2M``), versions, domains and names of files are one word."""
WORDS_NUMBERS_AND_MARKS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d[\w.,:]*\w|\d|[^\w\s]")

SENTENCES = re.compile(r"[^.!?]+")
SENTENCES_WITH_MARKS = re.compile(r"[^.!?…]*[.!?…]*\s*")
SENTENCE_END = re.compile(r"[.!?]\s")
BLANK = re.compile(r"\s+")
SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")


def cut_places(text: str, most: int, last: int) -> list[int]:
    """Return where to cut a text, 0 and its end included: behind a sentence, else behind a blank.

    Args:
        most: Characters of a part.
        last: Characters of the last part, at least as many.
    """
    cuts = [0]
    while len(text) - cuts[-1] > last:
        part = text[cuts[-1] : cuts[-1] + most]
        ends = [m.end() for m in SENTENCE_BREAK.finditer(part)]
        ends = ends or [m.end() for m in BLANK.finditer(part)]
        cuts.append(cuts[-1] + (max(ends, default=0) or most))
    return [*cuts, len(text)]
