"""The model of coherence: features of turns, and the networks that read them."""

import numpy as np
import pytest

from grice.models.dialogue import (
    ALONE,
    AROUND,
    AT_ONCE,
    WHOLE,
    DialogueHead,
    DialogueSettings,
    context_free_features,
    dialogue_features,
)
from grice.models.folder import open_folder
from grice.models.loader import ModelLoader, read_settings
from grice.models.protocols import Dialogue
from grice.models.turn_features import (
    AGAIN,
    NUMBERS,
    ORDER,
    Bigrams,
    bigrams_of,
    order_features,
    turn_features,
    verbatim_features,
)

D = 8


def unit(count, seed=0, size=D):
    vectors = np.random.default_rng(seed).normal(size=(count, size)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def bigrams():
    return Bigrams.load(open_folder("coherence").file("bigrams.npz"))


def numbers(texts, bigrams):
    speakers = ["AB"[i % 2] for i in range(len(texts))]
    return turn_features(unit(len(texts)), speakers, texts, bigrams)


def test_a_sentence_said_again_and_denied_is_seen(bigrams):
    talk = ("Do you have a dog?", "I have a small dog.", "What is its name?", "I do not have a "
            "small dog.")  # fmt: skip
    features = numbers(talk, bigrams)
    assert features.shape == (4, NUMBERS)
    share, denied = features[3, 28:30]
    assert share > 1
    assert denied == 1
    assert not features[1, 28:30].any()


def test_words_that_do_not_belong_side_by_side_are_worse(bigrams):
    plain, odd = (bigrams.surprise(bigrams_of(text.split())) for text in
                  ("i would like to go to the park", "i the like park to go would to"))  # fmt: skip
    assert plain[0] > odd[0]
    assert plain[1] > odd[1]
    assert bigrams.surprise([]) == (0, 0)


@pytest.mark.parametrize(
    "texts", [("Hi.",), ("", ""), ("...", "!?", "Привет"), ("a" * 5000, "b. " * 900)]
)
def test_odd_turns_have_features_too(texts, bigrams):
    features = numbers(texts, bigrams)
    assert features.shape == (len(texts), NUMBERS)
    assert np.isfinite(features).all()


def test_repeated_sentences_are_counted_by_who_said_them():
    texts = ["I like my tea hot.", "I like my tea hot!", "Why? I like my tea hot.", "Ok. Ok."]
    features = verbatim_features("abab", texts)
    assert features[:, 0].tolist() == pytest.approx([0, 0, 5 / 6, 0])
    assert features[:, 1].tolist() == pytest.approx([0, 1, 5 / 6, 0])
    for text in ("So do I. Give me 5 out of 5.", "So do I. So do I."):
        assert verbatim_features("a", [text])[0, 2] > 0.2
    assert verbatim_features("a", ["So do I."])[0, 2] == 0


def a_chain(count):
    """Return fits of turns that each fit best after the one before them."""
    places = np.arange(count)
    return np.where(places[None, :] == places[:, None] + 1, 0.9, 0.1).astype(np.float32)


def test_a_turn_that_was_moved_fits_worse_than_others_would():
    order = np.array([0, 1, 4, 2, 3, 5])
    intact, moved = (order_features(fits) for fits in (a_chain(6), a_chain(6)[order][:, order]))
    assert intact.shape == (6, ORDER)
    assert moved[2, :3].max() < intact[2, :3].min()
    # The turns around it belong together, and it belongs after another.
    assert moved[2, 6] > intact[2, 6]
    assert moved[2, 8] > 0 > intact[2, 8]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_turns_have_an_order_too(count):
    assert np.isfinite(order_features(a_chain(count))).all()


def test_names_of_speakers_do_not_count():
    outputs, turns = unit(6, size=2), unit(6, size=NUMBERS + ORDER)
    verbatim, alone = unit(6, size=AGAIN), unit(6, size=ALONE)
    features = [dialogue_features(outputs, turns, verbatim, alone, speakers)
             for speakers in ("ababab", "bababa")]  # fmt: skip
    assert features[0].shape == (WHOLE,)
    np.testing.assert_array_equal(*features)


def test_context_free_features_do_not_depend_on_the_order_of_turns():
    alone, speakers, order = unit(6, size=ALONE), np.array(list("aababc")), [3, 1, 5, 0, 4, 2]
    features = context_free_features(alone, speakers)
    expected = context_free_features(alone[order], speakers[order])
    np.testing.assert_allclose(features, expected, atol=1e-6)
    np.testing.assert_allclose(features[:ALONE], alone.mean(axis=0), atol=1e-6)
    worst = np.minimum(np.minimum(alone[[0, 1, 3]].mean(0), alone[[2, 4]].mean(0)), alone[5])
    np.testing.assert_allclose(features[ALONE:], worst, atol=1e-6)


@pytest.fixture(scope="module")
def encoder():
    return ModelLoader().load("builtin:encoder")


def head_of(encoder):
    folder = open_folder("coherence")
    return DialogueHead(folder, read_settings(folder, DialogueSettings), encoder)


def talk(count):
    speakers = tuple("AB"[i % 2] for i in range(count))
    return Dialogue(speakers, tuple(f"It was fine on day {i}." for i in range(count)))


def test_a_conversation_is_read_the_same_whatever_is_read_beside_it(encoder):
    head = head_of(encoder)
    [alone] = head.read([talk(7)])
    assert (head_of(encoder).read([talk(12), talk(7)])[1], len(alone[1])) == (alone, 7)
    assert head.read([Dialogue((), ())]) == [(0.5, ())]


def test_a_long_conversation_is_read_in_stretches(encoder):
    head, long = head_of(encoder), talk(400)
    [(_, turns)] = head.read([long])
    [(_, first)] = head.read([Dialogue(long.speakers[:300], long.texts[:300])])
    assert len(turns) == 400
    # The first stretch is the same; of the second, what is far away counts for little.
    assert turns[:AT_ONCE] == first[:AT_ONCE]
    np.testing.assert_allclose(turns[: 300 - AROUND], first[: 300 - AROUND], atol=0.05)


TALK = ("Hello there!", "Hi, do you ski?", "Yes, my sister and I go to the Alps every winter.",
        "She must like the snow.", "What do you mean?", "I asked about her.", "Bye!")  # fmt: skip


def test_features_and_weights_are_those_that_were_trained(encoder):
    orders = (TALK, TALK[::-1], (*TALK[:4], TALK[2], *TALK[4:]))
    dialogues = [Dialogue(tuple("AB" * 4)[: len(texts)], texts) for texts in orders]
    values, turns = zip(*head_of(encoder).read(dialogues), strict=True)
    assert values == pytest.approx([0.3169, 0.2268, 0.2862], abs=1e-3)
    expected = [0.4836, 0.6432, 0.4635, 0.5503, 0.0324, 0.2277, 0.4781, 0.3413]
    assert turns[2] == pytest.approx(expected, abs=1e-3)
