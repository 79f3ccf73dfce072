"""Features of the turns of a conversation: similarity, overlap, repetition, questions, persons.

The networks of :mod:`grice.metrics.coherence.dialogues` read them beside the vectors. All are of
order one; what is not there is zero.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from zlib import crc32

import numpy as np

from grice.text.repetition import strip_repetition
from grice.text.tokens import CONTRACTED_WORDS, SENTENCES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float32]


def bigrams_of(words: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return the places of each two neighbours in the tables: first, second, both."""
    chain = ["<", *words, ">"]
    places = [crc32(word.encode()) for word in chain]
    both = [crc32(f"{a} {b}".encode()) for a, b in pairwise(chain)]
    return [(*two, place) for two, place in zip(pairwise(places), both, strict=True)]


class Bigrams:
    """How much more often two words stand side by side than by chance."""

    def __init__(self, single: Array, double: Array, total: float) -> None:
        self.single, self.double, self.total = single, double, total

    @classmethod
    def load(cls, path: Path) -> Bigrams:
        """Read the tables, whose counts are kept as eighths of their logarithm to base two."""
        with np.load(path, allow_pickle=False) as kept:
            single, double = (
                (2 ** (kept[name].astype(np.float32) / 8) - 1) for name in ("single", "double")
            )
            return cls(single, double, float(kept["total"]))

    def seen(self, places: NDArray[np.int64]) -> Array:
        """Return how often each two neighbours were seen."""
        counts: Array = self.double[places % len(self.double)]
        return counts

    def surprise(self, pairs: Sequence[tuple[int, int, int]]) -> tuple[float, float]:
        """Return the mean association of neighbours, and that of the word that fits worst.

        The association is the logarithm of how much more often two words stand side by side than
        by chance; near zero where too little was seen to tell.
        """
        if not pairs:
            return 0.0, 0.0
        places = np.array(pairs, np.int64)
        first, second = (self.single[places[:, k] % len(self.single)] for k in (0, 1))
        chance = first * second / self.total
        association = np.log((self.seen(places[:, 2]) + 0.5) / (chance + 0.5))
        worst = (
            (association[:-1] + association[1:]).min() if len(association) > 1 else association[0]
        )
        return float(association.mean()), float(worst)


MOST_SENTENCES = 12
"""Sentences of a turn that are compared: a turn of a thousand must not cost a million."""
FEWEST_WORDS = 3
CONTENT = 4
"""Letters of the shortest word that says what a turn is about."""
_DENIAL = re.compile(r"not|never|no|cannot|.*n['’]t")
_LOST = re.compile(
    r"^\W*(?:what|huh|pardon|sorry)\W*\?|what do you mean|(?:makes?|making) no sense|"
    r"n['’]?t (?:make (?:any )?sense|understand|get it)|do not understand|"
    r"not what i (?:said|asked)|i (?:just )?(?:said|asked|told)|already (?:said|asked|told)|"
    r"answer my question|are you (?:a )?(?:bot|robot|human|ok|drunk)|confus|random|nonsense|"
    r"weird|off topic|(?:bot|stupid)\b"
)
"""What people say to a turn that made no sense to them."""
_GREETS = re.compile(
    r"^\W*(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening)|how are you|nice to meet)\b"
)
_CLOSES = re.compile(
    r"\b(?:(?:good ?)?bye|see (?:you|ya)|have a (?:good|great|nice|wonderful|lovely)|take care|"
    r"(?:nice|great|good|lovely) (?:talking|chatting|speaking|chat)|good ?night|farewell|"
    r"(?:talk|speak) to you (?:later|soon))\b"
)
_ANSWERS = re.compile(r"^\W*(?:yes|yeah|yep|yup|no|nope|nah|sure|of course|certainly|not really)\b")
_PERSONS = (
    frozenset(("i", "me", "my", "mine", "myself", "i'm", "i'd", "i'll", "i've")),
    frozenset(("you", "your", "yours", "yourself", "you're", "you'd", "you'll", "you've")),
    frozenset(("he", "him", "his", "she", "her", "hers", "he's", "she's", "himself", "herself")),
    frozenset(("it", "its", "it's", "itself")),
    frozenset(("we", "us", "our", "ours", "we're", "we'd", "we'll", "we've")),
    frozenset(("they", "them", "their", "theirs", "they're", "they'd", "they'll", "they've")),
    frozenset(("the",)),
)
"""Whom a turn speaks of, and "the"."""


