"""The metric ``user_frustration``: at which turns users stumble, by what they say next."""

import pytest

from grice.data import FeatureEvidence, TurnEvidence

METRIC = "user_frustration"
USER = ("user", "system")


def test_a_complaint_marks_the_turn_before_it(judged):
    texts = ["Do you like films?", "The moon is a cheese.", "Hm. That makes no sense to me."]
    score = judged(*texts)
    assert score.value == 0.0
    turn, words = score.evidence
    assert turn == TurnEvidence(1, -1.0)
    assert isinstance(words, FeatureEvidence)
    span = words.span
    assert texts[span.turn][span.start : span.end] == "no sense"
    assert score.reason == "after turn 1 the user complains: 'no sense'"


@pytest.mark.parametrize(("following", "words"), [
    ("I dont understand it", "dont understand"), ("Sorry, I don't understand.", "don't understand"),
    ("That is confusing to me!", "confusing"), ("  Huh?  ", "Huh?"),
])  # fmt: skip
def test_the_sign_is_shown_in_whole_words(judged, following, words):
    score = judged("Do you like films?", "The moon is a cheese.", following)
    (span,) = (piece.span for piece in score.evidence if isinstance(piece, FeatureEvidence))
    assert following[span.start : span.end] == words
    assert score.reason.endswith(f"{words!r}")


def test_a_user_who_goes_on_shows_none(judged):
    score = judged("Do you like films?", "Yes, old ones.", "Me too, silent ones best.")
    assert (score.value, score.evidence) == (1.0, ())
    assert score.reason == "no sign of frustration in 1 user turn"


def test_only_the_user_is_heard(judged):
    texts = ["Tell me a joke.", "That makes no sense.", "All right, then a story."]
    assert judged(*texts).value == 1.0


def test_a_conversation_that_the_user_does_not_go_on_with_is_not_judged(judged):
    score = judged("Do you like films?", "Yes.")
    assert (score.status, score.value) == ("abstained", 0.5)


@pytest.mark.parametrize(("opens", "answers", "value"), [
    ("Agent", "Customer", 0.5), ("agent", "client", 0.5), ("Customer", "Agent", 1.0),
])  # fmt: skip
def test_a_customer_is_the_user_also_where_the_agent_opens(judged, opens, answers, value):
    texts = ["How can I help?", "My parcel is late.", "Spain is nice.", "That is not what I asked."]
    assert judged(*texts, speakers=(opens, answers)).value == value
