"""BLEU-4, ROUGE-L and CIDEr-D of outputs against one reference each, as pycocoevalcap has them.

ROUGE-2 is :func:`grice_tasks.overlap.rouge_2`, METEOR :mod:`grice_tasks.situatedgen.captions`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.text.lexicon import packaged_text
from grice_tasks.overlap import common_length, count_ngrams, shared
from grice_tasks.situatedgen.words import sentences, words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from grice.stats.inputs import Floats
    from grice_tasks.overlap import Counts


ORDERS = 4
MARKED = "'' ' `` ` -lrb- -rrb- -lcb- -rcb- ( ) [ ] { } . ? ! , : - -- ... ; \" …"
MARKS = frozenset(MARKED.split())  # Tokens that pycocoevalcap drops
LETTERS = re.compile(r"[a-z](?:\.[a-z])+|[a-z]|mr|mrs|dr|st|jr|inc|co")
"""Abbreviations that keep their period."""
TINY, SMALL = 1e-15, 1e-9
BETA = 1.2  # How much more recall counts than precision in ROUGE-L
SIGMA = 6.0  # Width of CIDEr-D's penalty on differing lengths, in bigrams
SCALE = 10.0  # CIDEr-D of a text with itself


@lru_cache(maxsize=50_000)
def caption_tokens(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case without punctuation."""
    tokens = [token for sentence in sentences(text) for token in words(sentence)]
    for i, token in enumerate(tokens[:-1]):
        if tokens[i + 1] == "." and LETTERS.fullmatch(token):
            tokens[i] = token + "."
    return tuple(token for token in tokens if token not in MARKS)


def bleu_counts(output: str, *references: str) -> Floats:
    """Return what BLEU-4 sums over a corpus.

    Of several references each n-gram counts as often as in the one that has it most, and the
    length is that of the reference closest in length.
    """
    mine, others = caption_tokens(output), [caption_tokens(text) for text in references]
    guessed = [max(0, len(mine) - order) for order in range(ORDERS)]
    right = []
    for order in range(1, ORDERS + 1):
        most: Counts = {}
        for other in others:
            for gram, count in _ngrams(other, order).items():
                most[gram] = max(count, most.get(gram, 0))
        right.append(shared(_ngrams(mine, order), most))
    closest = min((abs(len(other) - len(mine)), len(other)) for other in others)[1]
    return np.array([*guessed, *right, len(mine), closest], np.float64)


@lru_cache(maxsize=50_000)
def _ngrams(tokens: tuple[str, ...], order: int) -> Counts:
    return count_ngrams(tokens, order)


def bleu_4(sums: Floats) -> Floats:
    """Return BLEU-4 for each row of summed counts, 0 to 1."""
    ratios = (sums[:, ORDERS : 2 * ORDERS] + TINY) / (sums[:, :ORDERS] + SMALL)
    lengths = (sums[:, -2] + TINY) / (sums[:, -1] + SMALL)
    short = np.where(lengths < 1, 1 - 1 / np.maximum(lengths, TINY), 0.0)
    values: Floats = np.exp(np.log(ratios).mean(axis=1) + np.maximum(short, -700.0))
    return values


def rouge_l(output: str, *references: str) -> float:
    """Return ROUGE-L, 0 to 1; of several references precision and recall are each the best."""
    mine, others = caption_tokens(output), [caption_tokens(text) for text in references]
    both = [common_length(mine, other) for other in others]
    if not any(both):
        return 0.0
    precision = max(both) / len(mine)
    recall = max(length / max(1, len(other)) for length, other in zip(both, others, strict=True))
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


class CiderD:
    """CIDEr-D with the document frequencies of the references of the scored corpus."""

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        self._frequencies: Counter[tuple[str, ...]] = Counter()
        for texts in references:
            tokens = [caption_tokens(text) for text in texts]
            grams = {
                gram for n in range(ORDERS) for each in tokens for gram in _ngrams(each, n + 1)
            }
            self._frequencies.update(grams)
        self._size = math.log(len(references)) if len(references) > 1 else 1.0

    def __call__(self, output: str, *references: str) -> float:
        """Return the value of one output, 0 to 10; the mean over its references."""
        return sum(self._likeness(output, text) for text in references) / len(references)

    def _likeness(self, output: str, reference: str) -> float:
        mine, other = caption_tokens(output), caption_tokens(reference)
        total = 0.0
        for n in range(ORDERS):
            first, second = self._weights(mine, n + 1), self._weights(other, n + 1)
            both = sum(
                min(weight, second[gram]) * second[gram]
                for gram, weight in first.items()
                if gram in second
            )
            norm = math.prod(
                math.sqrt(sum(w * w for w in part.values())) for part in (first, second)
            )
            total += both / norm if norm else both
        apart = max(0, len(mine) - 1) - max(0, len(other) - 1)
        return SCALE * total / ORDERS * math.exp(-(apart**2) / (2 * SIGMA**2))

    def _weights(self, tokens: tuple[str, ...], order: int) -> dict[tuple[str, ...], float]:
        return {
            gram: count * (self._size - math.log(max(1.0, self._frequencies[gram])))
            for gram, count in _ngrams(tokens, order).items()
        }


