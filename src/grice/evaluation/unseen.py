"""Heads fitted without the conversation they judge: what labels of conversations can teach."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.runtime.heads import sigmoid
from grice.runtime.protocols import Pair
from grice.text.surface import surface
from grice.training.logistic import balanced, fit_logistic
from grice.training.replies import Penalty, fit_head, read_replies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from grice.evaluation.convai import Chat, Labels
    from grice.runtime.protocols import Encoder

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]

__all__ = ["Transferred", "aggregated", "by_features", "by_head", "transferred"]

FOLDS = 5
WORDS = re.compile(r"[a-z0-9']+")
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
    from grice.evaluation.convai import ENGAGING, pairs_of

    pairs, truth, places = [], [], []
    for place, chat in enumerate(chats):
        for before, reply in pairs_of(chat, labels):
            pairs.append(Pair((before,), reply))
            truth.append(float(chat.rating(labels) >= ENGAGING))
            places.append(place)
    where = np.array(places, np.int64)
    return Transferred(pairs, np.array(truth), where, where % FOLDS)


def by_head(data: Transferred, encoder: Encoder, penalty: Penalty) -> Floats:
    """Return the probability of each pair, from a head that did not see its conversation."""
    readings = read_replies(data.pairs, encoder)

    def judged(kept: Rows, out: Rows) -> Floats:
        return fit_head(readings.at(kept), data.labels[kept], penalty)(readings.at(out))

    return _unseen(data, judged)


def by_features(data: Transferred) -> Floats:
    """Return the same from n-grams, length and distinct words: the baseline of the paper."""
    counted = np.log1p([surface(pair.left[0], pair.right) for pair in data.pairs])
    counted = (counted - counted.mean(axis=0)) / np.maximum(counted.std(axis=0), 1e-6)
    grams = [_ngrams(pair.right) for pair in data.pairs]

    def judged(kept: Rows, out: Rows) -> Floats:
        frequent = Counter(gram for i in kept for gram in grams[i]).most_common(NGRAMS)
        places = {gram: place for place, (gram, _) in enumerate(frequent)}
        read = np.zeros((len(grams), len(places)), np.float32)
        for row, said in enumerate(grams):
            read[row, [places[gram] for gram in said if gram in places]] = 1
        features = np.hstack([counted.astype(np.float32), read])
        fitted = fit_logistic(
            features[kept],
            data.labels[kept],
            penalties=0.01,
            weights=balanced(data.labels[kept]),
        )
        return fitted(features[out])

    return _unseen(data, judged)


def aggregated(
    values: Floats, data: Transferred, how: Callable[[Floats], float]
) -> tuple[Floats, Rows]:
    """Return one value a conversation, of its pairs' values, and the places of conversations."""
    places = np.unique(data.chats)
    return np.array([how(values[data.chats == place]) for place in places]), places


def _unseen(data: Transferred, judged: Callable[[Rows, Rows], Floats]) -> Floats:
    odds = np.empty(len(data.labels))
    for fold in range(FOLDS):
        kept, out = np.flatnonzero(data.folds != fold), np.flatnonzero(data.folds == fold)
        odds[out] = judged(kept, out)
    return np.asarray(sigmoid(odds.astype(np.float32)), np.float64)


def _ngrams(text: str) -> set[str]:
    words = WORDS.findall(text.lower())
    return {*words, *(f"{a} {b}" for a, b in pairwise(words))}
