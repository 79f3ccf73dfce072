"""The floors, at the edges of their ranges."""

import pytest

from grice.scoring import load


def test_a_reply_that_repeats_the_turn_before_stays_in_range():
    # Vectors of half precision are of unit length to three digits only.
    texts = ["I went there by train.", "We will see.", "It was cold, but fine.", "Ask her again."]
    with load("cosine_last_turn") as grader:
        scores = [grader.score([text, text])[0] for text in texts]
    assert [score.status for score in scores] == ["ok"] * 4
    assert all(score.value == pytest.approx(1, abs=2e-3) for score in scores)


def test_the_first_turn_has_no_floor_of_likeness():
    with load("cosine_last_turn") as grader:
        [score] = grader.score(["Hello."])
    expected = ("abstained", 0.0, "no turn before the reply")
    assert (score.status, score.value, score.reason) == expected
