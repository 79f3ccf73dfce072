"""Sentences that ask, and the words that say what a text is about."""

from __future__ import annotations

import pytest

from grice.text.content import content_words, questions, sentences


@pytest.mark.parametrize(
    "text",
    ["Is it far?", "is it far", "so how are you", "And your dog?", "Please help me.",
     "what's up with it", "which train do you take", "where are you from"],
)  # fmt: skip
def test_questions_and_requests_are_noticed(text):
    (question,) = questions(text)
    assert question.text == text


@pytest.mark.parametrize(
    "text", ["When I was young.", "What a mess!", "Will is here.", "May was warm."]
)
def test_statements_are_none(text):
    assert not questions(text)


def test_places_point_into_the_text():
    text = "  Well! ...  Where is\tit?  I know. "
    for stretch in (*sentences(text), *questions(text)):
        assert text[stretch.start : stretch.end] == stretch.text
    assert [stretch.text for stretch in questions(text)] == ["Where is\tit?"]
    for word in content_words("İstanbul's The Green tea"):
        assert "İstanbul's The Green tea"[word.start : word.end].lower() == word.text


def test_a_text_of_a_thousand_sentences_costs_no_more_than_its_beginning():
    assert len(sentences("So it goes. " * 1000)) == 16
