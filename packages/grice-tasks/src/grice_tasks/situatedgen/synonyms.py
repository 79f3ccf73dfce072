"""Which words mean the same, by the sets of synonyms of WordNet 3.0, as METEOR 1.5 reads them."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from grice.text.lexicon import packaged_text

ENDINGS = (
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
    ("s", ""),
    ("ies", "y"),
    ("es", "e"),
    ("es", ""),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
    ("er", ""),
    ("est", ""),
    ("er", "e"),
    ("est", "e"),
)
"""WordNet's endings and what stands in their place, in its order: the first that gives a known word
is taken."""


class _Table(NamedTuple):
    sets: dict[str, frozenset[int]]
    irregular: dict[str, tuple[str, ...]]


@lru_cache(maxsize=50_000)
def meanings(word: str) -> frozenset[int]:
    """Return the numbers of the sets of synonyms that a word in lower case is in.

    Those of its lemmas count: irregular ones if it has any, else that of its ending.

    >>> bool(meanings("ruled") & meanings("reigned")), bool(meanings("ruled") & meanings("walked"))
    (True, False)
    """
    table = _table()
    lemmas = table.irregular.get(word) or (_lemma(word, table.sets),)
    own = table.sets.get(word, frozenset())
    return own.union(*(table.sets.get(lemma, frozenset()) for lemma in lemmas))


def _lemma(word: str, known: dict[str, frozenset[int]]) -> str:
    tail = "ful" if word.endswith("ful") else ""
    stem = word.removesuffix("ful")
    if stem.endswith("ss") or len(stem) <= 2:
        return ""
    for end, new in ENDINGS:
        if stem.endswith(end) and stem[: len(stem) - len(end)] + new in known:
            return stem[: len(stem) - len(end)] + new + tail
    return ""


@cache
def _table() -> _Table:
    sets: dict[str, set[int]] = {}
    irregular = {}
    for number, line in enumerate(packaged_text("synonyms.txt.gz").split("\n")):
        if line.startswith(" "):
            form, *lemmas = line.split()
            irregular[form] = tuple(lemmas)
        else:
            for word in line.split(" "):
                sets.setdefault(word, set()).add(number)
    return _Table({word: frozenset(numbers) for word, numbers in sets.items()}, irregular)