class TurnText(NamedTuple):
    """What is read of a text by itself."""

    words: tuple[str, ...]
    content: frozenset[str]
    sentences: tuple[tuple[frozenset[str], bool], ...]
    bigrams: tuple[tuple[int, int, int], ...]
    asks: bool
    lost: bool
    persons: tuple[int, ...]
    greets: bool
    closes: bool
    answers: bool


@lru_cache(maxsize=4096)
def read_turn(text: str) -> TurnText:
    """Return what is read of a text by itself."""
    lower = text.lower()
    words: list[str] = []
    sentences = []
    pairs: list[tuple[int, int, int]] = []
    for part in SENTENCES.findall(lower)[:MOST_SENTENCES]:
        own = CONTRACTED_WORDS.findall(part)
        if not own:
            continue
        words += own
        pairs += bigrams_of(own)
        denials = [word for word in own if _DENIAL.fullmatch(word)]
        rest = frozenset(own).difference(denials)
        if len(rest) >= FEWEST_WORDS:
            sentences.append((rest, bool(denials)))
    content = frozenset(word for word in words if len(word) >= CONTENT)
    lost = bool(_LOST.search(lower))
    straight = [word.replace("’", "'") for word in words]
    persons = tuple(sum(word in forms for word in straight) for forms in _PERSONS)
    return TurnText(
        tuple(words),
        content,
        tuple(sentences),
        tuple(pairs),
        "?" in text,
        lost,
        persons,
        *(bool(pattern.search(lower)) for pattern in (_GREETS, _CLOSES, _ANSWERS)),
    )


AGAIN = 3
"""How many numbers :func:`verbatim_features` gives for a turn."""
NUMBERS = 49
"""How many numbers a turn has."""
SPEAKER = 5
"""How many numbers tell the speakers of a conversation apart."""
OWN, REPEATS, LENGTH, ASKS, ODD = 2, 8, 18, 21, 26
"""Places of some numbers."""


_SOMEBODY = 2


def turn_features(
    vectors: Array, speakers: Sequence[str | int], texts: Sequence[str], bigrams: Bigrams
) -> Array:
    """Return the numbers of each turn, shape ``(turns, NUMBERS)``."""
    turns = [read_turn(text) for text in texts]
    names: dict[str, int] = {}
    sides = np.array([names.setdefault(str(speaker), len(names)) for speaker in speakers])
    cosines = vectors @ vectors.T
    counts = np.array([len(turn.words) for turn in turns], np.float32)
    lengths: Array = (np.log1p(counts) / 3).astype(np.float32)
    asks = np.array([turn.asks for turn in turns], np.float32)
    lost = np.array([turn.lost for turn in turns], np.float32)
    odd = np.array([bigrams.surprise(turn.bigrams) for turn in turns], np.float32)
    columns = (
        *_cosine_columns(cosines, sides),
        *_overlap_columns(turns),
        lengths,
        _later(lengths),
        _sooner(lengths),
        asks,
        _later(asks),
        _sooner(asks),
        lost,
        _sooner(lost),
        odd[:, 0],
        odd[:, 1] / 2,
        np.log1p(np.arange(len(texts), dtype=np.float32)) / 3,
        _sooner(np.ones(len(texts), np.float32)),
        *_said_again(turns, sides).T,
        *_person_columns(turns),
        *_place_columns(turns),
    )
    return np.stack(columns, axis=1, dtype=np.float32)


def _later(values: Array, by: int = 1) -> Array:
    """Return at each turn the value of the turn before it."""
    return np.concatenate([np.zeros(min(by, len(values)), np.float32), values[:-by]])


def _sooner(values: Array) -> Array:
    """Return at each turn the value of the turn after it."""
    return np.concatenate([values[1:], np.zeros(1, np.float32)])


