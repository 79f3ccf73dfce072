"""METEOR 1.5 (Denkowski and Lavie 2014) with exact and stem matches.

The published program also matches synonyms and paraphrases from tables that do not ship with
grice: its values are as high or higher.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.errors import GriceError
from grice.situated.captions import caption_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.stats.estimate import Floats

__all__ = ["meteor", "meteor_counts"]

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.20, 0.60, 0.75
"""Tuned for English: recall against precision, steepness and weight of the penalty for scattered
matches, weight of content words."""
STEM = 0.6
"""What a match of stems counts; the same word counts 1."""
FREQUENT = (
    "the of to and in a is that for on with as by at it be are was this have from or an not but "
    "which we has they he i his its been will would were their had one all you who also more there "
    "if can may no other our so what about than when out up into such them some two these only "
    "could should must do must any new said between under her she your my me us 's n't"
)
FUNCTION_WORDS = frozenset(FREQUENT.split())
BEAM = 24
"""Alignments kept at once."""


class _Path(NamedTuple):
    """An alignment of the words read so far: ``-1`` for a word without a partner."""

    weight: int
    chunks: int
    distance: int
    used: frozenset[int]
    partners: tuple[int, ...]


def meteor_counts(output: str, reference: str) -> Floats:
    """Return what METEOR sums over a corpus.

    Returns:
        Shape ``(6,)``: weighted matches of the output's words and of the reference's, weighted
        words of either, chunks (0 if both are the same), matched words.
    """
    mine, other = caption_tokens(output), caption_tokens(reference)
    partners = _align(mine, other)
    pairs = [(i, j) for i, j in enumerate(partners) if j >= 0]
    worth = [1.0 if mine[i] == other[j] else STEM for i, j in pairs]
    chunks = sum(k == 0 or pairs[k - 1] != (i - 1, j - 1) for k, (i, j) in enumerate(pairs))
    if len(pairs) == len(mine) == len(other) and chunks == 1:
        chunks = 0
    return np.array([
        sum(w * _weight(mine[i]) for w, (i, _) in zip(worth, pairs, strict=True)),
        sum(w * _weight(other[j]) for w, (_, j) in zip(worth, pairs, strict=True)),
        sum(map(_weight, mine)), sum(map(_weight, other)), chunks, len(pairs),
    ], np.float64)  # fmt: skip


def meteor(sums: Floats) -> Floats:
    """Return METEOR for each row of summed counts, 0 to 1.

    Args:
        sums: Shape ``(rows, 6)``, see :func:`meteor_counts`.
    """
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
def _align(mine: tuple[str, ...], other: tuple[str, ...]) -> tuple[int, ...]:
    """Return each word's partner: most matches, then fewest chunks, then least displacement."""
    places = _places(other)
    paths = [_Path(0, 0, 0, frozenset(), ())]
    for i, word in enumerate(mine):
        options = places.get(word, ()) or places.get(_stem(word), ())
        paths = [
            *(_step(path, i, -1) for path in paths),
            *(_step(path, i, j) for path in paths for j in options if j not in path.used),
        ]
        paths.sort(key=lambda path: (-path.weight, path.chunks, path.distance))
        del paths[BEAM:]
    return paths[0].partners


def _step(path: _Path, i: int, j: int) -> _Path:
    if j < 0:
        return path._replace(partners=(*path.partners, -1))
    joined = bool(path.partners) and path.partners[-1] >= 0 and path.partners[-1] == j - 1
    return _Path(path.weight + 1, path.chunks + (not joined), path.distance + abs(i - j),
                 path.used | {j}, (*path.partners, j))  # fmt: skip


def _places(tokens: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return where each word stands, and where each stem does, marked by a leading blank."""
    places: dict[str, tuple[int, ...]] = {}
    for j, word in enumerate(tokens):
        places[word] = (*places.get(word, ()), j)
        stem = _stem(word)
        places[stem] = (*places.get(stem, ()), j)
    return places


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return " " + _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    try:
        from nltk.stem.snowball import EnglishStemmer
    except ImportError as error:
        raise GriceError(
            'METEOR needs nltk, which is not installed: pip install "grice[graphs]"'
        ) from error
    stem: Callable[[str], str] = EnglishStemmer().stem
    return stem
