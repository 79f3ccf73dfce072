"""The metric ``responsiveness``: questions and requests that a reply leaves."""

import pytest

METRIC = "responsiveness"


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
