"""A triplet as a sentence that a dialogue entails or not (task 1)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from grice.knowledge.schema import load_schema
from grice.text.tokens import WORDS_OR_MARKS
from grice.text.verbs import base_form

__all__ = ["Wording", "hypothesis", "lemmatised", "surface_of"]

Wording: TypeAlias = Literal["raw", "lemmatised", "released"]
"""``raw``: spans as they stand. ``lemmatised``: base forms, every word kept, above all negation.
``released``: base forms without spaCy's stop words, which lose "not" in 421 of 452 negated spans;
only the table of the release has it."""


NEGATIONS = {
    "n't": "not",
    "can't": "can not",
    "cannot": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "ain't": "not",
}


def hypothesis(head: str, relation: str, tail: str, *, wording: Wording = "lemmatised") -> str:
    """Return head, the relation's surface form and tail as one sentence.

    >>> hypothesis("missed the bus", "Causes", "wasn't punctual")
    'miss the bus causes be not punctual'
    >>> hypothesis("missed the bus", "NotCauses", "late", wording="raw")
    'missed the bus discourages late'

    Args:
        head: The head span; with ``released`` its released lemma form.
        relation: One of the 31 relations.
        tail: The tail span; likewise.
        wording: How the spans are written.

    Raises:
        InputError: If the relation is unknown.
    """
    sides = [head.strip(), tail.strip()]
    if wording == "lemmatised":
        sides = [lemmatised(side) for side in sides]
    return f"{sides[0]} {surface_of(relation)} {sides[1]}"


def surface_of(relation: str) -> str:
    """Return what stands between head and tail."""
    return load_schema("cider")[relation].surface


def lemmatised(span: str) -> str:
    """Return a span with its verbs and nouns in their base form and no word dropped.

    >>> lemmatised("won't keep you waiting")
    'will not keep you wait'
    """
    return " ".join(_lemma(word) for word in WORDS_OR_MARKS.findall(span)) or span


def _lemma(word: str) -> str:
    lower = word.lower()
    if lower in NEGATIONS:
        return NEGATIONS[lower]
    if lower.endswith("n't"):
        return f"{_lemma(lower.removesuffix(chr(110) + chr(39) + 't'))} not"
    base = base_form(lower) if lower.isalpha() else lower
    return base or lower
