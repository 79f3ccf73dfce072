"""False replies that begin like a person and go on like a chain of words.

Retrieved negatives are all fluent, so that a head fitted on them alone forgives what generators
do worst: a reply that loses its thread. Each of these keeps the beginning of a reply that somebody
wrote and goes on by word trigrams of the same texts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["babble"]

WORDS = re.compile(r"[\w'’]+|[^\w\s]")
LONGEST = 30
"""Longest reply that is learned from and written, in words."""
SHORT_MEMORY = 0.3
"""How often the next word follows one word only, which breaks the thread."""
END = ""


def babble(replies: Sequence[str], count: int, seed: int) -> list[str]:
    """Return ``count`` texts, each from the beginning of another reply."""
    rng = np.random.default_rng(seed)
    spoken = [words for text in replies if 3 <= len(words := WORDS.findall(text)) <= LONGEST]
    after_two: dict[tuple[str, str], list[str]] = defaultdict(list)
    after_one: dict[str, list[str]] = defaultdict(list)
    for words in spoken:
        for a, b, c in zip(["", *words], words, [*words[1:], END], strict=False):
            after_two[a, b].append(c)
            after_one[b].append(c)
    texts: list[str] = []
    while len(texts) < count:
        words = spoken[int(rng.integers(len(spoken)))]
        written = words[: int(rng.integers(1, len(words) // 2 + 2))]
        begun = len(written)
        while len(written) < LONGEST:
            last = (written[-2] if len(written) > 1 else "", written[-1])
            short = rng.random() < SHORT_MEMORY
            known = after_one[last[1]] if short else after_two.get(last) or after_one[last[1]]
            word = known[int(rng.integers(len(known)))]
            if word == END:
                break
            written.append(word)
        if len(written) > begun + 1:
            texts.append(re.sub(r"\s+([^\w\s])", r"\1", " ".join(written)))
    return texts
