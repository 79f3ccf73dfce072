"""Features of the turns of a conversation, for the model of :mod:`grice.models.dialogue`.

Most are of order one, and zero where there is nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from grice.models.mlp import Mlp
from grice.numeric import Array, Integers, np, unit_rows
from grice.text import cached
from grice.text.content import strip_repetition
from grice.text.tokens import CONTRACTED_WORDS, SENTENCES

MOST_SENTENCES = 12
"""Sentences of a turn that are compared: a turn of a thousand must not cost a million."""
FEWEST_WORDS = 3
CONTENT = 4  # letters of the shortest topic word
_DENIAL = re.compile(r"not|never|no|cannot|.*n['’]t")
_LOST = re.compile(
    r"^\W*(?:what|huh|pardon|sorry)\W*\?|what do you mean|(?:makes?|making) no sense|"
    r"n['’]?t (?:make (?:any )?sense|understand|get it)|do not understand|"
    r"not what i (?:said|asked)|i (?:just )?(?:said|asked|told)|already (?:said|asked|told)|"
    r"answer my question|are you (?:a )?(?:bot|robot|human|ok|drunk)|confus|random|nonsense|"
    r"weird|off topic|(?:bot|stupid)\b"
)
"""Replies to a turn that made no sense."""
_GREETS = re.compile(
    r"^\W*(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening)|how are you|nice to meet)\b"
)
_CLOSES = re.compile(
    r"\b(?:(?:good ?)?bye|see (?:you|ya)|have a (?:good|great|nice|wonderful|lovely)|take care|"
    r"(?:nice|great|good|lovely) (?:talking|chatting|speaking|chat)|good ?night|farewell|"
    r"(?:talk|speak) to you (?:later|soon))\b"
)
_ANSWERS = re.compile(r"^\W*(?:yes|yeah|yep|yup|no|nope|nah|sure|of course|certainly|not really)\b")
_PERSONS = tuple(
    frozenset(forms.split())
    for forms in (
        "i me my mine myself i'm i'd i'll i've",
        "you your yours yourself you're you'd you'll you've",
        "he him his she her hers he's she's himself herself",
        "it its it's itself",
        "we us our ours we're we'd we'll we've",
        "they them their theirs they're they'd they'll they've",
        "the",
    )
)
"""Persons that a turn names, and "the"."""
_SOMEBODY = 2


class Bigrams:
    """Association of neighbouring words: how much more often they occur together than by chance."""

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

    def seen(self, places: Integers) -> Array:
        """Return how often each two neighbours were seen."""
        counts: Array = self.double[places % len(self.double)]
        return counts

    def surprise(self, pairs: Sequence[tuple[int, int, int]]) -> tuple[float, float]:
        """Return the mean association of neighbours, and that of the word that fits worst.

        The association is a log ratio, near zero where too little was seen to tell.
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