def _cosine_columns(cosines: Array, sides: NDArray[np.int64]) -> list[Array]:
    """Return nine columns: how near a turn is to those around it."""
    count = len(cosines)
    back_one, back_two = (np.zeros(count, np.float32) for _ in range(2))
    back_one[1:], back_two[2:] = np.diagonal(cosines, 1), np.diagonal(cosines, 2)
    earlier = np.tri(count, k=-1, dtype=bool)
    same = sides[:, None] == sides[None, :]
    own = np.where(earlier & same, cosines, 0).max(axis=1)
    other = np.where(earlier & ~same, cosines, 0).max(axis=1)
    far = np.abs(np.arange(count)[:, None] - np.arange(count)[None, :]) > 2
    beyond = np.where(far, cosines, 0)
    mean = beyond.sum(axis=1) / np.maximum(far.sum(axis=1), 1)
    # What is said next beside what was said before: a question asked again.
    again = np.zeros(count, np.float32)
    again[1:-1] = back_two[2:] if count > 2 else 0
    repeated = (own > 0.9).astype(np.float32)
    return [
        back_one * 4,
        back_two * 4,
        own * 4,
        other * 4,
        beyond.max(axis=1) * 4,
        mean * 4,
        _sooner(back_one) * 4,
        again * 4,
        repeated,
    ]


def _overlap_columns(turns: Sequence[TurnText]) -> list[Array]:
    """Return nine columns: how much of what a turn is about stands in other turns."""
    vocabulary: dict[str, int] = {}
    rows = [
        [vocabulary.setdefault(word, len(vocabulary)) for word in sorted(turn.content)]
        for turn in turns
    ]
    count = len(turns)
    held = np.zeros((count, max(1, len(vocabulary))), np.float32)
    for i, places in enumerate(rows):
        held[i, places] = 1
    sizes = np.maximum(held.sum(axis=1), 1)
    share = (held @ held.T) / sizes[:, None]
    np.fill_diagonal(share, 0)
    spread = held.sum(axis=0)
    alone = (held * (spread == 1)).sum(axis=1) / sizes
    before, after, second = (np.zeros(count, np.float32) for _ in range(3))
    before[1:], second[2:] = np.diagonal(share, -1), np.diagonal(share, -2)
    after[:-1] = np.diagonal(share, 1)
    near = np.abs(np.arange(count)[:, None] - np.arange(count)[None, :]) <= 1
    beyond = np.where(near, 0, share).max(axis=1)
    earlier = np.tri(count, k=-1, dtype=bool)
    behind = np.where(earlier, share, 0).max(axis=1)
    ahead = np.where(earlier.T, share, 0).max(axis=1)
    return [
        before * 2,
        second * 2,
        after * 2,
        beyond * 2,
        behind * 2,
        ahead * 2,
        alone,
        np.log1p(sizes) / 3,
        (beyond - np.maximum(before, after)) * 2,
    ]


def _person_columns(turns: Sequence[TurnText]) -> list[Array]:
    """Return ten columns: whom a turn speaks of.

    How often each person and "the" is named; whether the turn before it names the one who speaks or
    the one spoken to; and whether somebody is spoken of of whom nobody spoke before.
    """
    counts = np.array([turn.persons for turn in turns], np.float32)
    named = (np.minimum(counts, 3) / 2).astype(np.float32)
    somebody = counts[:, _SOMEBODY] > 0
    first = somebody & (np.cumsum(somebody) == 1)
    return [*named.T, _later(named[:, 0]), _later(named[:, 1]), first.astype(np.float32)]


def _place_columns(turns: Sequence[TurnText]) -> list[Array]:
    """Return four columns: what stands where it is not said.

    A greeting after the first two turns, a goodbye before the last two; "yes" or "no" after a
    question, and after none.
    """
    places = np.arange(len(turns))
    greets = np.array([turn.greets for turn in turns]) & (places > 1)
    closes = np.array([turn.closes for turn in turns]) & (places < len(turns) - 2)
    answers = np.array([turn.answers for turn in turns])
    asked = _later(np.array([turn.asks for turn in turns], np.float32)) > 0
    columns = (greets, closes, answers & asked, answers & ~asked)
    return [column.astype(np.float32) for column in columns]


