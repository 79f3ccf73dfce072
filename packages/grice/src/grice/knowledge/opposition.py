"""Opposite events: by antonyms, and by negation."""

from __future__ import annotations

import re
from functools import cache

from grice.text.lexicon import antonym_table, base_form
from grice.text.wordlists import AUXILIARIES, DETERMINERS, words_of

WORDS = re.compile(r"[a-z]+(?:'t)?")
NEGATIONS = words_of("not no never nobody nothing without cannot hardly nor none neither")
LIGHT = (
    AUXILIARIES
    | DETERMINERS
    | words_of(
        "be get stay become feel keep remain seem look go come make want need like try do have to "
        "personx persony personz person x y z he she they him her his them it that there very too "
        "so more quite really still now again up out at in on of for with and"
    )
)
"""Words without an opposite that matters, and those that two tails may differ in."""


def stance(first: str, second: str) -> int:
    """Return -1 if two tails of a head say opposite things, 1 if one says the other, 0 if neither.

    >>> stance("PersonX gets wet", "stays dry"), stance("PersonX gets wet", "to get wet")
    (-1, 1)
    >>> stance("PersonX doesn't get wet", "gets wet"), stance("gets wet", "gets new shoes")
    (-1, 0)
    """
    (mine, denied), (other, other_denied) = _content(first), _content(second)
    if mine and other and (mine <= other or other <= mine):
        return 1 if denied == other_denied else -1
    for word in sorted(mine - other):
        for opposite in sorted(_antonyms(word) & (other - mine)):
            rest, other_rest = mine - {word}, other - {opposite}
            if rest <= other_rest or other_rest <= rest:
                return -1 if denied == other_denied else 1
    return 0


@cache
def _content(text: str) -> tuple[frozenset[str], bool]:
    """Return the lemmas of the words that matter, and whether they are denied."""
    words = WORDS.findall(text.lower())
    denied = sum(word in NEGATIONS or word.endswith("n't") for word in words) % 2 == 1
    lemmas = {word if word.endswith("n't") else base_form(word) for word in words}
    kept = {word for word in lemmas if not word.endswith("n't")}
    return frozenset(kept - LIGHT - NEGATIONS), denied


@cache
def _antonyms(word: str) -> frozenset[str]:
    table = antonym_table()
    return frozenset(other for kind in "avr" for other in table.get((word, kind), "").split())
