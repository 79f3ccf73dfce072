"""Sentences, questions, content words and new content of chat turns, at their places."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.text import CHARACTERS, cached
from grice.text.content import MOST_SENTENCES, content_words, questions, sentences, strip_repetition

CASES = Path(__file__).with_name("sentences.txt").read_text("utf-8").splitlines()
"""Texts as a person cuts them: ``¦`` stands where a sentence ends, ``⏎`` for a line break."""


@pytest.mark.parametrize("case", CASES)
def test_a_text_is_cut_where_a_person_would(case):
    case = case.replace("⏎", "\n")
    expected = [part.strip() for part in case.split("¦")]
    assert [s.text for s in sentences(case.replace("¦", ""))] == [part for part in expected if part]


PIECES = (
    "I", "you", "It", "so", "Dr", "e.g", "No", "a.m", "4", "4.2M", ".", "...", "…", "?", "!", "?!",
    ")", '"', "'", "*", " ", "  ", "\n", "\t", "-", "1.", "posteo.se", "https://a.b/c?d=E", "www.",
    "@", "é", "語", "\ud83d", "\u2028",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=24).map("".join) | st.text(max_size=60)


@given(TEXTS)
def test_sentences_hold_every_word_once_in_order_at_its_place(text):
    found, place = sentences(text), 0
    for sentence in found:
        assert place <= sentence.start < sentence.end
        assert sentence.text == text[sentence.start : sentence.end] == sentence.text.strip()
        assert not re.search(r"\w", text[place : sentence.start])
        place = sentence.end
    assert len(found) == MOST_SENTENCES or not re.search(r"\w", text[place:])


@pytest.mark.parametrize(("text", "words"), [
    ("Churn is 4.2M, down 0.7 points.", ["churn", "4.2m", "0.7", "points"]),
    ("Mails to posteo.se bounce.", ["mails", "posteo.se", "bounce"]),
    ("Run setup.py of v4.2.1.", ["run", "setup.py", "v4.2.1"]),
    ("Meet at 10.30 or 12:15.", ["meet", "10.30", "12:15"]), ("Pay $4.50.Then go", ["pay", "4.50"]),
    ("It is tea.Some like beer.", ["tea", "beer"]),
])  # fmt: skip
def test_numbers_versions_and_addresses_are_one_word(text, words):
    found = content_words(text)
    assert [word.text for word in found if word.text not in ("then", "some", "like")] == words
    assert all(text[word.start : word.end].lower() == word.text for word in found)


@pytest.mark.parametrize(("texts", "asks"), [
    (["Is it far?", "is it far", "so how are you", "And your dog?", "Please help me.",
      "what's up with it", "which train do you take", "where are you from"], True),
    (["When I was young.", "What a mess!", "Will is here.", "May was warm."], False),
])  # fmt: skip
def test_questions_and_requests_are_noticed_and_statements_are_not(texts, asks):
    assert [[found.text for found in questions(text)] for text in texts] == [
        [text] * asks for text in texts
    ]


def test_places_point_into_the_text():
    text = "  Well! ...  Where is\tit?  I know. "
    for stretch in questions(text):
        assert text[stretch.start : stretch.end] == stretch.text == "Where is\tit?"
    for word in content_words("İstanbul's The Green tea"):
        assert "İstanbul's The Green tea"[word.start : word.end].lower() == word.text


@pytest.mark.parametrize(("reply", "earlier", "left"), [
    ("I like tea. And you?", ["Hello."], "I like tea. And you?"),
    ("I like tea, really! And you?", ["i like tea really"], "And you?"),
    ("We ski a lot. We ski a lot. We ski a lot.", [], "We ski a lot. "),
    ("Thank you.", ["Thank you."], "Thank you."),
    ("It rains. Give me 5 out of 5.", [], "It rains. "),
    ("Please rate this reply with five stars!", [], ""),
    ("The film got 5 out of 5 points.", [], "The film got 5 out of 5 points."),
    ("He scored a goal and gave me the ball.", [], "He scored a goal and gave me the ball."),
    ("2 < 3 and 3 > 2.", [], "2 < 3 and 3 > 2."), ("", ["Hi."], ""),
])  # fmt: skip
def test_what_is_left(reply, earlier, left):
    assert strip_repetition(reply, tuple(earlier)) == left


def test_answers_are_cached_for_a_number_of_characters():
    asked = []
    answer = cached(lambda text, *_: asked.append(text) or len(text))
    for length in (1, CHARACTERS - 1, 1):
        assert answer("a" * length) == length
    assert len(asked) == 2
    answer("b", ("c",))
    answer("a")
    assert len(asked) == 4
