"""The metric ``responsiveness``: questions and requests that a reply leaves."""

import pytest

METRIC = "responsiveness"


def test_a_reply_that_leaves_the_question_scores_lower(judged):
    asked = "I love trains. How long is the ride to York?"
    answer = judged(asked, "The ride takes about two hours.")
    ignored = judged(asked, "My aunt paints her kitchen green.")
    assert ignored.value < 0.5 < answer.value
    assert ignored.reason.startswith("does not answer the question of turn 0 (cosine ")


def test_the_form_of_the_answer_counts(judged):
    asked = "How many sheep do you have on the farm?"
    number = judged(asked, "We have forty sheep on the farm.")
    none = judged(asked, "We have lovely sheep on the farm.")
    assert number.value > none.value
    assert [piece.value for piece in number.evidence if piece.name == "form of an answer"] == [1.0]


def test_the_evidence_shows_the_question_and_the_answer(judged):
    texts = ["That was a long day. When do you get up?", "I get up at six in the morning."]
    score = judged(*texts)
    places = [texts[piece.span.turn][piece.span.start : piece.span.end] for piece in score.evidence]
    assert places == ["When do you get up?", "morning"]
    assert score.reason.startswith("answers the question of turn 0")


@pytest.mark.parametrize("asked", ["Nice weather today.", "When I was young, I sang."])
def test_a_turn_that_asks_nothing_is_not_judged(judged, asked):
    score = judged(asked, "So did I, in a choir.")
    assert (score.status, score.value) == ("abstained", 0.5)
    assert score.reason == "the turn before contains no question or request"
    own = judged("Where is it?", "Here it is.", speakers="A")
    assert own.reason == "the turn before is by the same speaker"


@pytest.mark.parametrize("asked", ["where do you live", "Tell me about your work.", "so is it far"])
def test_questions_without_a_mark_and_requests_are_judged(judged, asked):
    assert judged(asked, "In Leeds, I teach there.").status == "ok"
