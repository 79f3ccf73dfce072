"""METEOR 1.5 (Denkowski and Lavie 2014) with matches of words, stems and synonyms.

The published program also matches phrases by a table of paraphrases that does not ship with grice:
where no paraphrase matches, the values are equal.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grice.text.lexicon import packaged_text
from grice_tasks.situatedgen.captions import caption_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.stats.inputs import Floats

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


ALPHA, BETA, GAMMA, DELTA = 0.85, 0.20, 0.60, 0.75
"""Tuned for English: recall against precision, steepness and weight of the penalty for scattered
matches, weight of content words."""
EXACT, STEM, SYNONYM = 1.0, 0.6, 0.8
"""Weight of a match of the same word, of stems and of synonyms."""
FREQUENT = (
    "the of to and a in that for is on 's it with was as said at he by be from have has are his "
    "but an this not i will they who their had we which were been more or s its would about new "
    "one after you also up when there than all out her people she year two can if last first over "
    "other into some what so no time years could 't $ ' - . ,"
)
FUNCTION_WORDS = frozenset(FREQUENT.split())
"""The frequent words that METEOR 1.5 lists for English."""
APART = re.compile(r"([^0-9A-Za-z\u00c0-\u017e\s.'`,-])")
APOSTROPHE = re.compile(r"((?<=[^\W\d_]))?'((?=[^\W\d_]))?")
BEAM = 40
"""Alignments kept at once, as published."""


class _Match(NamedTuple):
    """A word of the output that a word of the reference may stand beside."""

    place: int
    worth: float


class _Path(NamedTuple):
    """An alignment of the reference's words read so far, a match or None for each.

    Only exact matches count: the published program keeps its sum of worths as an integer, so
    that other ones do not raise it. A chunk counts once it has ended.
    """

    exact: int
    chunks: int
    distance: int
    used: frozenset[int]
    matches: tuple[_Match | None, ...]


def meteor_counts(output: str, reference: str) -> Floats:
    """Return what METEOR sums over a corpus."""
    mine, other = _tokens(output), _tokens(reference)
    pairs = [(match.place, j, match.worth) for j, match in enumerate(_align(mine, other)) if match]
    chunks = sum(
        k == 0 or (pairs[k - 1][0] + 1, pairs[k - 1][1] + 1) != (i, j)
        for k, (i, j, _) in enumerate(pairs)
    )
    if len(pairs) == len(mine) == len(other) and chunks == 1:
        chunks = 0
    return np.array(
        [
            sum(worth * _weight(mine[i]) for i, _, worth in pairs),
            sum(worth * _weight(other[j]) for _, j, worth in pairs),
            sum(map(_weight, mine)),
            sum(map(_weight, other)),
            chunks,
            len(pairs),
        ],
        np.float64,
    )


def meteor(sums: Floats) -> Floats:
    """Return METEOR for each row of summed counts, 0 to 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.nan_to_num(sums[:, 0] / sums[:, 2])
        recall = np.nan_to_num(sums[:, 1] / sums[:, 3])
        mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
        scattered = np.nan_to_num(sums[:, 4] / sums[:, 5])
    values: Floats = np.nan_to_num(mean) * (1 - GAMMA * scattered**BETA)
    return values


def _weight(word: str) -> float:
    return 1 - DELTA if word in FUNCTION_WORDS else DELTA


@lru_cache(maxsize=20_000)
def _tokens(text: str) -> tuple[str, ...]:
    """Return the words as METEOR splits pycocoevalcap's tokens once more: "'s" gives two.

    A period stays with an abbreviation that has another one, and before a small letter.
    """
    tokens: list[str] = []
    given = caption_tokens(text)
    for token, following in zip(given, (*given[1:], ""), strict=False):
        line = APOSTROPHE.sub(_parted, APART.sub(r" \1 ", token))
        parts = re.sub(r"(?<=\w)-(?=\w)", " ", line).split()
        last = parts[-1] if parts else ""
        if last.endswith(".") and len(last) > 1:
            inner = "." in last[:-1] and any(c.isalpha() for c in last)
            if not inner and not following[:1].islower():
                parts[-1:] = [last[:-1], "."]
        tokens += parts
    return tuple(tokens)


def _parted(match: re.Match[str]) -> str:
    return " '" if match[1] and match[2] else " ' "


@lru_cache(maxsize=20_000)
def _align(mine: tuple[str, ...], other: tuple[str, ...]) -> tuple[_Match | None, ...]:
    """Return the match of each of the other's words.

    Most exact matches count first, then fewest chunks, then least displacement.
    """
    options = [
        [_Match(i, worth) for i, own in enumerate(mine) for worth in _worths(own, word)]
        for word in other
    ]
    asked = Counter(match.place for some in options for match in some)
    paths = [_Path(0, 0, 0, frozenset(), ())]
    for j, some in enumerate(options):
        # Two words that match each other and nothing else are never left apart.
        sure = len(some) == 1 and asked[some[0].place] == 1
        paths = [followed for path in paths for followed in _followed(path, j, some, sure=sure)]
        paths.sort(key=_order)
        del paths[BEAM:]
    return min(paths, key=_ended).matches


def _order(path: _Path) -> tuple[int, int, int]:
    return -path.exact, path.chunks, path.distance


def _ended(path: _Path) -> tuple[int, int, int]:
    """Return the order of a path whose last chunk has ended."""
    exact, chunks, distance = _order(path)
    return exact, chunks + (bool(path.matches) and path.matches[-1] is not None), distance


def _followed(path: _Path, j: int, options: Sequence[_Match], *, sure: bool) -> Iterator[_Path]:
    """Yield a path with each free match of a word, and without one.

    The published program adds a match's displacement to the path it goes out from, so that it
    weighs on later matches of the word and on leaving it apart, and not on the match: so here.
    """
    distance = path.distance
    for match in options:
        if match.place in path.used:
            continue
        apart = abs(match.place - j)
        yield _step(path, match, distance + apart if sure else distance)
        distance += apart
    if not sure:
        ended = bool(path.matches) and path.matches[-1] is not None
        yield path._replace(
            chunks=path.chunks + ended, distance=distance, matches=(*path.matches, None)
        )


def _step(path: _Path, match: _Match, distance: int) -> _Path:
    last = path.matches[-1] if path.matches else None
    broken = last is not None and last.place != match.place - 1
    return _Path(
        path.exact + (match.worth == EXACT),
        path.chunks + broken,
        distance,
        path.used | {match.place},
        (*path.matches, match),
    )


def _worths(mine: str, other: str) -> tuple[float, ...]:
    """Return what two words count as a match, for each way in which they match."""
    if mine == other:
        return (EXACT,)
    stems = (STEM,) if _stem(mine) == _stem(other) else ()
    return stems if meanings(mine).isdisjoint(meanings(other)) else (*stems, SYNONYM)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return str(_stemmer().stem(word))


@cache
def _stemmer() -> Any:  # noqa: ANN401 - of another package
    from nltk.stem.snowball import EnglishStemmer

    return EnglishStemmer()