def bigrams_of(words: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return the places of each two neighbours in the tables: first, second, both."""
    chain = ["<", *words, ">"]
    places = [crc32(word.encode()) for word in chain]
    both = [crc32(f"{a} {b}".encode()) for a, b in pairwise(chain)]
    return [(*two, place) for two, place in zip(pairwise(places), both, strict=True)]


class TurnText(NamedTuple):
    """Properties of a text by itself; a sentence is its words, and whether it denies."""

    words: tuple[str, ...]
    content: frozenset[str]
    sentences: tuple[tuple[frozenset[str], bool], ...]
    bigrams: tuple[tuple[int, int, int], ...]
    persons: tuple[int, ...]
    asks: bool
    lost: bool
    greets: bool
    closes: bool
    answers: bool


@cached
def read_turn(text: str) -> TurnText:
    """Return the properties of a text."""
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
    straight = [word.replace("’", "'") for word in words]
    return TurnText(
        tuple(words),
        frozenset(word for word in words if len(word) >= CONTENT),
        tuple(sentences),
        tuple(pairs),
        tuple(sum(word in forms for word in straight) for forms in _PERSONS),
        "?" in text,
        *(bool(pattern.search(lower)) for pattern in (_LOST, _GREETS, _CLOSES, _ANSWERS)),
    )


NUMBERS = 47  # features of a turn by :func:`turn_features`
OWN, REPEATS, LENGTH, ASKS, ODD = 2, 8, 18, 21, 26  # columns of some of them


def turn_features(
    vectors: Array, speakers: Sequence[str | int], texts: Sequence[str], bigrams: Bigrams
) -> Array:
    """Return the features of each turn, shape ``(turns, NUMBERS)``."""
    turns = [read_turn(text) for text in texts]
    names: dict[str, int] = {}
    sides = np.array([names.setdefault(str(speaker), len(names)) for speaker in speakers])
    counts = np.array([len(turn.words) for turn in turns], np.float32)
    lengths = (np.log1p(counts) / 3).astype(np.float32)
    asks, lost, greets, closes, answers = np.array([turn[-5:] for turn in turns], np.float32).T
    association, worst = np.array([bigrams.surprise(turn.bigrams) for turn in turns], np.float32).T
    persons = np.array([turn.persons for turn in turns], np.float32)
    named = (np.minimum(persons, 3) / 2).astype(np.float32)
    somebody = persons[:, _SOMEBODY] > 0
    places = np.arange(len(turns))
    asked = _shifted(asks, 1)
    columns = (
        *_cosine_columns(vectors @ vectors.T, sides),  # 0 to 8
        *_overlap_columns(turns),  # 9 to 17
        lengths, _shifted(lengths, 1), _shifted(lengths, -1),
        asks, asked, _shifted(asks, -1),
        lost, _shifted(lost, -1),
        association, worst / 2,
        *_repeated_sentences(turns, sides).T,  # 28 to 32
        *named.T, _shifted(named[:, 0], 1), _shifted(named[:, 1], 1),
        somebody & (np.cumsum(somebody) == 1),  # named for the first time
        greets * (places > 1), closes * (places < len(turns) - 2),  # displaced words
        answers * (asked > 0), answers * (asked == 0),
    )  # fmt: skip
    return np.stack(columns, axis=1, dtype=np.float32)


def _shifted(values: Array, by: int) -> Array:
    """Return at each turn the value of the turn before it (1) or after it (-1)."""
    nothing = np.zeros(1, np.float32)
    return np.concatenate([nothing, values[:-1]] if by == 1 else [values[1:], nothing])


def _beside(matrix: Array, by: int) -> Array:
    """Return the elements ``(i, i + by)`` of a square matrix; 0 beyond it."""
    column = np.zeros(len(matrix), np.float32)
    inside = slice(-by, None) if by < 0 else slice(max(0, len(matrix) - by))
    column[inside] = np.diagonal(matrix, by)
    return column


def _distances(count: int) -> Integers:
    apart: Integers = np.abs(np.arange(count)[:, None] - np.arange(count)[None, :])
    return apart


def _cosine_columns(cosines: Array, sides: Integers) -> list[Array]:
    """Return nine columns: cosines of a turn with those around it.

    The turn before it, the one before that, the nearest earlier turns of its speaker and of others,
    the nearest and the mean of those further off, the turn after it, the turns before and after it
    with each other (a question asked again), and whether its speaker said nearly the same.
    """
    count = len(cosines)
    back_one, back_two = _beside(cosines.T, -1), _beside(cosines.T, -2)
    earlier = np.tri(count, k=-1, dtype=bool)
    same = sides[:, None] == sides[None, :]
    own = np.where(earlier & same, cosines, 0).max(axis=1)
    other = np.where(earlier & ~same, cosines, 0).max(axis=1)
    far = _distances(count) > 2
    beyond = np.where(far, cosines, 0)
    average = beyond.sum(axis=1) / np.maximum(far.sum(axis=1), 1)
    around = (_shifted(back_one, -1), _shifted(back_two, -1))
    near = (back_one, back_two, own, other, beyond.max(axis=1), average, *around)
    return [*(column * 4 for column in near), (own > 0.9).astype(np.float32)]


def _held_words(texts: Sequence[frozenset[str]]) -> Array:
    """Return 1 for the words that each text holds, else 0, shape ``(texts, words)``."""
    places = {word: i for i, word in enumerate(frozenset().union(*texts))}
    held = np.zeros((len(texts), max(1, len(places))), np.float32)
    for row, words in enumerate(texts):
        held[row, [places[word] for word in words]] = 1
    return held


def _overlap_columns(turns: Sequence[TurnText]) -> list[Array]:
    """Return nine columns: the share of a turn's content words in other turns.

    The turn before it, the one before that, the turn after it, the others, any earlier and any
    later one; words in no other turn; the number of its words; others less neighbours.
    """
    count = len(turns)
    held = _held_words([turn.content for turn in turns])
    sizes = np.maximum(held.sum(axis=1), 1)
    share = (held @ held.T) / sizes[:, None]
    np.fill_diagonal(share, 0)
    alone = (held * (held.sum(axis=0) == 1)).sum(axis=1) / sizes
    before, second, after = (_beside(share, by) for by in (-1, -2, 1))
    beyond = np.where(_distances(count) <= 1, 0, share).max(axis=1)
    earlier = np.tri(count, k=-1, dtype=bool)
    behind, ahead = (np.where(side, share, 0).max(axis=1) for side in (earlier, earlier.T))
    shares = (before, second, after, beyond, behind, ahead)
    others = (beyond - np.maximum(before, after)) * 2
    return [*(column * 2 for column in shares), alone, np.log1p(sizes) / 3, others]


def _repeated_sentences(turns: Sequence[TurnText], sides: Integers) -> Array:
    """Return the overlap of a turn's sentences with earlier ones, shape ``(turns, 5)``.

    Of the sentence that shares most words with an earlier one: the share, and whether exactly one
    of the two denies; for the speaker's own earlier sentences, then for the others'. Last, the
    number of its sentences.
    """
    features = np.zeros((len(turns), 5), np.float32)
    features[:, 4] = np.log1p([len(turn.sentences) for turn in turns])
    places = np.array([i for i, turn in enumerate(turns) for _ in turn.sentences], np.int64)
    if len(places) < 2:
        return features
    sentences = [sentence for turn in turns for sentence in turn.sentences]
    held = _held_words([words for words, _ in sentences])
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


AGAIN = 3  # features of a turn by :func:`verbatim_features`


def verbatim_features(speakers: Sequence[str | int], texts: Sequence[str]) -> Array:
    """Return the shares of a turn's redundant words, shape ``(turns, AGAIN)``.

    Sentences of three words or more that its speaker said before, word for word, and that another
    said before; then requests for a good score, and sentences repeated within the turn.
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
        kept = CONTRACTED_WORDS.findall(strip_repetition(text, ()).lower())
        features[i, 2] = max(0, count - len(kept))
        features[i] /= count
    return features


BACK = 4  # turns of a history that the dual encoder uses
ORDER = 9  # features of a turn by :func:`order_features`
SHARPNESS = 8  # factor of the cosines of the towers before one is compared with the others
NEVER = -30


class Towers:
    """How well each turn of a conversation would follow each other one."""

    def __init__(self, left: Mlp, right: Mlp, decay: float) -> None:
        self.left, self.right, self.decay = left, right, decay

    def fits(self, vectors: Array) -> Array:
        """Return cosines: in row i how each turn fits after turn i and the turns before it."""
        scale = np.float32(np.sqrt(vectors.shape[1]))
        before = np.zeros_like(vectors)
        before[1:] = vectors[:-1]
        whole = vectors.copy()
        for ago in range(1, BACK):
            whole[ago:] += np.float32(self.decay**ago) * vectors[:-ago]
        whole = unit_rows(whole)
        read = np.concatenate([vectors, whole, before], axis=1) * scale
        asked = unit_rows(whole * scale + self.left.forward_joint(read))
        answered = unit_rows(vectors * scale + self.right.forward_joint(vectors * scale))
        fits: Array = asked @ answered.T
        return fits


def order_features(fits: Array) -> Array:
    """Return how well each turn fits in its place, shape ``(turns, ORDER)``.

    For a turn after the one before it, and for the one after it: how well it fits, how much better
    than the other turns would there, and than it would elsewhere. Then how well the turns around
    it would fit without it, and it without the turn before it; and how much better it would fit
    after some other turn.
    """
    count = len(fits)
    features = np.zeros((count, ORDER), np.float32)
    if count < 2:
        return features
    sharp = fits * np.float32(SHARPNESS)
    others = sharp.copy()
    np.fill_diagonal(others, NEVER)
    usual = np.float32(np.log(count - 1))
    by_turn, by_place = (_log_sum(others, axis) - usual for axis in (1, 0))
    following = np.diagonal(sharp, 1)
    fit, best, fitting = following / 2, following - by_turn[:-1], following - by_place[1:]
    for column, values in enumerate((fit, best / 2, fitting / 2)):
        features[1:, column], features[:-1, 3 + column] = values, values
    if count > 2:
        skipped = (np.diagonal(sharp, 2) - by_turn[:-2]) / 2
        features[1:-1, 6], features[2:, 7] = skipped, skipped
        places = np.arange(count - 1)
        others[places, places + 1] = NEVER
        features[1:, 8] = (others.max(axis=0)[1:] - following) / 2
    return features


def _log_sum(values: Array, axis: int) -> Array:
    highest = values.max(axis=axis, keepdims=True)
    sums: Array = np.log(np.exp(values - highest).sum(axis=axis)) + highest.squeeze(axis)
    return sums
