"""Sentences, words and noun lemmas as MATCH reads them.

Words are nltk's Treebank tokens in lower case, lemmas those of WordNet 3.0's nouns, as in nltk.
The published scorer splits sentences by Punkt, whose trained table does not ship with nltk:
:func:`sentences` follows its rules with a list of abbreviations instead.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from grice.errors import InputError, did_you_mean
from grice.text.lexicon import look_up, packaged_text

if TYPE_CHECKING:
    from collections.abc import Sequence


END = re.compile(r"[.?!]+[\"')\]}»”’]*(?=\s)")
LAST = re.compile(r"\S+$")
SHORT = (
    "mr mrs ms dr prof st jr sr vs etc inc ltd co corp gen col lt capt sgt rev hon gov sen rep "
    "mt ft no fig e.g i.e a.m p.m u.s u.k u.n u.s.a u.s.s.r d.c b.c a.d l.a n.y ph.d m.d b.a "
    "jan feb mar apr jun jul aug sep sept oct nov dec approx est dept univ"
)
ABBREVIATIONS = frozenset(SHORT.split())
FIRST = "the there a an in on it he she they this that these those one if"
STARTERS = frozenset(FIRST.split())
NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*")
CHANGES = "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y"
ENDS = [change.split(":") for change in CHANGES.split()]
"""WordNet's endings of plurals and their replacements."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, without blanks around them.

    >>> sentences("Dr. Who left at 5 p.m. yesterday. It rained!")
    ['Dr. Who left at 5 p.m. yesterday.', 'It rained!']
    """
    parts = []
    start = 0
    for end in END.finditer(text):
        following = text[end.end() :].split(maxsplit=1)
        if following and _ends(text[start : end.end()], following[0]):
            parts.append(text[start : end.end()].strip())
            start = end.end()
    parts.append(text[start:].strip())
    return [sentence for sentence in parts if sentence]


def _ends(before: str, following: str) -> bool:
    """Say whether the mark behind ``before`` ends a sentence, given the next word."""
    last_token = LAST.search(before)
    token = last_token[0] if last_token else before
    if not token.endswith("."):
        return True
    word = token.rstrip(".").lower().lstrip("\"'([")
    capital = following[:1].isupper()
    plain = re.sub(r"\W", "", following).lower()
    if not word:
        return capital
    if token.endswith(".."):
        return capital and plain in STARTERS
    if NUMBER.fullmatch(word):
        return not following[:1].islower()
    initial = len(word) == 1 and word.isalpha()
    if not initial and word not in ABBREVIATIONS:
        return True
    # Behind an abbreviation a capital starts a sentence only where the word has none elsewhere.
    common = bool(look_up(plain).readings) and not plain.endswith("s")
    return not initial and "." in word and capital and common


@lru_cache(maxsize=50_000)
def words(sentence: str) -> tuple[str, ...]:
    """Return the words and marks of a sentence in lower case."""
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return tuple(token.lower() for token in NLTKWordTokenizer().tokenize(sentence))


def lemmas(sentence: str) -> tuple[str, ...]:
    """Return the noun lemma of every word of a sentence."""
    return tuple(noun_lemma(word) for word in words(sentence))


@lru_cache(maxsize=50_000)
def noun_lemma(word: str) -> str:
    """Return the shortest noun that a word in lower case can be a form of; else the word."""
    nouns, irregular = _nouns()
    if word in irregular:
        known = [form for form in (word, *irregular[word]) if form in nouns]
        return min(known, key=len) if known else word
    forms = [word, *(word[: len(word) - len(end)] + new for end, new in ENDS if word.endswith(end))]
    known = [form for form in forms if form in nouns]
    return min(known, key=len) if known else word


@cache
def _nouns() -> tuple[frozenset[str], dict[str, tuple[str, ...]]]:
    lines = [line.split(" ") for line in packaged_text("nouns.txt.gz").split("\n")]
    nouns = frozenset(parts[0] for parts in lines if len(parts) == 1)
    return nouns, {parts[0]: tuple(parts[1:]) for parts in lines if len(parts) > 1}


def find_run(run: tuple[str, ...], tokens: tuple[str, ...]) -> int:
    """Return where a run of tokens first stands among others; -1 if nowhere or empty."""
    width = len(run)
    if not width:
        return -1
    for i in range(len(tokens) - width + 1):
        if tokens[i : i + width] == run:
            return i
    return -1


Reading: TypeAlias = Literal["first", "exclusive"]
READINGS: tuple[Reading, ...] = ("first", "exclusive")
"""Reading of a repeated keyword: ``first``, its j-th copy takes the j-th sentence that holds it,
the last one if there are fewer; ``exclusive``, it is right if the sentences that hold it are just
those its copies belong to."""


class Match(msgspec.Struct, frozen=True):
    """MATCH of one output."""

    value: float  # share of keywords in their sentence, in the better order of the two, 0 to 1
    coverage: float  # share of keywords that stand in one of the first two sentences
    missing: tuple[str, ...]  # keywords that stand in neither
    sentences: int  # how many sentences the output has; only the first two are read


def match_keywords(
    output: str, keywords: Sequence[str], belongs: Sequence[int], *, reading: Reading = "first"
) -> Match:
    """Return MATCH of an output under a named reading.

    >>> paper = ["July", "China", "winter", "Australia", "summer", "July"]
    >>> output = "July is summer in Australia. July is winter in China."
    >>> round(match_keywords(output, paper, [0, 0, 1, 1, 0, 1]).value, 2)
    0.67
    """
    if reading not in READINGS:
        raise InputError(f"reading={reading!r}{did_you_mean(reading, READINGS)}")
    if not keywords:
        raise InputError("no keyword to look for")
    if len(keywords) != len(belongs) or not set(belongs) <= {0, 1}:
        places = f"{len(keywords)} keywords with places {list(belongs)}"
        raise InputError(f"{places}: each needs its own, 0 or 1")
    split = sentences(output)
    tokens = [lemmas(sentence) for sentence in (*split, "", "")[:2]]
    runs = [lemmas(keyword) for keyword in keywords]
    holding = {run: tuple(i for i in (0, 1) if find_run(run, tokens[i]) >= 0) for run in set(runs)}
    missing = tuple(word for word, run in zip(keywords, runs, strict=True) if not holding[run])
    right = max(
        _right(runs, [place ^ turned for place in belongs], holding, reading) for turned in (0, 1)
    )
    return Match(right / len(runs), 1 - len(missing) / len(runs), missing, len(split))


Holding: TypeAlias = "dict[tuple[str, ...], tuple[int, ...]]"


def _right(
    runs: Sequence[tuple[str, ...]], belongs: Sequence[int], holding: Holding, reading: Reading
) -> int:
    """Return how many copies are where they belong."""
    wanted: dict[tuple[str, ...], set[int]] = {}
    for run, place in zip(runs, belongs, strict=True):
        wanted.setdefault(run, set()).add(place)
    seen: dict[tuple[str, ...], int] = {}
    right = 0
    for run, place in zip(runs, belongs, strict=True):
        copy = seen.get(run, 0)
        seen[run] = copy + 1
        held = holding[run]
        if reading == "exclusive":
            right += bool(held) and set(held) == wanted[run]
        elif held:
            right += held[min(copy, len(held) - 1)] == place
    return right
