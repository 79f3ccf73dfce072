from __future__ import annotations

import pytest

import grice
from grice.data import Response, Turn
from grice.errors import MetricError
from grice_research.metrics.fed import (
    NO_SENSE,
    NOT_UNDERSTOOD,
    SAYS_SENSE,
    fed_appropriate,
    fed_understandable,
)


class Scorer:
    """Finds approval likely after a sensible reply, confusion after any other."""

    identity = "scorer"

    def __init__(self):
        self.asked = []

    def log_probabilities(self, prompts, texts):
        self.asked += zip(prompts, texts, strict=True)
        return [
            -1.0 if (text in SAYS_SENSE) == ("sensible" in prompt) else -3.0
            for prompt, text in zip(prompts, texts, strict=True)
        ]


class Classifier:
    identity = "classifier"

    def classify(self, pairs):
        return [0.5 if pair.right in SAYS_SENSE else 0.25 for pair in pairs]


def response(text, *history):
    turns = tuple(Turn("B", utterance) for utterance in history)
    return Response("c", len(turns), text, "A", turns, tuple(range(len(turns))))


@pytest.mark.parametrize("metric", [fed_appropriate, fed_understandable])
def test_the_score_is_the_mean_of_approval_less_that_of_the_opposite(metric):
    good, bad = metric.function([response("sensible", "hi"), response("odd", "hi")], model=Scorer())
    assert (good.value, bad.value) == (2.0, -2.0)


def test_the_two_ask_different_follow_ups():
    for metric, negative in ((fed_appropriate, NO_SENSE), (fed_understandable, NOT_UNDERSTOOD)):
        asked = Scorer()
        (score,) = metric.function([response("odd", "hi")], model=asked)
        assert [text for _, text in asked.asked] == [*SAYS_SENSE, *negative]
        assert len(score.evidence) == len(asked.asked)


def test_turns_are_joined_as_for_dialogpt_and_history_is_bounded():
    asked = Scorer()
    fed_appropriate.function([response("odd", "one", "two")], model=asked, history=1)
    assert {prompt for prompt, _ in asked.asked} == {"two <|endoftext|> odd"}


def test_a_judge_of_pairs_will_do():
    (score,) = fed_appropriate.function([response("odd", "hi")], model=Classifier())
    assert score.value == pytest.approx(0.6931, abs=1e-4)


def test_an_empty_reply_is_not_judged():
    (score,) = fed_appropriate.function([response(" ", "hi")], model=Scorer())
    assert (score.value, score.status, score.reason) == (0.0, "abstained", "the reply is empty")


@pytest.mark.parametrize("history", [0, -3])
def test_no_turn_of_history_or_less_is_refused(history):
    with pytest.raises(MetricError, match="option 'history' is 1 or more"):
        grice.load("fed_appropriate", options={"fed_appropriate": {"history": history}})
