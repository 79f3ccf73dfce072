"""The metric ``fluency``: words of a reply that are out of their place."""

from __future__ import annotations

import pytest

import grice
from grice.records import Conversation, FeatureEvidence, Turn

PLAIN = "I went to the park with my sister and we had a lot of fun."


@pytest.fixture(scope="module")
def grader():
    with grice.load("fluency") as loaded:
        yield loaded


def judged(grader, *texts):
    turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts))
    (score,) = grader.score(Conversation("c", turns, targets=(len(turns) - 1,)))
    return score


@pytest.mark.parametrize(
    "broken",
    [
        "I went park to the sister with my and had we a lot of fun.",
        "I went to the the park with my sister and we had had a lot of fun.",
        "I goes to park with the my sister and we having lot of fun.",
    ],
)
def test_words_out_of_place_lower_the_value(grader, broken):
    assert judged(grader, "Hi!", broken).value < judged(grader, "Hi!", PLAIN).value
    assert judged(grader, "Hi!", PLAIN).value > 0.5


def test_the_reason_accuses_no_word_of_a_fluent_reply(grader):
    fine, broken = judged(grader, "Hi!", PLAIN), judged(grader, "Hi!", "To went park it the a of.")
    assert (fine.value > 0.5, fine.reason) == (True, "its words are in place")
    assert broken.value < 0.5
    assert broken.reason.startswith(broken.evidence[1].name)


def test_the_evidence_points_at_the_words(grader):
    text = "  That sounds nice. I went to park the with my sister."
    score = judged(grader, "Hi!", text)
    words = [piece for piece in score.evidence if isinstance(piece, FeatureEvidence) and piece.span]
    places = [text[piece.span.start : piece.span.end] for piece in words]
    assert places
    assert {piece.span.turn for piece in words} == {1}
    assert [piece.name for piece in words] == [f"out of place: {place!r}" for place in places]
    assert {"park", "the", "with"} & set(places)
    assert [piece.value for piece in words] == sorted((w.value for w in words), reverse=True)


def test_what_was_said_before_does_not_matter(grader):
    first = judged(grader, "Where did you go?", PLAIN)
    assert judged(grader, "Name three metals, please.", PLAIN).value == first.value
    assert judged(grader, PLAIN).value == first.value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Yes, sure.", "fewer than 3 words say too little"),
        ("... !!! ...", "the reply holds no word"),
        (
            "Ich bin gestern mit meiner Schwester in den Park gegangen.",
            "the reply is in German, not in English",
        ),
    ],
)
def test_what_cannot_be_judged_abstains(grader, text, reason):
    score = judged(grader, "Hi!", text)
    assert (score.status, score.value, score.reason) == ("abstained", 0.5, reason)


def test_a_long_reply_is_read_sentence_by_sentence(grader):
    text = " ".join([PLAIN] * 15 + ["Then home went bus the by tired we."])
    score = judged(grader, "Hi!", text)
    spans = [piece.span for piece in score.evidence if piece.span is not None]
    assert any(span.start > len(PLAIN) * 15 for span in spans)
    assert all(text[span.start : span.end].strip() for span in spans)
