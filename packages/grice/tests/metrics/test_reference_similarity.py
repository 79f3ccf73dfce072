"""The referenced score on known vectors."""

import numpy as np
import pytest

from grice.data import Response, Turn
from grice.metrics.reference_similarity import reference_similarity


class Letters:
    """Counts of a, b and c as vectors."""

    identity = "letters"

    def encode(self, texts):
        return [np.array([text.count(c) for c in "abc"], np.float32) for text in texts]

    def truncated(self, texts):
        return [False for _ in texts]


def judge(text, *references):
    response = Response("t", 1, text, "B", (Turn("A", "hm"),), (0,), references)
    [judgement] = reference_similarity.function([response], encoder=Letters())
    return judgement


def test_the_nearest_reference_counts():
    assert judge("ab", "c", "ab").value == pytest.approx(1)
    assert judge("ab", "c", "ab").reason == "most similar to reference 2 (cosine 1.00)"
    assert judge("ab", "c").value == 0


def test_without_references_it_abstains():
    assert (judge("ab").status, judge(" ", "ab").reason) == ("abstained", "the reply is empty")


def test_a_hundred_references_are_read_and_more_are_flagged():
    assert judge("ab", *["c"] * 99, "ab").value == pytest.approx(1)
    assert judge("ab", *["c"] * 99, "ab").flags == ()
    cut = judge("ab", *["c"] * 100, "ab")
    assert (cut.value, cut.flags) == (0, ("truncated",))
