"""Heads fitted without the conversation they judge: what labels of conversations can teach."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.metrics.engagement.features import surface
from grice.metrics.engagement.replies import Scale, reply_features
from grice.models.protocols import Pair
from grice.numeric import sigmoid
from grice.text.tokens import WORDS
from grice_research.surface import WIDTH
from grice_research.training.logistic import balanced, fit_logistic
from grice_research.training.replies import Penalty, Readings, fit_head

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from grice_research.convai import Chat, Labels

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]

__all__ = [
    "Transferred",
    "aggregated",
    "by_conversation",
    "by_features",
    "by_head",
    "transferred",
]

FOLDS = 5
NGRAMS = 2000
"""Most frequent words and pairs of words of the replies that the feature baseline reads."""


class Transferred(NamedTuple):
    """Pairs with the label of their conversation.

    Attributes:
        pairs: The turn before and the reply.
        labels: 1 if the conversation was rated engaging.
        chats: Place of the conversation.
        folds: Fold of the conversation: its place modulo five.
    """

    pairs: list[Pair]
    labels: Floats
    chats: Rows
    folds: Rows


def transferred(chats: Sequence[Chat], labels: Labels) -> Transferred:
    """Return the pairs of all conversations under one reading of the ratings."""
    from grice_research.convai import ENGAGING, pairs_of

    pairs, truth, places = [], [], []
    for place, chat in enumerate(chats):
        for before, reply in pairs_of(chat, labels):
            pairs.append(Pair((before,), reply))
            truth.append(float(chat.rating(labels) >= ENGAGING))
            places.append(place)
    where = np.array(places, np.int64)
    return Transferred(pairs, np.array(truth), where, where % FOLDS)


def by_head(data: Transferred, readings: Readings, penalty: Penalty) -> Floats:
    """Return the probability of each pair, from a head that did not see its conversation."""

    def judged(training: Rows, out: Rows) -> Floats:
        return fit_head(readings.at(training), data.labels[training], penalty)(readings.at(out))

    return _cross_validated(data, judged)


def by_conversation(
    data: Transferred, chats: Sequence[Chat], readings: Readings, penalty: Penalty
) -> Floats:
    """Return the same from the pair and from the conversation around it.

    Of the conversation are read where the pair stands, how long it is, of each speaker how much,
    how evenly, how variously and how often asking (:func:`_around`), and the mean vector of its
    replies. Every conversation weighs the same, whatever its length: it was rated once.
    """
    whole = np.array([_around(chat.turns) for chat in chats])[data.chats]
    starts = np.searchsorted(data.chats, data.chats)
    place = np.log1p(np.arange(len(data.chats)) - starts)
    around = np.column_stack([place, whole])
    around = (around - around.mean(axis=0)) / np.maximum(around.std(axis=0), 1e-6)
    _, where, sizes = np.unique(data.chats, return_inverse=True, return_counts=True)
    sums = np.zeros((len(sizes), readings.reply.shape[1]), np.float32)
    np.add.at(sums, where, readings.reply)
    mean = (sums / sizes[:, None].astype(np.float32))[where]
    mean *= WIDTH * np.float32(np.sqrt(mean.shape[1]))

    def judged(training: Rows, out: Rows) -> Floats:
        scale = Scale.of(readings.scalars[training])

        def read(rows: Rows) -> Floats:
            some = readings.at(rows)
            alone = reply_features(scale(some.scalars), some.last, some.reply)
            return np.hstack([around[rows].astype(np.float32), alone, mean[rows]])

        numbers = around.shape[1] + readings.scalars.shape[1]
        features = read(training)
        ridge = np.full(features.shape[1], penalty.vectors)
        ridge[:numbers] = penalty.scalars
        labels = data.labels[training]
        weights = _balanced(labels, 1 / sizes[where[training]])
        fitted = fit_logistic(features, labels, penalties=ridge, weights=weights)
        return fitted(read(out))

    return _cross_validated(data, judged)


def _balanced(labels: Floats, weights: Floats) -> Floats:
    """Return weights of mean 1 with the same sum for both classes."""
    balanced_weights = weights.copy()
    for members in (labels > 0.5, labels <= 0.5):
        balanced_weights[members] *= len(labels) / 2 / max(balanced_weights[members].sum(), 1e-9)
    return balanced_weights


def _around(turns: Sequence[str]) -> list[float]:
    """Return length and words of a conversation, then of each speaker, the terser one first."""
    words_of = [turn.lower().split() for turn in turns]
    terse, wordy = sorted((_manner(words_of[::2]), _manner(words_of[1::2])))
    words = sum(map(len, words_of))
    few = float(len(turns) < FEW)
    return [math.log(len(turns)), few, math.log1p(words), *terse, *wordy, wordy[0] - terse[0]]


def _manner(words_of: Sequence[Sequence[str]]) -> list[float]:
    """Return log mean words, log spread, different words and turns, and share that asks."""
    lengths = [len(words) for words in words_of]
    everything = [word for words in words_of for word in words]
    return [
        math.log1p(float(np.mean(lengths))),
        math.log1p(float(np.std(lengths))),
        len(set(everything)) / max(1, len(everything)),
        sum(any("?" in word for word in words) for words in words_of) / len(words_of),
        len({tuple(words) for words in words_of}) / len(words_of),
    ]


FEW = 6
"""Turns below which a conversation has hardly begun."""


def by_features(data: Transferred) -> Floats:
    """Return the same from n-grams, length and distinct words: the baseline of the paper."""
    counted = np.log1p([surface(pair.left[0], pair.right) for pair in data.pairs])
    counted = (counted - counted.mean(axis=0)) / np.maximum(counted.std(axis=0), 1e-6)
    grams = [_ngrams(pair.right) for pair in data.pairs]

    def judged(training: Rows, out: Rows) -> Floats:
        frequent = Counter(gram for i in training for gram in grams[i]).most_common(NGRAMS)
        places = {gram: place for place, (gram, _) in enumerate(frequent)}
        read = np.zeros((len(grams), len(places)), np.float32)
        for row, grams_of_row in enumerate(grams):
            read[row, [places[gram] for gram in grams_of_row if gram in places]] = 1
        features = np.hstack([counted.astype(np.float32), read])
        fitted = fit_logistic(
            features[training],
            data.labels[training],
            penalties=0.01,
            weights=balanced(data.labels[training]),
        )
        return fitted(features[out])

    return _cross_validated(data, judged)


def aggregated(
    values: Floats, data: Transferred, how: Callable[[Floats], float]
) -> tuple[Floats, Rows]:
    """Return one value a conversation, of its pairs' values, and the places of conversations."""
    places = np.unique(data.chats)
    return np.array([how(values[data.chats == place]) for place in places]), places


def _cross_validated(data: Transferred, judged: Callable[[Rows, Rows], Floats]) -> Floats:
    odds = np.empty(len(data.labels))
    for fold in range(FOLDS):
        training, out = np.flatnonzero(data.folds != fold), np.flatnonzero(data.folds == fold)
        odds[out] = judged(training, out)
    return np.asarray(sigmoid(odds.astype(np.float32)), np.float64)


def _ngrams(text: str) -> set[str]:
    words = WORDS.findall(text.lower())
    return {*words, *(f"{a} {b}" for a, b in pairwise(words))}
