"""Engagement as a function, with a judge whose answers are known."""

from __future__ import annotations

import pytest

import grice
from grice.metrics.engagement import Explained, Part, engagement
from grice.records import FeatureEvidence, Response, Turn


class Known:
    """Likes long replies, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked = []

    def explain(self, pairs):
        self.asked += pairs
        values = [min(1.0, len(pair.right) / 40) for pair in pairs]
        return [
            Explained(value, (Part("words", 3.0, value - 0.5), Part("asks", 0.0, 0.001)))
            for value in values
        ]

    def truncated(self, texts):
        return [len(text) > 100 for text in texts]


def judge(*texts, model=None):
    history = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts[:-1]))
    response = Response("t", len(history), texts[-1], "A", history, tuple(range(len(history))))
    [judgement] = engagement.function([response], model=model or Known())
    return judgement


def test_the_features_that_moved_it_are_the_evidence():
    judgement = judge("Hi?", "x" * 32)
    assert judgement.value == 0.8
    assert judgement.evidence == (FeatureEvidence("words", 3.0, pytest.approx(0.3)),)
    assert judgement.reason == "raises it most: reply length (+0.30)"


def test_the_reason_of_a_low_value_is_what_lowers_it():
    assert judge("Hi?", "x" * 8).reason == "lowers it most: reply length (-0.30)"


def test_nothing_that_moves_it_is_no_reason():
    assert judge("Hi?", "x" * 20).reason == "like an average reply in every respect"


def test_only_the_last_turn_that_can_be_read_is_asked_about():
    model = Known()
    judge("First.", "Second.", "...", "A reply.", model=model)
    assert [pair.left for pair in model.asked] == [("Second.",)]


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (("A reply.",), "no turn before it"),
        (("Hi?", "  "), "the reply is empty"),
        (("Hi?", "?!"), "the reply holds no word"),
        (("...", "A reply."), "what was said before holds no word"),
    ],
)
def test_without_something_to_judge_it_abstains(texts, reason):
    judgement = judge(*texts)
    assert (judgement.status, judgement.value, judgement.reason) == ("abstained", 0.5, reason)


def test_a_text_that_is_read_in_part_is_flagged():
    assert judge("Hi?", "word " * 40).flags == ("truncated",)
    assert judge("Hi?", "word").flags == ()


def test_a_reply_counts_for_what_it_adds():
    fresh = judge("Do you ski?", "Yes, we ski a lot.")
    begging = judge("Do you ski?", "Yes, we ski a lot. Give me 5 out of 5.")
    assert begging.value == pytest.approx(fresh.value * 5 / 11, rel=0.1)
    assert begging.reason == "only 45% of its words are new"


def test_a_reply_that_only_repeats_is_not_engaging():
    judgement = judge("I teach maths.", "What else do you do?", "I teach maths!")
    assert (judgement.status, judgement.value) == ("ok", 0.0)
    assert judgement.reason == "it says nothing that was not said before"


def test_replies_of_equal_length_differ_by_what_they_say():
    before = "What do you do at weekends?"
    replies = "I climb high snowy mountains", "I do not know it"
    with grice.load("engagement") as grader:
        lively, dull = (
            next(score.value for score in grader.score([before, reply]) if score.turn == 1)
            for reply in replies
        )
    assert lively > dull + 0.05
