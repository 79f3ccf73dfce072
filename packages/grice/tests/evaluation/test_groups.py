"""Groups of replies by meaning, with the shipped encoder."""

import random

import numpy as np
import pytest

from grice.evaluation.groups import FlawedReply, average_linkage, group_replies
from grice.models.loader import ModelLoader
from grice.models.protocols import Encoder

SAID = {
    "I don't know.": 4, "I do not know.": 2, "i don't KNOW!!": 1, "I don't know that.": 2,
    "Your order 40817 ships on Monday.": 2, "Your order 51220 ships on Friday.": 1,
    "": 3, ":)": 3, "Penguins are birds.": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def encoder():
    with ModelLoader(mode="fast") as loader:
        yield loader.load("builtin:encoder", Encoder)


def replies():
    texts = [text for text, count in SAID.items() for _ in range(count)]
    return [
        FlawedReply(f"c{i // 2}", i % 2, text, ("D303", "U501")[: 1 + (i == 0)])
        for i, text in enumerate(texts)
    ]


def test_replies_of_one_meaning_are_one_group_named_by_the_most_central_one(encoder):
    groups = group_replies(replies(), encoder)
    assert [str(group) for group in groups] == [
        '"I don\'t know." 9 replies in 5 conversations (D303 9, U501 1)',
        "(empty) 3 replies in 2 conversations (D303 3)",
        '":)" 3 replies in 2 conversations (D303 3)',
        '"Your order 40817 ships on Monday." 3 replies in 2 conversations (D303 3)',
    ]
    assert groups[0].replies[0] == ("c0", 0)
    shuffled = random.Random(1).sample(replies(), len(replies()))
    names = [group.name for group in group_replies(shuffled, encoder)]
    assert names[:3] == [group.name for group in groups[:3]]
    assert group_replies([], encoder) == ()


@pytest.mark.parametrize("alike", [0.2, 0.5, 0.8])
def test_average_linkage_is_that_of_scipy(alike):
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    drawn = np.random.default_rng(3).normal(size=(300, 6))
    vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    joined = hierarchy.linkage(vectors, "average", metric="cosine")
    labels = hierarchy.fcluster(joined, 1 - alike, "distance")
    expected = sorted(np.flatnonzero(labels == label).tolist() for label in set(labels))
    groups = average_linkage(vectors.copy(), np.ones(300), alike)
    assert sorted(map(sorted, groups)) == expected
