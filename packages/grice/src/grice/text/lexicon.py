"""Readings and verb forms of English words, from a table that ships.

The table is made from LemmInflect's by the recipe ``lexicon.build``.
"""

from __future__ import annotations

import gzip
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple


class Word(NamedTuple):
    """Entry of a word in the table; all fields are empty for an unknown word.

    The readings are any of ``n`` noun, ``v`` verb, ``a`` adjective, ``r`` adverb. The usual lemma
    as a verb comes first. Third person and participles are those of a word that is a verb lemma.
    """

    readings: str = ""
    lemmas: tuple[str, ...] = ()
    third: str = ""
    participles: tuple[str, ...] = ()


@lru_cache(maxsize=16384)  # the same words are asked for again and again
def look_up(word: str) -> Word:
    """Return what is known of a word, as it is written."""
    line = _table().get(word)
    if line is None:
        return Word()
    readings, lemmas, third, participles, *_ = *line.split("\t"), "", "", ""
    return Word(readings, _parts(lemmas), third, _parts(participles))


@lru_cache(maxsize=1024)
def begins_word(beginning: str) -> bool:
    """Return whether any word of the table is longer than a beginning that it starts with."""
    longer = (word for word in _table() if word.startswith(beginning))
    return any(len(word) > len(beginning) for word in longer)


def _parts(text: str) -> tuple[str, ...]:
    return tuple(text.split("/")) if text else ()


@cache
def _table() -> dict[str, str]:
    # Lines are taken apart when a word is asked for: a run asks for few of sixty thousand.
    lines = packaged_text("lexicon.tsv.gz").splitlines()
    return dict(line.split("\t", 1) for line in lines if "\t" in line)


def packaged_text(name: str) -> str:
    """Return the text of a packed file of the package's data."""
    return gzip.decompress((resources.files("grice") / "data" / name).read_bytes()).decode()
