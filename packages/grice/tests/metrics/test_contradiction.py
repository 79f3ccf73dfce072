"""The metric ``contradiction``: what goes against what its speaker said, and where that stood."""

from types import SimpleNamespace

import numpy as np
import pytest

from grice.data import Conversation, FeatureEvidence, Response, Turn, TurnEvidence
from grice.metrics.contradiction import contradiction

METRIC = "contradiction"

DOGS = "I have two dogs."


@pytest.mark.parametrize(("before", "reply", "against"), [
    (DOGS, "I do not have any dogs.", True), (DOGS, "My dogs are in the garden.", False),
    ("I have never been to Spain.", "I have been to Spain.", True),
    ("I have never been to Spain.", "I would like to see Spain.", False),
    ("My house is very big.", "My house is very small.", True),
    ("The shop is closed today.", "The shop is open today.", True),
    ("I like tea a lot.", "I do not have any dogs.", False),
    ("It does. Only steel wool and bleach would end it.", "Yes, the juice of lemons.", False),
])  # fmt: skip
def test_the_opposite_of_what_the_speaker_said_is_below_one_half(judged, before, reply, against):
    score = judged(before, "I do not have any dogs. I hate Spain.", reply)
    assert (score.value < 0.5) == against
    assert score.reason.startswith("contradicts" if against else "no clear")
    assert f"(probability {1 - score.value:.2f}" in score.reason


def test_the_evidence_points_at_both_turns_and_at_the_words(judged):
    texts = ["Hi there, how are you?", "Fine.", DOGS, "How nice!", "Well. I do not have any dogs."]
    score = judged(*texts)
    (earlier,) = [piece for piece in score.evidence if isinstance(piece, TurnEvidence)]
    assert (earlier.turn, earlier.effect < 0) == (2, True)
    spans = {
        piece.name: texts[piece.span.turn][piece.span.start : piece.span.end]
        for piece in score.evidence
        if isinstance(piece, FeatureEvidence)
    }
    assert spans.pop("contradicting span") == "I do not have any dogs."
    assert spans.pop("earlier span") == DOGS
    assert "not" in spans.values()
    assert score.reason.startswith("contradicts turn 2 ")


def test_a_conversation_of_thousands_of_turns_is_judged(grader):
    texts = [f"I have {n} sheep and they all eat grass." for n in range(20)] * 100
    turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts))
    scores = grader.score(Conversation("long", turns, targets=(1998, 1999)))
    assert {score.status for score in scores} == {"ok"}


def test_a_model_of_entailment_gives_the_probability_of_its_label():
    chances = {(("I eat fish.",), "I am vegan."): 0.9}
    nli = SimpleNamespace(identity="", truncated=len, classify=len)
    nli.label_chances = lambda label, pairs: [chances.get(p, 0.1) for p in pairs if label == METRIC]
    encoder = SimpleNamespace(encode=lambda texts: [np.ones(1, np.float32)] * len(texts))
    encoder.truncated = lambda texts: [False for _ in texts]
    said = tuple(Turn("B", text) for text in ("I eat fish.", "I like it."))
    reply = Response("c", 2, "I am vegan.", "B", said, (0, 1))
    [judged] = contradiction.function([reply], encoder=encoder, model=nli)
    assert (judged.value, judged.evidence[0].turn) == (pytest.approx(0.1), 0)
