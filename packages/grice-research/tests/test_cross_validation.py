"""Labels of conversations given to their pairs, and heads that never saw what they judge."""

from __future__ import annotations

import random

import numpy as np
import pytest

from grice_research.convai import Chat, pairs_of, split_of
from grice_research.cross_validation import (
    aggregated,
    by_conversation,
    by_features,
    by_head,
    transferred,
)
from grice_research.rated_replies import blended
from grice_research.training.replies import Penalty, read_replies

TURNS = ("a", "b", "c", "d", "e")


class Letters:
    """Counts of letters, as unit vectors."""

    identity = "letters"

    def encode(self, texts):
        counts = [np.array([text.count(c) for c in "abcdefgh"], np.float32) for text in texts]
        return [v / max(1.0, float(np.linalg.norm(v))) for v in counts]

    def truncated(self, texts):
        return [False for _ in texts]


def chat(i, published, corrected, turns=TURNS):
    return Chat(f"c{i}", tuple(turns), published == 0, published, corrected)


def test_pairs_of_the_worked_case():
    assert pairs_of(chat(0, 0, 4), "published") == [("a", "b"), ("c", "d")]
    every = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
    assert pairs_of(chat(0, 4, 4), "published") == every
    assert pairs_of(chat(0, 0, 4), "corrected") == every


def test_labels_follow_the_reading():
    chats = [chat(0, 0, 4), chat(1, 5, 5)]
    assert transferred(chats, "published").labels.tolist() == [0] * 2 + [1] * 4
    assert transferred(chats, "corrected").labels.tolist() == [1] * 8
    assert transferred(chats, "corrected").chats.tolist() == [0] * 4 + [1] * 4


def test_the_split_keeps_conversations_whole_and_labels_apart():
    split = split_of([chat(i, 5 if i % 2 else 0, 3) for i in range(20)])
    assert split == {"train": (12, 24), "test": (4, 8), "valid": (4, 8)}


def talks(seed, tell):
    rng = random.Random(seed)
    chats = []
    for i in range(60):
        rating = rng.choice((1, 5))
        word = ("good gad" if rating == 5 else "feh bah") if tell else f"w{i}"
        texts = [" ".join(rng.choices(["cab", "dab", "fad", word], k=6)) for _ in range(6)]
        chats.append(chat(i, rating, rating, texts))
    return chats


JUDGES = {
    "pair": lambda data, chats: by_head(data, read_replies(data.pairs, Letters()), Penalty()),
    "conversation": lambda data, chats: by_conversation(
        data, chats, read_replies(data.pairs, Letters()), Penalty(scalars=0.1)
    ),
    "features": lambda data, chats: by_features(data),
}


@pytest.mark.parametrize("judge", JUDGES)
def test_what_tells_conversations_is_learned_and_nothing_else(judge):
    for tell in (True, False):
        chats = talks(3, tell)
        data = transferred(chats, "corrected")
        chances = JUDGES[judge](data, chats)
        right = float(((chances >= 0.5) == (data.labels == 1)).mean())
        assert right > 0.85 if tell else 0.3 < right < 0.7


def test_a_conversation_shows_in_each_of_its_pairs():
    short = [chat(i, 1, 1, ("cab dab", "fad") * 2) for i in range(30)]
    longer = [chat(30 + i, 5, 5, ("cab dab", "fad") * 5) for i in range(30)]
    chats = short + longer
    data = transferred(chats, "corrected")
    chances = JUDGES["conversation"](data, chats)
    assert ((chances >= 0.5) == (data.labels == 1)).all()


def test_values_of_pairs_become_one_of_the_conversation():
    data = transferred([chat(0, 5, 5), chat(1, 5, 5, "abc")], "corrected")
    values = np.array([0.1, 0.2, 0.3, 0.4, 0.8, 0.6])
    assert aggregated(values, data, np.max)[0].tolist() == [0.4, 0.8]
    assert aggregated(values, data, np.mean)[0] == pytest.approx([0.25, 0.7])


def test_a_blend_has_a_value_where_all_have_one():
    assert blended([[0.2, 0.4, None], [0.6, None, 0.1]]) == [0.4, None, None]
