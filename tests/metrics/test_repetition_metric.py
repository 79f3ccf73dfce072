"""The metric ``repetition``: what a speaker says again, and where it stood before."""

from __future__ import annotations

import pytest

import grice
from grice.records import Conversation, FeatureEvidence, Turn, TurnEvidence

SEA = "I grew up near the sea."


@pytest.fixture(scope="module")
def grader():
    with grice.load("repetition") as loaded:
        yield loaded


def judged(grader, *texts, speakers="AB"):
    turns = tuple(Turn(speakers[i % len(speakers)], text) for i, text in enumerate(texts))
    (score,) = grader.score(Conversation("c", turns, targets=(len(turns) - 1,)))
    return score


def test_what_is_told_again_in_other_words_scores_lower(grader):
    again = judged(grader, SEA, "How nice!", "My childhood home was by the sea.")
    fresh = judged(grader, SEA, "How nice!", "What do you cook on Sundays?")
    assert again.value < 0.5 < fresh.value


def test_the_evidence_points_at_both_turns_and_at_the_words(grader):
    texts = ["Hi there, how are you?", "Fine.", SEA, "How nice!", "Well. I grew up by the sea."]
    score = judged(grader, *texts)
    (earlier,) = [piece for piece in score.evidence if isinstance(piece, TurnEvidence)]
    assert (earlier.turn, earlier.effect < 0) == (2, True)
    spans = {
        piece.name: texts[piece.span.turn][piece.span.start : piece.span.end]
        for piece in score.evidence
        if isinstance(piece, FeatureEvidence)
    }
    assert spans["says again"] == "I grew up by the sea."
    assert spans["said before"] == SEA
    assert spans["same word: 'sea'"] == "sea"
    assert score.reason.startswith("repeats turn 2 ")


def test_taking_up_what_the_partner_said_is_no_repetition(grader):
    assert judged(grader, "Do you cook?", SEA, "So you grew up near the sea?").value > 0.5


def test_where_nothing_was_said_before_it_abstains(grader):
    assert judged(grader, "Hello.", SEA).reason == "its speaker said nothing before it"
    short = judged(grader, "Yes, I do.", "Really?", "Yes.")
    assert (short.status, short.value) == ("abstained", 1.0)


def test_a_conversation_of_thousands_of_turns_is_judged(grader):
    texts = [f"I have {n} sheep and they all eat grass." for n in range(200)] * 15
    turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts))
    scores = grader.score(Conversation("long", turns))
    assert len(scores) == 3000
    assert scores[-1].value < 0.1
