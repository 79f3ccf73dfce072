from __future__ import annotations

import numpy as np
import pytest

from grice.metrics.coherence.features import (
    AGAIN,
    NUMBERS,
    SPEAKER,
    Bigrams,
    bigrams_of,
    read_turn,
    speaker_features,
    turn_features,
    verbatim_features,
)
from grice.models.bundle import open_bundle

TALK = (
    "Do you have a dog?",
    "I have a small dog.",
    "What is its name?",
    "I do not have a small dog.",
)


def vectors(count):
    matrix = np.random.default_rng(0).normal(size=(count, 8)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def bigrams():
    return Bigrams.load(open_bundle("coherence").path("bigrams.npz"))


def numbers(texts, bigrams, speakers=None):
    speakers = speakers or ["AB"[i % 2] for i in range(len(texts))]
    return turn_features(vectors(len(texts)), speakers, texts, bigrams)


def test_a_sentence_said_again_and_denied_is_seen(bigrams):
    features = numbers(TALK, bigrams)
    assert features.shape == (4, NUMBERS)
    share, denied = features[3, 30:32]
    assert share > 1
    assert denied == 1
    assert not features[1, 30:32].any()


@pytest.mark.parametrize("text", ["What?", "That makes no sense.", "I just asked!", "a bot?"])
def test_what_people_say_to_nonsense_is_known(text):
    assert read_turn(text).lost
    assert not read_turn("I like it.").lost


def test_words_that_do_not_belong_side_by_side_are_worse(bigrams):
    plain, odd = (bigrams.surprise(bigrams_of(text.split())) for text in
                  ("i would like to go to the park", "i the like park to go would to"))  # fmt: skip
    assert plain[0] > odd[0]
    assert plain[1] > odd[1]
    assert bigrams.surprise([]) == (0, 0)


@pytest.mark.parametrize(
    "texts", [("Hi.",), ("", ""), ("...", "!?", "Привет"), ("a" * 5000, "b. " * 900)]
)
def test_odd_turns_have_numbers_too(texts, bigrams):
    features = numbers(texts, bigrams)
    assert features.shape == (len(texts), NUMBERS)
    assert np.isfinite(features).all()


def test_of_two_speakers_the_one_who_says_less_counts(bigrams):
    texts = ("Yes.", "I went to the lake with all of my friends.", "No.", "It was a very fine day.")
    features = numbers(texts, bigrams)
    assert speaker_features(features, "ABAB").shape == (SPEAKER,)
    assert speaker_features(features, "ABAB")[0] == pytest.approx(features[[0, 2], 18].mean())


def test_whom_a_turn_speaks_of_is_counted(bigrams):
    features = numbers(("I saw you.", "She saw them.", "He did."), bigrams)
    named = features[:, 35:41] > 0
    assert named.tolist() == [
        [True, True, False, False, False, False],
        [False, False, True, False, False, True],
        [False, False, True, False, False, False],
    ]
    # What the turn before named, and who is spoken of for the first time.
    assert features[1, 42:].tolist()[:3] == [0.5, 0.5, 1]
    assert features[2, 44] == 0


def test_greetings_and_goodbyes_stand_where_they_belong(bigrams):
    talk = ("Hello there!", "Hi, do you ski?", "Yes.", "I do not.", "No.", "Bye!", "Take care.")
    assert not numbers(talk, bigrams)[:, 45:47].any()
    turned = numbers(talk[::-1], bigrams)
    assert turned[:2, 46].all()
    assert turned[-2:, 45].all()
    asked = numbers(talk, bigrams)[:, 47:]
    assert asked[2].tolist() == [1, 0]
    assert asked[4].tolist() == [0, 1]


def test_what_was_said_before_is_counted_by_who_said_it():
    texts = ["I like my tea hot.", "I like my tea hot!", "Why? I like my tea hot.", "Ok. Ok."]
    features = verbatim_features("abab", texts)
    assert features.shape == (4, AGAIN)
    assert features[:, 0].tolist() == pytest.approx([0, 0, 5 / 6, 0])
    assert features[:, 1].tolist() == pytest.approx([0, 1, 5 / 6, 0])


@pytest.mark.parametrize("text", ["So do I. Give me 5 out of 5.", "So do I. So do I."])
def test_what_is_not_said_to_the_other_speaker_is_counted(text):
    assert verbatim_features("a", ["So do I."])[0, 2] == 0
    assert verbatim_features("a", [text])[0, 2] > 0.2


def test_counting_what_is_said_again_takes_no_longer_for_every_turn():
    texts = [f"I have told you {i} times about my dog." for i in range(5000)]
    assert not verbatim_features("ab" * 2500, texts)[:, :2].any()
