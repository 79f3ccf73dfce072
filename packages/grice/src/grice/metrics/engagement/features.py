"""What can be counted of a reply and of the turn before it, without any model."""

from __future__ import annotations

from grice.text.tokens import WORDS

SURFACE = (
    "words",
    "letters per word",
    "different words",
    "words of the turn before",
    "words shared with it",
    "asks",
    "is asked",
    "exclaims",
)
"""Names of the numbers, in the order of :func:`surface`."""

COUNTS = ("words", "words of the turn before")
"""Those that count; a network does better with their logarithms."""


def surface(before: str, reply: str) -> tuple[float, ...]:
    """Return the numbers that :data:`SURFACE` names.

    ``different words`` and ``words shared with it`` are shares of the reply's words and of its
    different words, 0 if it has none; the last three are 1 or 0.

    >>> dict(zip(SURFACE, surface("Do you like tea?", "I like tea.")))["words shared with it"]
    0.6666666666666666
    """
    words, words_before = WORDS.findall(reply.lower()), WORDS.findall(before.lower())
    different = set(words)
    return (
        float(len(words)),
        sum(map(len, words)) / max(1, len(words)),
        len(different) / max(1, len(words)),
        float(len(words_before)),
        len(different.intersection(words_before)) / max(1, len(different)),
        float("?" in reply),
        float("?" in before),
        float("!" in reply),
    )