def _said_again(turns: Sequence[TurnText], sides: NDArray[np.int64]) -> Array:
    """Return what of each turn was said before, shape ``(turns, 5)``.

    Of the sentence that shares most words with an earlier one: the share, and whether exactly one
    of the two denies; for the speaker's own earlier sentences, then for the others'. Last, how
    many sentences the turn has.
    """
    features = np.zeros((len(turns), 5), np.float32)
    features[:, 4] = np.log1p([len(turn.sentences) for turn in turns])
    places = np.array([i for i, turn in enumerate(turns) for _ in turn.sentences], np.int64)
    if len(places) < 2:
        return features
    sentences = [sentence for turn in turns for sentence in turn.sentences]
    vocabulary: dict[str, int] = {}
    held = np.zeros((len(sentences), sum(len(words) for words, _ in sentences)), np.float32)
    for row, (words, _) in enumerate(sentences):
        held[row, [vocabulary.setdefault(word, len(vocabulary)) for word in sorted(words)]] = 1
    held = held[:, : len(vocabulary)]
    shared = held @ held.T
    sizes = held.sum(axis=1)
    share = shared / (sizes[:, None] + sizes[None, :] - shared)
    denies = np.array([denied for _, denied in sentences])
    earlier = places[None, :] < places[:, None]
    same = sides[places][:, None] == sides[places][None, :]
    for side, chosen in ((0, earlier & same), (2, earlier & ~same)):
        masked = np.where(chosen, share, 0)
        nearest = masked.argmax(axis=1)
        best = masked[np.arange(len(places)), nearest]
        turned = denies != denies[nearest]
        for row in map(int, np.flatnonzero(best > 0)):
            if best[row] > features[places[row], side]:
                features[places[row], side : side + 2] = best[row], turned[row]
    return features * np.array([2, 1, 2, 1, 1], np.float32)


def verbatim_features(speakers: Sequence[str | int], texts: Sequence[str]) -> Array:
    """Return what of each turn counts for nothing, shape ``(turns, AGAIN)``, shares of its words.

    Sentences that its speaker said before, word for word, and that another said before, of three
    words or more; and what asks whoever judges for a good mark, or is said twice in the turn.
    """
    features = np.zeros((len(texts), AGAIN), np.float32)
    known: dict[tuple[str, ...], set[str]] = {}
    for i, (speaker, text) in enumerate(zip(speakers, texts, strict=True)):
        spoken = [
            tuple(CONTRACTED_WORDS.findall(sentence))
            for sentence in SENTENCES.findall(text.lower())
        ]
        count = max(1, sum(map(len, spoken)))
        long = [sentence for sentence in spoken if len(sentence) >= FEWEST_WORDS]
        for sentence in long:
            before = known.get(sentence, set())
            features[i, 0] += len(sentence) * (str(speaker) in before)
            features[i, 1] += len(sentence) * bool(before - {str(speaker)})
        for sentence in long:
            known.setdefault(sentence, set()).add(str(speaker))
        features[i, 2] = max(
            0, count - len(CONTRACTED_WORDS.findall(_without_repetition(text).lower()))
        )
        features[i] /= count
    return features


@lru_cache(maxsize=4096)
def _without_repetition(text: str) -> str:
    return strip_repetition(text, ())


def speaker_features(numbers: Array, speakers: Sequence[str | int]) -> Array:
    """Return what tells speakers apart, shape ``(SPEAKER,)``, from the numbers of the turns.

    Who is who does not count: the lowest or the highest of the speakers' means stands. How much the
    one says who says less, and asks who asks less; how often the one repeats himself who does it
    most, and how near he comes to it; the lowest association of words.
    """
    names = [str(speaker) for speaker in speakers]
    means = np.stack(
        [numbers[[other == name for other in names]].mean(axis=0) for name in dict.fromkeys(names)]
    )
    low, high = means.min(axis=0), means.max(axis=0)
    return np.array([low[LENGTH], low[ASKS], high[REPEATS], high[OWN], low[ODD]], np.float32)