CHANGES = (
    "s: ses:s xes:x zes:z ches:ch shes:sh men:man ies:y s: ies:y es:e es: ed:e ed: ing:e ing: er: "
    "est: er:e est:e"
)
ENDINGS = [change.split(":") for change in CHANGES.split()]
"""WordNet's endings and their replacements, in its order: the first that gives a known word."""


@lru_cache(maxsize=50_000)
def meanings(word: str) -> frozenset[int]:
    """Return the numbers of the sets of synonyms of a word in lower case and its lemmas."""
    sets, irregular = _synonyms()
    forms = (word, *(irregular.get(word) or (_lemma(word, sets),)))
    return frozenset().union(*(sets.get(form, ()) for form in forms))


def _lemma(word: str, known: Collection[str]) -> str:
    tail = "ful" if word.endswith("ful") else ""
    stem = word.removesuffix("ful")
    if stem.endswith("ss") or len(stem) <= 2:
        return ""
    for end, new in ENDINGS:
        if stem.endswith(end) and stem[: len(stem) - len(end)] + new in known:
            return stem[: len(stem) - len(end)] + new + tail
    return ""


@cache
def _synonyms() -> tuple[dict[str, set[int]], dict[str, tuple[str, ...]]]:
    """Return the sets of synonyms of each word, and the lemmas of irregular forms."""
    sets: dict[str, set[int]] = {}
    irregular = {}
    for number, line in enumerate(packaged_text("synonyms.txt.gz").split("\n")):
        if line.startswith(" "):
            form, *lemmas = line.split()
            irregular[form] = tuple(lemmas)
        else:
            for word in line.split(" "):
                sets.setdefault(word, set()).add(number)
    return sets, irregular


ALPHA, STEEPNESS, GAMMA, DELTA = 0.85, 0.20, 0.60, 0.75
"""Tuned for English: recall against precision, steepness and weight of the penalty for scattered
matches, weight of content words."""
EXACT, STEM, SYNONYM = 1.0, 0.6, 0.8  # Weight of a match of the same word, of stems and of synonyms
FREQUENT = (
    "the of to and a in that for is on 's it with was as said at he by be from have has are his "
    "but an this not i will they who their had we which were been more or s its would about new "
    "one after you also up when there than all out her people she year two can if last first over "
    "other into some what so no time years could 't $ ' - . ,"
)
FUNCTION_WORDS = frozenset(FREQUENT.split())  # The frequent words that METEOR 1.5 lists for English
APART = re.compile(r"([^0-9A-Za-z\u00c0-\u017e\s.'`,-])")
APOSTROPHE = re.compile(r"((?<=[^\W\d_]))?'((?=[^\W\d_]))?")
BEAM = 40  # Alignments kept at once, as published


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

    @property
    def last(self) -> _Match | None:
        """The match of the word before."""
        return self.matches[-1] if self.matches else None


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
    values: Floats = np.nan_to_num(mean) * (1 - GAMMA * scattered**STEEPNESS)
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
        line = APOSTROPHE.sub(
            lambda mark: " '" if mark[1] and mark[2] else " ' ", APART.sub(r" \1 ", token)
        )
        parts = re.sub(r"(?<=\w)-(?=\w)", " ", line).split()
        last = parts[-1] if parts else ""
        if last.endswith(".") and len(last) > 1:
            inner = "." in last[:-1] and any(c.isalpha() for c in last)
            if not inner and not following[:1].islower():
                parts[-1:] = [last[:-1], "."]
        tokens += parts
    return tuple(tokens)


@lru_cache(maxsize=20_000)
def _align(mine: tuple[str, ...], other: tuple[str, ...]) -> tuple[_Match | None, ...]:
    """Return matches of the other's words: most exact ones, fewest chunks, least displacement."""
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
    ended = [path._replace(chunks=path.chunks + (path.last is not None)) for path in paths]
    return min(ended, key=_order).matches


def _order(path: _Path) -> tuple[int, int, int]:
    return -path.exact, path.chunks, path.distance


def _followed(path: _Path, j: int, options: Sequence[_Match], *, sure: bool) -> Iterator[_Path]:
    """Yield a path with each free match of a word, and without one.

    The published program adds a match's displacement to the path it goes out from, so that it
    weighs on later matches of the word and on leaving it apart, and not on the match: so here.
    """
    last, distance = path.last, path.distance
    for match in options:
        if match.place in path.used:
            continue
        apart = abs(match.place - j)
        yield _Path(
            path.exact + (match.worth == EXACT),
            path.chunks + (last is not None and last.place != match.place - 1),
            distance + apart if sure else distance,
            path.used | {match.place},
            (*path.matches, match),
        )
        distance += apart
    if not sure:
        chunks = path.chunks + (last is not None)
        yield path._replace(chunks=chunks, distance=distance, matches=(*path.matches, None))


def _worths(mine: str, other: str) -> tuple[float, ...]:
    """Return what two words count as a match, for each way in which they match."""
    if mine == other:
        return (EXACT,)
    stems = (STEM,) if _stem(mine) == _stem(other) else ()
    return stems if meanings(mine).isdisjoint(meanings(other)) else (*stems, SYNONYM)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    from nltk.stem.snowball import EnglishStemmer

    return str(EnglishStemmer().stem(word))
